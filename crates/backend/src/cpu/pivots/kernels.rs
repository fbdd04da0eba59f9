//! Implements the SIMD loops; the error band allows fused and unfused arithmetic.

use super::factors::{LANES, ROWS, Sixteen};
use privateer_numerics::vectorised;
use pulp::{Simd, WithSimd};

/// Pivots in a tile of [`lane_forms`].
pub const PIVOTS: usize = 3;
/// Columns whose products are summed before their sum is added to the total.
const GROUP: usize = 16;
/// Points in a tile.
pub const POINTS: usize = 12;
/// Terms of [`Products`] that are summed before their sum is added to the total.
const TERMS: usize = 96;

/// Returns the number of roundings of an entry of `R phi`.
pub fn row_depth(n_features: usize) -> f64 {
    (GROUP + n_features.div_ceil(GROUP) + 2) as f64
}

/// Returns the number of roundings of a square in [`lane_forms`].
pub fn square_depth(n_features: usize) -> f64 {
    (ROWS + n_features.div_ceil(ROWS) + 2) as f64
}

/// Returns the number of roundings of a product in [`Products`].
pub fn product_depth(terms: usize) -> f64 {
    (TERMS + terms.div_ceil(TERMS) + 2) as f64
}

#[inline(always)]
fn load<S: Simd>(entry: &Sixteen, slice: usize) -> S::f32s {
    S::as_simd_f32s(&entry.0).0[slice]
}

#[inline(always)]
fn store<S: Simd>(entry: &mut Sixteen, slice: usize, value: S::f32s) {
    S::as_mut_simd_f32s(&mut entry.0).0[slice] = value;
}

vectorised! {
    /// Computes `out[p] = |R phi_p|²` of all trials.
    ///
    /// `features` holds three pivots at a time, feature by feature, `columns` features each (a multiple of four).
    pub fn lane_forms(rows: &[Sixteen], features: &[f32], columns: usize, out: &mut [Sixteen]) where simd: S {
        let mut rows = rows;
        out.fill(Sixteen::ZERO);
        for end in (ROWS..=columns).step_by(ROWS) {
            let (block, rest) = rows.split_at(end * ROWS);
            rows = rest;
            let block = block.as_chunks::<ROWS>().0;
            for (features, out) in features.chunks_exact(columns * PIVOTS).zip(out.chunks_exact_mut(PIVOTS)) {
                let features = &features.as_chunks::<PIVOTS>().0[..end];
                for slice in 0..LANES / S::F32_LANES {
                    squares(simd, slice, block, features, out);
                }
            }
        }
    }
}

#[inline(always)]
fn squares<S: Simd>(simd: S, slice: usize, block: &[[Sixteen; ROWS]], features: &[[f32; PIVOTS]], out: &mut [Sixteen]) {
    let mut totals = [[simd.splat_f32s(0.0); PIVOTS]; ROWS];
    for (block, features) in block.chunks(GROUP).zip(features.chunks(GROUP)) {
        let mut sums = [[simd.splat_f32s(0.0); PIVOTS]; ROWS];
        for (rows, features) in block.iter().zip(features) {
            let x: [S::f32s; PIVOTS] = std::array::from_fn(|p| simd.splat_f32s(features[p]));
            for r in 0..ROWS {
                let row = load::<S>(&rows[r], slice);
                for p in 0..PIVOTS {
                    sums[r][p] = simd.mul_add_e_f32s(row, x[p], sums[r][p]);
                }
            }
        }
        for r in 0..ROWS {
            for p in 0..PIVOTS {
                totals[r][p] = simd.add_f32s(totals[r][p], sums[r][p]);
            }
        }
    }
    for p in 0..PIVOTS {
        let mut four = simd.splat_f32s(0.0);
        for total in &totals {
            four = simd.mul_add_e_f32s(total[p], total[p], four);
        }
        let sum = simd.add_f32s(load::<S>(&out[p], slice), four);
        store::<S>(&mut out[p], slice, sum);
    }
}

/// Computes `out[v][x] = sum_j coefficients[j][x] values[v][j]` for twelve points.
///
/// `V` times sixteen trials are computed together.
pub struct Products<'a, const V: usize> {
    pub coefficients: &'a [f32],
    pub values: [&'a [Sixteen]; V],
    pub out: [&'a mut [Sixteen; POINTS]; V],
}

impl<const V: usize> WithSimd for Products<'_, V> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { coefficients, values, mut out } = self;
        for slice in 0..LANES / S::F32_LANES {
            // As many sums as the registers hold.
            if 32 <= S::REGISTER_COUNT {
                products::<S, V, POINTS>(simd, slice, coefficients, values, &mut out);
            } else {
                products::<S, V, 4>(simd, slice, coefficients, values, &mut out);
            }
        }
    }
}

#[inline(always)]
fn products<S: Simd, const V: usize, const P: usize>(
    simd: S,
    slice: usize,
    coefficients: &[f32],
    values: [&[Sixteen]; V],
    out: &mut [&mut [Sixteen; POINTS]; V],
) {
    let coefficients = coefficients.as_chunks::<POINTS>().0;
    let n = coefficients.len();
    let values: [&[Sixteen]; V] = std::array::from_fn(|v| &values[v][..n]);
    for from in (0..POINTS).step_by(P) {
        for first in (0..n).step_by(TERMS) {
            let end = (first + TERMS).min(n);
            let mut sums = [[simd.splat_f32s(0.0); V]; P];
            for j in first..end {
                let value: [S::f32s; V] = std::array::from_fn(|v| load::<S>(&values[v][j], slice));
                for x in 0..P {
                    let c = simd.splat_f32s(coefficients[j][from + x]);
                    for v in 0..V {
                        sums[x][v] = simd.mul_add_e_f32s(c, value[v], sums[x][v]);
                    }
                }
            }
            for x in 0..P {
                for v in 0..V {
                    let to = &mut out[v][from + x];
                    let sum = if first == 0 { sums[x][v] } else { simd.add_f32s(load::<S>(to, slice), sums[x][v]) };
                    store::<S>(to, slice, sum);
                }
            }
        }
    }
}

/// Coefficients of the interval of each trial's score.
///
/// `mean ± (c + c_size size + c_delta delta)` and `v ± (e + e_size size + e_rho rho + e_trace trace)`. In blocks, `inner`
/// times the largest form and mean of the chosen points is added per unit of `|u|_1`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LaneEnds {
    pub beta: Sixteen,
    pub c: Sixteen,
    pub c_size: Sixteen,
    pub c_delta: Sixteen,
    pub e: Sixteen,
    pub e_size: Sixteen,
    pub e_rho: Sixteen,
    pub e_trace: Sixteen,
}

/// Largest bounds of twelve points.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TileBounds {
    /// `sum |u_k| |c(x_k)|_1`, or `|c(x)|_1`.
    pub size: f32,
    /// `rho_b + sum |u_k| rho(x_k)`, or `rho(x)`.
    pub rho: f32,
    /// The same sum of `trace`.
    pub trace: f32,
    /// `delta_b`.
    pub delta: f32,
    /// `|u|_1`, or 1.
    pub inner: f32,
}

/// Computes the scores of twelve points for sixteen trials, and raises the best lower end.
///
/// Returns whether one of the points may reach the best lower end so far.
pub struct Scores<'a> {
    pub forms: &'a [Sixteen; POINTS],
    pub means: &'a [Sixteen; POINTS],
    pub residual: &'a [f32; POINTS],
    pub ends: &'a LaneEnds,
    pub bounds: TileBounds,
    /// Rounding of the interpolation within a block per unit of `|u|_1`: forms and means.
    pub inner: &'a [Sixteen; 2],
    pub scores: &'a mut [Sixteen; POINTS],
    /// Best upper end of the tile.
    pub upper: &'a mut Sixteen,
    pub best_lower: &'a mut Sixteen,
}

impl WithSimd for Scores<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { forms, means, residual, ends, bounds, inner, scores, upper, best_lower } = self;
        let zero = simd.splat_f32s(0.0);
        let mut reached = false;
        for slice in 0..LANES / S::F32_LANES {
            let of = |entry: &Sixteen| load::<S>(entry, slice);
            let beta = of(&ends.beta);
            let mut best = simd.splat_f32s(f32::NEG_INFINITY);
            let mut least = simd.splat_f32s(f32::INFINITY);
            for x in 0..POINTS {
                let variance = simd.add_f32s(of(&forms[x]), simd.splat_f32s(residual[x]));
                let root = simd.sqrt_f32s(simd.max_f32s(variance, zero));
                let score = simd.mul_add_e_f32s(beta, root, of(&means[x]));
                store::<S>(&mut scores[x], slice, score);
                best = simd.max_f32s(best, score);
                least = simd.min_f32s(least, root);
            }
            let [size, rho, trace, delta, times] =
                [bounds.size, bounds.rho, bounds.trace, bounds.delta, bounds.inner].map(|bound| simd.splat_f32s(bound));
            let e = simd.mul_add_e_f32s(of(&ends.e_rho), rho, simd.mul_add_e_f32s(of(&ends.e_trace), trace, of(&ends.e)));
            let e = simd.mul_add_e_f32s(of(&ends.e_size), size, e);
            let e = simd.mul_add_e_f32s(of(&inner[0]), times, e);
            let c = simd.mul_add_e_f32s(of(&ends.c_size), times, simd.mul_add_e_f32s(of(&ends.c_delta), delta, of(&ends.c)));
            let c = simd.mul_add_e_f32s(of(&inner[1]), times, c);
            // At most sqrt(e) too, where a variance is tiny.
            let deviation =
                simd.min_f32s(simd.div_f32s(e, simd.max_f32s(least, simd.splat_f32s(f32::MIN_POSITIVE))), simd.sqrt_f32s(e));
            let half = simd.mul_add_e_f32s(beta, deviation, c);
            let lower = simd.sub_f32s(best, half);
            let high = simd.add_f32s(best, half);
            let most = simd.max_f32s(of(best_lower), lower);
            store::<S>(best_lower, slice, most);
            store::<S>(upper, slice, high);
            // An unused SIMD lane may hold a NaN: the second operand is then taken, or the reduction skips it.
            let beyond = simd.max_f32s(simd.sub_f32s(high, most), simd.splat_f32s(f32::NEG_INFINITY));
            reached |= 0.0 <= simd.reduce_max_f32s(beyond);
        }
        reached
    }
}

vectorised! {
    /// Computes the largest magnitudes of chosen points, times a factor.
    pub fn largest_of_lanes(values: &[Sixteen], share: f32, out: &mut Sixteen) where simd: S {
        for slice in 0..LANES / S::F32_LANES {
            let mut most = simd.splat_f32s(0.0);
            for value in values {
                most = simd.max_f32s(most, simd.abs_f32s(load::<S>(value, slice)));
            }
            store::<S>(out, slice, simd.mul_f32s(most, simd.splat_f32s(share)));
        }
    }
}
