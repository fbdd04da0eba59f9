//! Refines in f64 the points that an f32 screen leaves: intervals, and comparisons with the best.
//!
//! With true forms `t_j` at the pivots and computed ones `f_j`, `|t_j - f_j| <= E`, the variances of two points differ by
//! `sum (c_j(x) - c_j(y)) f_j` and the residuals. The error is `E |c(x) - c(y)|_1` (neighbours have nearly equal rows),
//! plus each point's own `rho` and the rounding of its coefficients. Means differ likewise, with the error
//! `|w| u |phi(x) - phi(y)|`. Standard deviations then differ by `(v(x) - v(y)) / (sd(x) + sd(y))`.

use super::factors::{LANES, Sixteen};
use super::interpolation::Interpolation;
use super::table::PivotTable;
use crate::scale::Scale;
use privateer_gp::score::FeatureTable;
use privateer_numerics::vectorised;

#[derive(Clone, Copy)]
pub struct PivotTables<'a> {
    pub by: &'a Interpolation,
    pub table: &'a PivotTable,
    pub features: &'a FeatureTable,
    pub scale: &'a Scale,
}

/// Coefficients of the interval of a form and a mean that were computed in f64.
///
/// `mean ± (c + c_weights)` and `v ± (e + (e_apart + e_size) |c(x)|_1 + e_rho rho(x) + e_trace trace(x))`.
#[derive(Debug, Clone, Copy)]
pub struct Fine {
    pub beta: f64,
    pub c: f64,
    /// Rounding of the weights, for `|phi(x) - phi(y)|` and for `|phi|`.
    pub c_apart: f64,
    pub c_weights: f64,
    pub e: f64,
    /// Rounding of coefficients.
    pub e_size: f64,
    /// Errors of forms at the pivots.
    pub e_apart: f64,
    pub e_rho: f64,
    pub e_trace: f64,
}

/// One trial extracted from its SIMD lane.
pub struct Alone<'a> {
    tables: PivotTables<'a>,
    fine: Fine,
    forms: Vec<f64>,
    weights: Vec<f64>,
}

/// Moments of one point in one trial, with their errors.
#[derive(Debug, Clone, Copy)]
pub struct At {
    point: usize,
    mean: f64,
    variance: f64,
    /// Half-width of the interval of the mean.
    c: f64,
    /// Half-width of the interval of the variance: in total, and without the errors at the pivots.
    e: f64,
    e_own: f64,
    beta: f64,
}

impl At {
    /// Returns `sqrt(v - e)` and `sqrt(v + e)`.
    fn variances(&self) -> [f64; 2] {
        [self.variance - self.e, self.variance + self.e].map(|variance| variance.max(0.0).sqrt())
    }

    /// Returns an interval that holds the exact score.
    pub fn interval(&self) -> (f64, f64) {
        let [least, most] = self.variances();
        (self.mean - self.c + self.beta * least, self.mean + self.c + self.beta * most)
    }
}

impl<'a> Alone<'a> {
    pub fn new(tables: PivotTables<'a>, fine: Fine, lane: usize, forms: &[Sixteen], weights: &[Sixteen]) -> Self {
        let of = |values: &[Sixteen]| values.iter().map(|value| f64::from(value.0[lane])).collect();
        Self { tables, fine, forms: of(forms), weights: of(weights) }
    }

    /// Computes form and mean of a point in f64, with their error bounds.
    pub fn at(&self, point: u32) -> At {
        let Self { tables: PivotTables { by, features, .. }, fine, .. } = self;
        let point = point as usize;
        let (c, phi) = (by.row(point), &features.row(point));
        let (form, mean) = refined_sums(c, &self.forms, phi, &self.weights);
        let size = f64::from(by.size[point]);
        let (rho, trace) = (f64::from(by.rho[point]), f64::from(by.trace[point]));
        let e_own = fine.e + fine.e_size * size + fine.e_rho * rho + fine.e_trace * trace;
        At {
            point,
            mean,
            variance: form + features.residual[point],
            c: fine.c + fine.c_weights,
            e: e_own + fine.e_apart * size,
            e_own,
            beta: fine.beta,
        }
    }

    /// Returns whether `x` is below `y` by more than a tie.
    fn below(&self, x: &At, y: &At) -> bool {
        let Self { tables: PivotTables { by, features, .. }, fine, .. } = self;
        let (c, d) = (by.row(x.point), by.row(y.point));
        let (phi, psi) = (&features.row(x.point), &features.row(y.point));
        let (apart, squares) = apart(c, d, phi, psi);
        let mean = x.mean - y.mean + 2.0 * fine.c + fine.c_apart * squares.sqrt();
        let variance = x.variance - y.variance + x.e_own + y.e_own + fine.e_apart * apart;
        let ([x_least, x_most], [y_least, y_most]) = (x.variances(), y.variances());
        // A quotient by zero is infinite or NaN, which `min` ignores.
        let deviation = if 0.0 < variance {
            (x_most - y_least).min(variance / (x_least + y_least))
        } else {
            (x_most - y_least).min(variance / (x_most + y_most))
        };
        mean + fine.beta * deviation < 0.0
    }

    /// Keeps the points that may be the best.
    pub fn retain(&self, points: &mut Vec<u32>) {
        let mut known: Vec<At> = points.iter().map(|&point| self.at(point)).collect();
        let Some(best) = known.iter().copied().reduce(|a, b| if a.interval().0 < b.interval().0 { b } else { a }) else {
            return;
        };
        let (lower, _) = best.interval();
        known.retain(|x| lower <= x.interval().1 && (x.point == best.point || !self.below(x, &best)));
        points.clear();
        points.extend(known.iter().map(|x| x.point as u32));
    }
}

vectorised! {
    /// Computes `sum c_j f_j` and `phi · w`.
    fn refined_sums(c: &[f32], forms: &[f64], phi: &[f64], weights: &[f64]) -> (f64, f64) {
        let of_forms = folded(c, forms, |c, f| f64::from(c) * f);
        (of_forms, folded(phi, weights, |phi, w| phi * w))
    }
}

vectorised! {
    /// Computes `|c - d|_1` and `|phi - psi|²`.
    fn apart(c: &[f32], d: &[f32], phi: &[f64], psi: &[f64]) -> (f64, f64) {
        let of_rows = folded(c, d, |c, d| (f64::from(c) - f64::from(d)).abs());
        (of_rows, folded(phi, psi, |a, b| (a - b) * (a - b)))
    }
}

/// Sums a function of two numbers, with as many running sums as a vector has SIMD lanes.
#[inline(always)]
fn folded<A: Copy, B: Copy>(a: &[A], b: &[B], of: impl Fn(A, B) -> f64) -> f64 {
    let (a, a_rest) = a.as_chunks::<{ LANES }>();
    let (b, b_rest) = b.as_chunks::<{ LANES }>();
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += of(a[lane], b[lane]);
        }
    }
    for (sum, (&a, &b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += of(a, b);
    }
    sums.iter().sum()
}
