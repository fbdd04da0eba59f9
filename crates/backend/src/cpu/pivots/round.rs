//! Runs a round of trials by pivots and computes its error bounds.

use super::kernels::{self, Ends, Forms, FormsAndMeans, Intervals, Means, SIDES, TRIALS};
use super::table::{Interpolation, PANEL};
use crate::playable::playable;
use crate::scale::Scale;
use privateer_gp::score::{Candidates, Factor, TIE_TOLERANCE, TrialScore, VarianceForm};
use privateer_numerics::linalg::sum_of_squares;

/// Unit roundoff of f32.
pub const U: f64 = f32::EPSILON as f64 / 2.0;
/// Factor for bounds that are computed in f64 and used in f32.
pub const ROUNDED_UP: f64 = 1.0 + 1e-5;
/// Numbers beyond this stay out of f32 arithmetic, so that their squares and sums cannot overflow.
pub const LARGEST: f64 = 1e15;
/// Bound on a number that was flushed to zero.
pub const TINY: f64 = f32::MIN_POSITIVE as f64;

/// Trial rounds of a screen between comparisons with exact scores, and points per comparison.
pub const CHECK_EVERY: u32 = 256;
pub const CHECKED_POINTS: usize = 4;

/// Scratch memory for the rounds of trials.
#[derive(Debug, Default)]
pub struct PivotScreen {
    packed: Vec<f32>,
    forms: Vec<f32>,
    means: Vec<f64>,
    /// `rank x SIDES` for each group of trials.
    values: Vec<Vec<f32>>,
    /// Both interval ends of all points, for each trial.
    lower: Vec<Vec<f32>>,
    upper: Vec<Vec<f32>>,
    ends: Vec<Ends>,
    best: Vec<f32>,
    since_check: u32,
    next_checked: usize,
}

/// One trial of a round.
pub struct AskedTrial<'a> {
    /// The request.
    pub request: TrialScore<'a>,
    /// Its model's factor.
    pub factor: Factor<'a>,
}

impl PivotScreen {
    /// Finds the candidates of each trial; returns the number of points outside their intervals.
    ///
    /// An answer stays empty where the numbers do not fit f32: the trial must then be scored by other means.
    pub fn round(&mut self, table: &Interpolation, scale: &Scale, asked: &[AskedTrial<'_>], out: &mut [Candidates]) -> u64 {
        let n_padded = table.size.len();
        self.ends.clear();
        self.best.clear();
        self.values.resize(asked.len().div_ceil(TRIALS), Vec::new());
        for values in &mut self.values {
            values.clear();
            values.resize(table.rank * SIDES, 0.0);
        }
        self.lower.resize(self.lower.len().max(asked.len()), Vec::new());
        self.upper.resize(self.upper.len().max(asked.len()), Vec::new());
        for (i, asked) in asked.iter().enumerate() {
            self.lower[i].resize(n_padded, 0.0);
            self.upper[i].resize(n_padded, 0.0);
            self.best.push(f32::NEG_INFINITY);
            let ends = self.at_pivots(table, scale, asked, i);
            self.ends.push(ends.unwrap_or(Ends { c: f32::NAN, ..Ends::default() }));
        }
        self.multiply(table, asked.len());
        let mut violations = 0;
        for (i, (asked, out)) in asked.iter().zip(out).enumerate() {
            out.points.clear();
            if !self.ends[i].c.is_nan() {
                self.candidates(table.n_points, &asked.request, i, out);
                violations += self.check(table.n_points, &asked.request, i);
            }
        }
        violations
    }

    /// Computes forms and means of a trial at the pivots, and the coefficients of its intervals.
    ///
    /// Returns `None` if the numbers do not fit f32.
    fn at_pivots(&mut self, table: &Interpolation, scale: &Scale, asked: &AskedTrial<'_>, i: usize) -> Option<Ends> {
        let AskedTrial { request, factor } = asked;
        let m = table.n_features;
        if factor.variance != VarianceForm::Added || factor.weights.len() != m {
            return None;
        }
        let rows = factor.squares().sqrt();
        let weights = sum_of_squares(&factor.weights).sqrt();
        let h = scale.norm;
        let fits = |value: f64| value.abs() <= LARGEST;
        if ![rows, weights, h, rows * h, weights * h, request.beta].into_iter().all(fits) {
            return None;
        }
        let arch = pulp::Arch::new();
        kernels::pack(&factor.rows, m, &mut self.packed);
        self.forms.resize(table.padded, 0.0);
        self.means.resize(table.padded, 0.0);
        arch.dispatch(Forms { packed: &self.packed, features: &table.features32, n: m, out: &mut self.forms });
        arch.dispatch(Means { weights: &factor.weights, features: &table.features, out: &mut self.means });
        let (mut form, mut mean) = (0.0f64, 0.0f64);
        let values = self.values[i / TRIALS].chunks_exact_mut(SIDES);
        for ((values, &at_form), &at_mean) in values.zip(&self.forms).zip(&self.means) {
            values[i % TRIALS] = at_form;
            values[TRIALS + i % TRIALS] = at_mean as f32;
            form = form.max(f64::from(at_form));
            mean = mean.max(at_mean.abs());
        }
        let FormErrors { largest, at_pivot } = FormErrors::of(form, rows, h, kernels::row_depth(m), kernels::square_depth(m));
        let sum = gamma(kernels::product_depth(table.rank));
        let state = request.model.state_error();
        let (size, beta) = (table.largest_size, request.beta);
        let variance = size * largest + table.largest_residual;
        let score = size * mean + beta * variance.sqrt();
        let tiny = (m as f64 + table.rank as f64 + 8.0) * TINY;
        let ends = Ends {
            beta: beta as f32,
            // Rounding of the score itself, the tie tolerance, and sums in f64 at the pivots.
            c: (ROUNDED_UP
                * (state.mean + 8.0 * U * score + TIE_TOLERANCE * (1.0 + score) + beta * (tiny * (1.0 + size)).sqrt() + tiny))
                as f32,
            c_size: (ROUNDED_UP * (sum * mean + (m as f64 + 8.0) * f64::EPSILON * weights * h + tiny)) as f32,
            c_delta: (ROUNDED_UP * weights) as f32,
            e: (ROUNDED_UP * (state.variance + 4.0 * U * table.largest_residual + tiny)) as f32,
            e_size: (ROUNDED_UP * (at_pivot + (sum + 4.0 * U) * largest + tiny)) as f32,
            e_rho: (ROUNDED_UP * rows * rows) as f32,
        };
        let sound = [ends.c, ends.c_size, ends.c_delta, ends.e, ends.e_size, ends.e_rho].into_iter().all(f32::is_finite);
        (sound && [form, mean, variance, score].into_iter().all(fits)).then_some(ends)
    }

    /// Computes the intervals of all points of the first `n` trials, which share a panel's loads.
    fn multiply(&mut self, table: &Interpolation, n: usize) {
        let arch = pulp::Arch::new();
        let mut sums = [0.0; SIDES * PANEL];
        for (at, panel) in table.panels.chunks_exact(PANEL * table.rank).enumerate() {
            let points = at * PANEL..(at + 1) * PANEL;
            for (group, values) in self.values.iter().enumerate() {
                arch.dispatch(FormsAndMeans { panel, values, sums: &mut sums });
                let (forms, means) = sums.split_at(TRIALS * PANEL);
                for (t, (forms, means)) in forms.chunks_exact(PANEL).zip(means.chunks_exact(PANEL)).enumerate() {
                    let i = group * TRIALS + t;
                    if n <= i {
                        break;
                    }
                    let best = arch.dispatch(Intervals {
                        ends: self.ends[i],
                        forms,
                        means,
                        size: &table.size[points.clone()],
                        rho: &table.rho[points.clone()],
                        delta: &table.delta[points.clone()],
                        residual: &table.residual[points.clone()],
                        lower: &mut self.lower[i][points.clone()],
                        upper: &mut self.upper[i][points.clone()],
                    });
                    self.best[i] = self.best[i].max(best);
                }
            }
        }
    }

    /// Writes the points whose upper end reaches the best lower end.
    fn candidates(&self, n_points: usize, request: &TrialScore<'_>, i: usize, out: &mut Candidates) {
        let (lower, upper) = (&self.lower[i], &self.upper[i][..n_points]);
        match request.subset {
            Some(subset) => {
                let best = subset.iter().map(|&point| lower[point as usize]).fold(f32::NEG_INFINITY, f32::max);
                out.points.extend(subset.iter().copied().filter(|&point| best <= upper[point as usize]));
            }
            None => {
                let best = self.best[i];
                for (block, ends) in upper.chunks(64).enumerate() {
                    if ends.iter().fold(false, |any, &end| any | (best <= end)) {
                        let reached = ends.iter().enumerate().filter(|&(_, &end)| best <= end);
                        out.points.extend(reached.map(|(x, _)| (block * 64 + x) as u32));
                    }
                }
            }
        }
    }

    /// Returns the interval of a point in the last round.
    pub fn interval(&self, trial: usize, point: usize) -> (f32, f32) {
        (self.lower[trial][point], self.upper[trial][point])
    }

    /// Compares, at intervals, the intervals of some points with their exact scores.
    fn check(&mut self, n_points: usize, request: &TrialScore<'_>, i: usize) -> u64 {
        self.since_check += 1;
        if self.since_check % CHECK_EVERY != 1 {
            return 0;
        }
        let n = request.subset.map_or(n_points, <[u32]>::len);
        let points = playable(n_points, request.subset).skip(self.next_checked % n).take(CHECKED_POINTS);
        self.next_checked += CHECKED_POINTS;
        let outside = |&point: &u32| {
            let exact = request.model.exact(point as usize).upper(request.beta);
            let (lower, upper) = self.interval(i, point as usize);
            // A NaN is inside every interval; the decision reports it.
            exact < f64::from(lower) || f64::from(upper) < exact
        };
        points.filter(outside).count() as u64
    }
}

/// Returns the relative rounding error of a sum of this depth, per unit of its terms' magnitudes.
pub fn gamma(depth: f64) -> f64 {
    1.25 * (depth + 3.0) * U
}

/// Error bounds of the forms `|R phi|²` at pivots.
pub struct FormErrors {
    /// Bound on the largest form.
    pub largest: f64,
    /// Bound on the error of a form.
    pub at_pivot: f64,
}

impl FormErrors {
    /// Computes the bounds from the largest computed form, `|R|_F` and a bound `h` on `|phi|`.
    ///
    /// The depths are those of the sums in a row's product and in the squares.
    pub fn of(form: f64, rows: f64, h: f64, row_depth: f64, square_depth: f64) -> Self {
        // |ŷ - y| <= e_y, and the sum |ŷ|² has a relative rounding error.
        let e_y = gamma(row_depth) * rows * h;
        let share = gamma(square_depth);
        let root = (form * (1.0 + 2.0 * share)).sqrt() + e_y;
        let largest = root * root;
        Self { largest, at_pivot: 2.0 * e_y * root + e_y * e_y + 2.0 * share * largest }
    }
}
