//! Writes a row over Fourier features of the plane as a matrix over both axes.
//!
//! `row · phi(x) = a(x_1)^T U b(x_2)`, with a and b the vectors of cosines and sines along the axes. For the nodes of an
//! interpolation grid this costs fewer multiply-adds than a sum over visited points, and no memory for their columns.

use privateer_numerics::vectorised;
use pulp::Simd;

/// Places that are computed together, and rows of nodes that are computed together.
pub const LANES: usize = 8;
pub const ROWS: usize = 4;

/// One frequency of the features, as products over both axes.
#[derive(Debug, Clone, Copy)]
pub struct Frequency {
    /// Indices of its magnitudes along the axes, and their signs.
    pub places: [usize; 2],
    pub signs: [f64; 2],
}

/// The product structure of the features of a table.
#[derive(Debug, Default)]
pub struct AxisProducts {
    pub frequencies: Vec<Frequency>,
    /// Number of magnitudes along each axis; a vector holds their cosines, then their sines.
    pub magnitudes: [usize; 2],
    /// Factor on every product.
    pub scale: f64,
}

/// Components along an axis, each as a list over all places.
#[derive(Clone, Copy)]
pub struct Components<'a> {
    pub values: &'a [f64],
    /// Number of places.
    pub n: usize,
}

impl AxisProducts {
    /// Writes the matrix U, row-major with the components of the second axis contiguous.
    pub fn of_row(&self, row: &[f64], out: &mut Vec<f64>) {
        let ([q, r], n) = (self.magnitudes, self.frequencies.len());
        out.clear();
        out.resize(4 * q * r, 0.0);
        let (cosines, sines) = row.split_at(n.min(row.len()));
        for ((frequency, cosine), sine) in self.frequencies.iter().zip(cosines).zip(sines) {
            let ([i, j], [si, sj]) = (frequency.places, frequency.signs);
            let (cosine, sine) = (self.scale * cosine, self.scale * sine);
            out[i * 2 * r + j] += cosine;
            out[(q + i) * 2 * r + r + j] -= si * sj * cosine;
            out[(q + i) * 2 * r + j] += si * sine;
            out[i * 2 * r + r + j] += sj * sine;
        }
    }

    /// Returns the multiply-adds at the nodes of a grid with these counts.
    pub fn work_at_nodes(&self, counts: [usize; 2]) -> usize {
        let [q, r] = self.magnitudes.map(|n| 2 * n);
        q * r * counts[1] + q * counts[0] * counts[1]
    }
}

/// Writes a weighted sum of components at all places, in whole SIMD vectors.
#[inline(always)]
fn sum_at<S: Simd>(simd: S, weights: &[f64], components: Components<'_>, out: &mut [f64]) {
    let (fours, ones) = S::as_mut_simd_f64s(out).0.as_chunks_mut::<4>();
    let rest = fours.len() * 4 * S::F64_LANES;
    for (at, out) in fours.iter_mut().enumerate() {
        *out = sums(simd, weights, components, at * 4 * S::F64_LANES);
    }
    match ones {
        [] => {}
        [a] => [*a] = sums(simd, weights, components, rest),
        [a, b] => [*a, *b] = sums(simd, weights, components, rest),
        [a, b, c] => [*a, *b, *c] = sums(simd, weights, components, rest),
        _ => unreachable!("three vectors at most are left of fours"),
    }
}

/// Returns N SIMD vectors of the weighted sum, which share the loads of the weights.
#[inline(always)]
fn sums<S: Simd, const N: usize>(simd: S, weights: &[f64], components: Components<'_>, from: usize) -> [S::f64s; N] {
    let mut sums = [simd.splat_f64s(0.0); N];
    for (&weight, values) in weights.iter().zip(components.values.chunks_exact(components.n)) {
        let (weight, values) = (simd.splat_f64s(weight), S::as_simd_f64s(&values[from..][..N * S::F64_LANES]).0);
        for i in 0..N {
            sums[i] = simd.mul_add_e_f64s(weight, values[i], sums[i]);
        }
    }
    sums
}

vectorised! {
    /// Writes `row · phi` at the nodes of an interpolation grid, row-major, for the matrix `u` of a row.
    ///
    /// `axes` holds the nodes' components; counts are multiples of [`ROWS`] and [`LANES`].
    pub fn at_nodes(
        products: &AxisProducts,
        u: &[f64],
        axes: [Components<'_>; 2],
        room: &mut Vec<f64>,
        out: &mut [f64],
    ) where simd: S {
        let [first, second] = axes;
        let [q, r] = products.magnitudes.map(|n| 2 * n);
        room.resize(q * second.n, 0.0);
        for (u, out) in u.chunks_exact(r).zip(room.chunks_exact_mut(second.n)) {
            sum_at(simd, u, second, out);
        }
        // Four rows at a time, so that their common components are read once.
        for (at, rows) in out.chunks_exact_mut(ROWS * second.n).enumerate() {
            let (one, rest) = rows.split_at_mut(second.n);
            let (two, rest) = rest.split_at_mut(second.n);
            let (three, four) = rest.split_at_mut(second.n);
            let mut rows = [one, two, three, four].map(|row| S::as_mut_simd_f64s(row).0);
            let tile = Tile { room: &room[..], across: second.n, first, row: at * ROWS };
            let vectors = second.n / S::F64_LANES;
            for vector in (0..vectors / 2 * 2).step_by(2) {
                tile.write::<S, 2>(simd, vector, &mut rows);
            }
            if vectors % 2 == 1 {
                tile.write::<S, 1>(simd, vectors - 1, &mut rows);
            }
        }
    }
}

/// Four rows of nodes.
#[derive(Clone, Copy)]
struct Tile<'a> {
    /// One row for each component of the first axis.
    room: &'a [f64],
    across: usize,
    first: Components<'a>,
    /// Index of the first of the four rows.
    row: usize,
}

impl Tile<'_> {
    #[inline(always)]
    fn write<S: Simd, const N: usize>(self, simd: S, vector: usize, rows: &mut [&mut [S::f64s]; ROWS]) {
        let mut sums = [[simd.splat_f64s(0.0); N]; ROWS];
        for (values, of_rows) in self.room.chunks_exact(self.across).zip(self.first.values.chunks_exact(self.first.n)) {
            let (values, of_rows) = (&S::as_simd_f64s(values).0[vector..][..N], &of_rows[self.row..][..ROWS]);
            for i in 0..ROWS {
                let weight = simd.splat_f64s(of_rows[i]);
                for j in 0..N {
                    sums[i][j] = simd.mul_add_e_f64s(weight, values[j], sums[i][j]);
                }
            }
        }
        for (row, sums) in rows.iter_mut().zip(&sums) {
            row[vector..][..N].copy_from_slice(sums);
        }
    }
}
