//! Implements the three SIMD loops of a round; the error band allows fused and unfused arithmetic.

use super::table::{PANEL, PIVOTS};
use pulp::{Simd, WithSimd};

/// Rows of a factor in a tile.
pub const ROWS: usize = 4;
/// Vectors of pivots in a tile.
const VECTORS: usize = 2;
/// Products summed before their sum is added to the total.
const GROUP: usize = 16;
/// The same for sums over pivots.
const PIVOT_GROUP: usize = 32;
/// Vectors of points in a tile of [`FormsAndMeans`].
const POINT_VECTORS: usize = 3;
/// Trials in a tile of [`FormsAndMeans`]: each has a form and a mean.
pub const TRIALS: usize = 4;
/// Values of a pivot in a tile of [`FormsAndMeans`].
pub const SIDES: usize = 2 * TRIALS;

/// Returns the number of roundings of an entry of `R phi`.
pub fn row_depth(n_features: usize) -> f64 {
    (GROUP + n_features.div_ceil(GROUP) + 2) as f64
}

/// Returns the roundings of a square in [`Forms`]: within four rows, then over groups of rows.
pub fn square_depth(n_features: usize) -> f64 {
    (ROWS + n_features.div_ceil(ROWS) + 2) as f64
}

/// Returns the number of roundings of a product in [`FormsAndMeans`].
pub fn product_depth(rank: usize) -> f64 {
    (PIVOT_GROUP + rank.div_ceil(PIVOT_GROUP) + 2) as f64
}

/// Packs `R` in tiles of four rows, column by column up to the last diagonal entry of the tile.
///
/// Rows beyond the last are zero.
pub fn pack(rows: &[f64], n: usize, out: &mut Vec<f32>) {
    out.clear();
    for first in (0..n).step_by(ROWS) {
        let end = (first + ROWS).min(n);
        let line = |r: usize| &rows[(first + r).min(n - 1) * n..][..end];
        if end - first == ROWS {
            let [a, b, c, d] = [line(0), line(1), line(2), line(3)];
            for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
                out.extend([*a as f32, *b as f32, *c as f32, *d as f32]);
            }
        } else {
            for j in 0..end {
                out.extend((0..ROWS).map(|r| if first + r < n { line(r)[j] as f32 } else { 0.0 }));
            }
        }
    }
}

/// Computes `out[p] = |R phi_p|²` from packed rows.
///
/// `features` is `n x out.len()`, whose length is a multiple of [`PIVOTS`].
pub struct Forms<'a> {
    pub packed: &'a [f32],
    pub features: &'a [f32],
    pub n: usize,
    pub out: &'a mut [f32],
}

impl WithSimd for Forms<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { packed, features, n, out } = self;
        let padded = out.len();
        let width = VECTORS * S::F32_LANES;
        debug_assert!(padded.is_multiple_of(width) && PIVOTS.is_multiple_of(width));
        for (tile, out) in out.chunks_exact_mut(width).enumerate() {
            let at = tile * width;
            let mut squares = [simd.splat_f32s(0.0); VECTORS];
            let mut rest = packed;
            for first in (0..n).step_by(ROWS) {
                let end = (first + ROWS).min(n);
                let (rows, next) = rest.split_at(ROWS * end);
                rest = next;
                let mut totals = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
                for (rows, features) in rows.chunks(ROWS * GROUP).zip(features.chunks(padded * GROUP)) {
                    let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
                    for (factors, features) in rows.chunks_exact(ROWS).zip(features.chunks_exact(padded)) {
                        let (vectors, _) = S::as_simd_f32s(&features[at..at + width]);
                        let x: [S::f32s; VECTORS] = std::array::from_fn(|v| vectors[v]);
                        for r in 0..ROWS {
                            let factor = simd.splat_f32s(factors[r]);
                            for v in 0..VECTORS {
                                sums[r][v] = simd.mul_add_e_f32s(factor, x[v], sums[r][v]);
                            }
                        }
                    }
                    for r in 0..ROWS {
                        for v in 0..VECTORS {
                            totals[r][v] = simd.add_f32s(totals[r][v], sums[r][v]);
                        }
                    }
                }
                for v in 0..VECTORS {
                    let mut four = simd.splat_f32s(0.0);
                    for total in &totals {
                        four = simd.mul_add_e_f32s(total[v], total[v], four);
                    }
                    squares[v] = simd.add_f32s(squares[v], four);
                }
            }
            let (vectors, _) = S::as_mut_simd_f32s(out);
            vectors.copy_from_slice(&squares);
        }
    }
}

/// Computes `out[p] = w · phi_p` in f64.
pub struct Means<'a> {
    pub weights: &'a [f64],
    pub features: &'a [f64],
    pub out: &'a mut [f64],
}

impl WithSimd for Means<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let padded = self.out.len();
        self.out.fill(0.0);
        for (weight, features) in self.weights.iter().zip(self.features.chunks_exact(padded)) {
            for (out, feature) in self.out.iter_mut().zip(features) {
                *out += weight * feature;
            }
        }
    }
}

/// Computes `sums[s][x] = sum_j panel[j][x] values[j][s]` at the points of a panel.
///
/// The sums are forms, then means, of [`TRIALS`] trials.
pub struct FormsAndMeans<'a> {
    pub panel: &'a [f32],
    pub values: &'a [f32],
    pub sums: &'a mut [f32; SIDES * PANEL],
}

impl WithSimd for FormsAndMeans<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { panel, values, sums } = self;
        sums.fill(0.0);
        let width = POINT_VECTORS * S::F32_LANES;
        for at in (0..PANEL).step_by(width) {
            for (panel, values) in panel.chunks(PANEL * PIVOT_GROUP).zip(values.chunks(SIDES * PIVOT_GROUP)) {
                let mut group = [[simd.splat_f32s(0.0); POINT_VECTORS]; SIDES];
                for (c, values) in panel.chunks_exact(PANEL).zip(values.chunks_exact(SIDES)) {
                    let (vectors, _) = S::as_simd_f32s(&c[at..at + width]);
                    let c: [S::f32s; POINT_VECTORS] = std::array::from_fn(|v| vectors[v]);
                    for s in 0..SIDES {
                        let value = simd.splat_f32s(values[s]);
                        for v in 0..POINT_VECTORS {
                            group[s][v] = simd.mul_add_e_f32s(value, c[v], group[s][v]);
                        }
                    }
                }
                for (group, sums) in group.iter().zip(sums.chunks_exact_mut(PANEL)) {
                    let (vectors, _) = S::as_mut_simd_f32s(&mut sums[at..at + width]);
                    for (sum, &group) in vectors.iter_mut().zip(group) {
                        *sum = simd.add_f32s(*sum, group);
                    }
                }
            }
        }
    }
}

/// Coefficients of the interval of a score from a form and a mean.
///
/// `mean ± (c + c_size |c(x)|_1 + c_delta delta(x))` and `width sqrt(form + residual ± (e + e_size |c(x)|_1 + e_rho rho(x)))`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Ends {
    pub beta: f32,
    pub c: f32,
    pub c_size: f32,
    pub c_delta: f32,
    pub e: f32,
    pub e_size: f32,
    pub e_rho: f32,
}

/// Computes both interval ends of every point of a panel; returns the best lower end.
pub struct Intervals<'a> {
    pub ends: Ends,
    pub forms: &'a [f32],
    pub means: &'a [f32],
    pub size: &'a [f32],
    pub rho: &'a [f32],
    pub delta: &'a [f32],
    pub residual: &'a [f32],
    pub lower: &'a mut [f32],
    pub upper: &'a mut [f32],
}

impl WithSimd for Intervals<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let Ends { beta, c, c_size, c_delta, e, e_size, e_rho } = self.ends;
        let of = |value: f32| simd.splat_f32s(value);
        let vectors = |values: &'_ [f32]| -> usize { values.len() / S::F32_LANES };
        let (beta, c, c_size, c_delta) = (of(beta), of(c), of(c_size), of(c_delta));
        let (e, e_size, e_rho, zero) = (of(e), of(e_size), of(e_rho), of(0.0));
        let mut best = of(f32::NEG_INFINITY);
        for at in 0..vectors(self.forms) {
            let load = |values: &[f32]| S::as_simd_f32s(values).0[at];
            let (form, mean) = (load(self.forms), load(self.means));
            let size = load(self.size);
            let variance = simd.add_f32s(form, load(self.residual));
            let e = simd.mul_add_e_f32s(e_size, size, simd.mul_add_e_f32s(e_rho, load(self.rho), e));
            let c = simd.mul_add_e_f32s(c_size, size, simd.mul_add_e_f32s(c_delta, load(self.delta), c));
            let half_width = |variance: S::f32s| simd.mul_f32s(beta, simd.sqrt_f32s(simd.max_f32s(variance, zero)));
            let lower = simd.add_f32s(simd.sub_f32s(mean, c), half_width(simd.sub_f32s(variance, e)));
            let upper = simd.add_f32s(simd.add_f32s(mean, c), half_width(simd.add_f32s(variance, e)));
            best = simd.max_f32s(best, lower);
            S::as_mut_simd_f32s(self.lower).0[at] = lower;
            S::as_mut_simd_f32s(self.upper).0[at] = upper;
        }
        simd.reduce_max_f32s(best)
    }
}
