//! A row over Fourier features of the plane as a matrix over both axes: `row · phi(x) = a(x_1)^T U b(x_2)` for the vectors a and b of cosines
//! and sines along them. Over lines of reference points and over the nodes of an interpolation grid that costs fewer multiply-adds than a sum over visited points, and
//! no memory for their columns.

use pulp::{Arch, Simd, WithSimd};
use std::ops::Range;

/// Places that are found together, and rows of nodes.
pub const LANES: usize = 8;
pub const ROWS: usize = 4;

/// What one feature is of products of both axes.
#[derive(Debug)]
pub struct Frequency {
    /// Places of its magnitudes, and the signs.
    pub places: [usize; 2],
    pub signs: [f64; 2],
}

/// The shared part.
#[derive(Debug)]
pub struct BlockProducts {
    pub frequencies: Vec<Frequency>,
    /// Magnitudes along each axis; a vector holds their cosines, then their sines.
    pub magnitudes: [usize; 2],
    /// What multiplies a product.
    pub scale: f64,
    /// Reference points in lines, on each of which the coordinate of this axis is the same.
    pub lines: Vec<Range<usize>>,
    pub axis: usize,
    /// Lines in whole lanes, and their components along that axis, one after another.
    pub padded: usize,
    pub sides: Vec<f64>,
}

/// Components of an axis, each at all places of a list one after another.
#[derive(Clone, Copy)]
pub struct Components<'a> {
    pub values: &'a [f64],
    /// Places.
    pub n: usize,
}

impl Components<'_> {
    fn at(&self, component: usize, place: usize) -> f64 {
        self.values[component * self.n + place]
    }
}

impl BlockProducts {
    /// Writes U, row-major with the components of the second axis contiguous.
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

    /// Multiply-adds of the reference points of this many and of an interpolation grid with these counts.
    pub fn work(&self, reference_points: usize, counts: [usize; 2]) -> usize {
        let [q, r] = self.magnitudes.map(|n| 2 * n);
        q * r * (self.lines.len() + counts[1]) + q * (reference_points + counts[0] * counts[1])
    }

    /// Takes the reference points' components along both axes, padded, to have those of the lines side by side.
    pub fn take_sides(&mut self, axes: [Components<'_>; 2]) {
        let across = axes[self.axis];
        self.padded = self.lines.len().next_multiple_of(LANES);
        self.sides = vec![0.0; 2 * self.magnitudes[self.axis] * self.padded];
        for (component, sides) in self.sides.chunks_exact_mut(self.padded.max(1)).enumerate() {
            sides.iter_mut().zip(&self.lines).for_each(|(side, line)| *side = across.at(component, line.start));
        }
    }

    /// Writes `row · phi` of the reference points, which have these components along both axes.
    pub fn at_reference_points(&self, u: &[f64], axes: [Components<'_>; 2], room: &mut Vec<f64>, out: &mut [f64]) {
        Arch::new().dispatch(AtReferencePoints { products: self, u, along: axes[1 - self.axis], room, out });
    }

    /// Writes `row · phi` of the nodes of an interpolation grid, row-major, with these components along both axes: counts are multiples of [`ROWS`]
    /// and [`LANES`].
    pub fn at_nodes(&self, u: &[f64], axes: [Components<'_>; 2], room: &mut Vec<f64>, out: &mut [f64]) {
        Arch::new().dispatch(AtNodes { products: self, u, axes, room, out });
    }
}

/// Some numbers at equal steps.
#[derive(Clone, Copy)]
struct WeightProducts<'a> {
    values: &'a [f64],
    step: usize,
    n: usize,
}

/// A weighted sum of components at places from one on, as many as there is room for: some whole vectors.
#[inline(always)]
fn sum_at<S: Simd>(simd: S, weights: WeightProducts<'_>, components: Components<'_>, from: usize, out: &mut [f64]) {
    let (fours, ones) = S::as_mut_simd_f64s(out).0.as_chunks_mut::<4>();
    let rest = from + fours.len() * 4 * S::F64_LANES;
    for (at, out) in fours.iter_mut().enumerate() {
        *out = sums(simd, weights, components, from + at * 4 * S::F64_LANES);
    }
    match ones {
        [] => {}
        [a] => [*a] = sums(simd, weights, components, rest),
        [a, b] => [*a, *b] = sums(simd, weights, components, rest),
        [a, b, c] => [*a, *b, *c] = sums(simd, weights, components, rest),
        _ => unreachable!("three vectors at most are left of fours"),
    }
}

/// Some vectors of it, which share what they ask of the weights.
#[inline(always)]
fn sums<S: Simd, const N: usize>(simd: S, weights: WeightProducts<'_>, components: Components<'_>, from: usize) -> [S::f64s; N] {
    let mut sums = [simd.splat_f64s(0.0); N];
    let weights = weights.values.iter().step_by(weights.step).take(weights.n);
    for (&weight, values) in weights.zip(components.values.chunks_exact(components.n)) {
        let (weight, values) = (simd.splat_f64s(weight), S::as_simd_f64s(&values[from..][..N * S::F64_LANES]).0);
        for i in 0..N {
            sums[i] = simd.mul_add_e_f64s(weight, values[i], sums[i]);
        }
    }
    sums
}

/// See [`BlockProducts::at_reference_points`].
struct AtReferencePoints<'a> {
    products: &'a BlockProducts,
    u: &'a [f64],
    along: Components<'a>,
    room: &'a mut Vec<f64>,
    out: &'a mut [f64],
}

impl WithSimd for AtReferencePoints<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { products, u, along, room, out } = self;
        let [q, r] = products.magnitudes.map(|n| 2 * n);
        let (across, components, steps) = if products.axis == 0 { (q, r, [r, 1]) } else { (r, q, [1, r]) };
        let sides = Components { values: &products.sides, n: products.padded };
        room.resize(components * products.padded, 0.0);
        for (component, of_lines) in room.chunks_exact_mut(products.padded.max(1)).enumerate() {
            let weights = WeightProducts { values: &u[component * steps[1]..], step: steps[0], n: across };
            sum_at(simd, weights, sides, 0, of_lines);
        }
        for (at, line) in products.lines.iter().enumerate() {
            // In whole lanes: what is written beyond the line is written again with the next one, and there is room beyond the last.
            let (from, whole) = (line.start, line.len().next_multiple_of(LANES));
            let weights = WeightProducts { values: &room[at..], step: products.padded, n: components };
            sum_at(simd, weights, along, from, &mut out[from..from + whole]);
        }
    }
}

/// See [`BlockProducts::at_nodes`].
struct AtNodes<'a> {
    products: &'a BlockProducts,
    u: &'a [f64],
    axes: [Components<'a>; 2],
    room: &'a mut Vec<f64>,
    out: &'a mut [f64],
}

impl WithSimd for AtNodes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { products, u, axes: [first, second], room, out } = self;
        let [q, r] = products.magnitudes.map(|n| 2 * n);
        room.resize(q * second.n, 0.0);
        for (u, out) in u.chunks_exact(r).zip(room.chunks_exact_mut(second.n)) {
            sum_at(simd, WeightProducts { values: u, step: 1, n: r }, second, 0, out);
        }
        // Four rows at a time: what they share is read once.
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
    /// A row for each component of the first axis.
    room: &'a [f64],
    across: usize,
    first: Components<'a>,
    /// The first of them.
    row: usize,
}

impl Tile<'_> {
    /// Writes some vectors of the rows.
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
