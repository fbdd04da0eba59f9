//! The exact posterior over all points of a small domain.
//!
//! It holds the mean and the posterior variance of every point at any time, and the posterior covariances of a visited
//! point with all others, which it updates when that point is played.
//!
//! Observations are grouped into streaks of one point `x`. Let `p` be the covariances of `x` with all points, `v = p_x`,
//! and `m` the mean of `x`, all at the start of the streak. Then `j` observations with reward sum `S` give
//!
//! `mean + a p`, `a = (S - j m) / (ridge + j v)`, and variance `σ² - f p²`, `f = j / (ridge + j v)`.
//!
//! Nothing is accumulated within a streak, so nothing drifts. An ended streak is stored as the vector `c = sqrt(f) p`,
//! because it lowers the covariance matrix by `c c^T`. The covariances of a point are updated only when it is played, by
//! the streaks that ended since it was last played: `N` multiply-adds each, in total never more than a full downdate of
//! the covariance matrix. Reading `N` entries of many streaks takes longer than the arithmetic, so that the covariances of the
//! points with the highest scores are updated with them ([`AheadCounters`]); no result depends on which these are.
//!
//! After [`most_streaks`] streaks the state is recomputed from the interactions:
//! `A = K + ridge diag(1/count) = L L^T`, `T = L^{-1} K`, variance `k - |T|²` per point. The state is a function of the
//! observations alone, so every execution path gives the same bits.

use super::design::observed_factor;
use super::{Posterior, Visits};
use crate::score::{Basis, Change, GramSource, MomentTable, Moments, ScoreModel, StateError};
use privateer_numerics::linalg::{self, Columns, SUMS, padded_length};
use privateer_numerics::vectorised;
use std::sync::Arc;

/// Smallest ridge, as a share of the prior variance.
///
/// Each downdate of covariances loses a few units in the last place of the prior variance. [`most_streaks`]
/// downdates lose less than 1e-9 of the posterior variance that remains at a point after 10⁴ observations.
pub(super) const LEAST_RIDGE: f64 = 1e-3;

/// Returns the number of streaks after which the state is recomputed from scratch.
///
/// That costs up to `5/6 N³` multiply-adds: of `N²` per streak a tenth for up to 256 points, two fifths for 1024.
fn most_streaks(n_points: usize) -> usize {
    (8 * n_points).min(2048)
}

/// The exact posterior of one trial over a small domain.
#[derive(Debug, Clone)]
pub struct CovariancePosterior {
    gram: Arc<dyn GramSource>,
    prior_bound: f64,
    ridge: f64,
    /// Streaks that have ended since the state was last recomputed.
    n_ended: usize,
    streak: Option<CovarianceStreak>,
    /// Interactions up to now.
    visits: Visits,
    /// Sum of the rewards at the current streak's point before the streak.
    sum_before: f64,
    /// `T` over the points that had been visited when the state was last recomputed.
    start: Columns,
    /// Rows `c` of the ended streaks, each padded to whole lanes as the covariances are.
    ended: Vec<f64>,
    /// Likely slot of each point; 0 where it is not known.
    slots: Vec<u32>,
    /// Covariances of each point with all others, as of some streak.
    covariances: Vec<Covariances>,
    ahead: AheadCounters,
    /// `v` and `m` of the current streak.
    open: Moments,
    /// Moments of every point at the start of the current streak.
    before: [Vec<f64>; 2],
    means: Vec<f64>,
    variances: Vec<f64>,
    /// Information gain without the current streak, and that of the current streak.
    gain: f64,
    open_gain: f64,
    /// Number of ended streaks at which the state is recomputed.
    most_streaks: usize,
    changed: bool,
}

/// A streak: consecutive observations of one point.
#[derive(Debug, Clone, Copy, PartialEq)]
struct CovarianceStreak {
    slot: u32,
    point: u32,
    /// `j` and `S`.
    count: u64,
    sum: f64,
}

/// Covariances of a point with all points.
#[derive(Debug, Clone, Default)]
struct Covariances {
    /// Number of ended streaks in them.
    ended: usize,
    /// Whether they were updated for a play that is still to come.
    is_ahead: bool,
    /// Padded to whole lanes; empty before the first update.
    values: Vec<f64>,
}

/// Which covariances are updated before their point is played, and whether that has paid.
#[derive(Debug, Clone)]
struct AheadCounters {
    /// Exploration factor of the coming round.
    beta: f64,
    /// Updates ahead of a play, those that a play has used, and updates of one point alone.
    updated: usize,
    used: usize,
    alone: usize,
}

/// Fewest multiply-adds of an update with which others are made ahead: those of the streaks that a point lacks.
///
/// Eight updates together take as long as two to four alone, and to find the points that come next takes some 3 us.
const LEAST_WORK_AHEAD: usize = 32_768;

impl AheadCounters {
    /// Returns whether an update should take others with it: two fifths of those were used, or it is time for a trial.
    fn pays(&self) -> bool {
        2 * self.updated <= 5 * self.used + 28 + self.alone / 8
    }
}

impl CovariancePosterior {
    /// Largest domain for this form: the covariances and streaks of a trial take at most 41 MiB.
    pub const MOST_POINTS: usize = 1024;

    /// Returns whether this form suits a domain of `n_points`, given the prior bound and the ridge.
    ///
    /// Otherwise use [`super::ExactPosterior`].
    pub fn suits(n_points: usize, prior_bound: f64, ridge: f64) -> bool {
        (1..=Self::MOST_POINTS).contains(&n_points) && LEAST_RIDGE * prior_bound <= ridge
    }

    /// Returns the most memory of a trial of `rounds` rounds, in bytes.
    ///
    /// Covariances of points, now and of visited ones at the last recomputation, its factor, and the streaks since.
    pub fn most_bytes(n_points: usize, rounds: u64) -> f64 {
        let n = n_points as f64;
        let visited = n.min(rounds as f64);
        let known = n.min(SUMS as f64 * rounds as f64);
        8.0 * (n * (visited + known + (rounds as f64).min(most_streaks(n_points) as f64) + 5.0) + visited * visited)
    }

    /// Creates the prior over this domain.
    /// * `prior_bound` — [`super::ExactPosterior::prior_bound`] of the domain
    /// * `ridge` — noise variance, > 0
    pub fn new(gram: Arc<dyn GramSource>, prior_bound: f64, ridge: f64) -> Self {
        let n = gram.n_points();
        let variances: Vec<f64> = (0..n).map(|point| gram.diagonal(point)).collect();
        Self {
            gram,
            prior_bound,
            ridge,
            n_ended: 0,
            streak: None,
            visits: Visits::default(),
            sum_before: 0.0,
            start: Columns::zeros(0, n),
            ended: Vec::new(),
            slots: vec![0; n],
            covariances: vec![Covariances::default(); n],
            ahead: AheadCounters { beta: 1.0, updated: 0, used: 0, alone: 0 },
            open: Moments { mean: 0.0, variance: 0.0 },
            before: [vec![0.0; n], variances.clone()],
            means: vec![0.0; n],
            variances,
            gain: 0.0,
            open_gain: 0.0,
            most_streaks: most_streaks(n),
            changed: false,
        }
    }

    fn n(&self) -> usize {
        self.means.len()
    }

    /// Ends the current streak and stores it with the ended ones.
    fn end_streak(&mut self) {
        let Some(streak) = self.streak.take() else { return };
        self.gain += std::mem::take(&mut self.open_gain);
        let root = fall(&streak, self.open.variance, self.ridge).sqrt();
        let covariances = &self.covariances[streak.point as usize].values;
        if self.ended.is_empty() {
            // Pages that are not written take no memory, and nothing is copied as the rows grow.
            self.ended.reserve(self.most_streaks * covariances.len());
        }
        self.ended.extend(covariances.iter().map(|p| root * p));
        // The moments at the start of the next streak are the current ones; `apply` overwrites the others.
        let [means, variances] = &mut self.before;
        std::mem::swap(means, &mut self.means);
        std::mem::swap(variances, &mut self.variances);
        self.n_ended += 1;
    }

    /// Starts a streak without observations and updates the covariances of its point.
    fn begin_streak(&mut self, point: u32, slot: u32) {
        let at = point as usize;
        self.ahead.used += usize::from(std::mem::take(&mut self.covariances[at].is_ahead));
        let is_long = LEAST_WORK_AHEAD <= self.n() * (self.n_ended - self.covariances[at].ended);
        match if is_long && self.ahead.pays() { self.next_points(at) } else { None } {
            Some(points) => self.update_together(points),
            None => {
                self.ahead.alone += usize::from(is_long);
                self.update(at, self.n_ended);
            }
        }
        let variance = self.covariances[at].values[at].max(0.0);
        self.open = Moments { mean: self.before[0][at], variance };
        self.sum_before = self.visits.sums[slot as usize];
        self.streak = Some(CovarianceStreak { slot, point, count: 0, sum: 0.0 });
    }

    /// Updates the covariances of a point by the first `ended` streaks.
    fn update(&mut self, point: usize, ended: usize) {
        let mut held = std::mem::take(&mut self.covariances[point]);
        if held.values.is_empty() {
            held.values = self.covariances_at_start(point);
        }
        let stride = held.values.len();
        let streaks = &self.ended[held.ended * stride..ended * stride];
        let weights: Vec<f64> = streaks.chunks_exact(stride).map(|c| -c[point]).collect();
        linalg::add_rows_wide(&weights, |streak| &streaks[streak * stride..], &mut held.values);
        held.ended = ended;
        self.covariances[point] = held;
    }

    /// Returns a point and those of the highest scores that lack about as many streaks; `None` if there are too few.
    fn next_points(&self, point: usize) -> Option<[usize; SUMS]> {
        let [means, variances] = &self.before;
        let ended = self.covariances[point].ended;
        let near = |other: usize| self.covariances[other].ended.abs_diff(ended) <= (self.n_ended - ended) / 8;
        let others = (0..self.n()).filter(|&other| other != point && near(other));
        let score = |at: usize| Moments { mean: means[at], variance: variances[at] }.upper(self.ahead.beta);
        let mut others: Vec<(f64, usize)> = others.map(|at| (score(at), at)).collect();
        if others.len() < SUMS - 1 {
            return None;
        }
        others.select_nth_unstable_by(SUMS - 2, |a, b| b.0.total_cmp(&a.0));
        Some(std::array::from_fn(|i| i.checked_sub(1).map_or(point, |i| others[i].1)))
    }

    /// Updates the covariances of several points, of which the first is played now, with the bits of [`Self::update`].
    fn update_together(&mut self, points: [usize; SUMS]) {
        let first = points.map(|point| self.covariances[point].ended).into_iter().max().unwrap_or(0);
        points.iter().for_each(|&point| self.update(point, first));
        let mut held = points.map(|point| std::mem::take(&mut self.covariances[point].values));
        let stride = held[0].len();
        let streaks = &self.ended[first * stride..];
        let weights: Vec<[f64; SUMS]> = streaks.chunks_exact(stride).map(|c| points.map(|point| -c[point])).collect();
        linalg::add_rows_to_each(&weights, streaks, &mut held);
        for (place, (point, values)) in points.into_iter().zip(held).enumerate() {
            self.covariances[point] = Covariances { ended: self.n_ended, is_ahead: 0 < place, values };
        }
        self.ahead.updated += SUMS - 1;
    }

    /// Returns `k_x - T^T T_x`, and zeros up to whole lanes.
    fn covariances_at_start(&self, point: usize) -> Vec<f64> {
        let mut column = vec![0.0; padded_length(self.n())];
        self.gram.column(point, 0, &mut column[..self.n()]);
        if 0 < self.start.n_rows() {
            let mut explained = vec![0.0; self.start.stride()];
            self.start.combine(&self.start.column(point), &mut explained);
            column.iter_mut().zip(&explained).for_each(|(k, explained)| *k -= explained);
        }
        column
    }

    /// Computes the moments of every point after the observations of the current streak.
    fn apply(&mut self) {
        let Some(streak) = &self.streak else { return };
        self.open_gain = gain(streak, self.open.variance, self.ridge);
        let covariances = self.covariances[streak.point as usize].values.as_slice();
        let denominator = self.ridge + streak.count as f64 * self.open.variance;
        let step = (streak.sum - streak.count as f64 * self.open.mean) / denominator;
        let fall = fall(streak, self.open.variance, self.ridge);
        let [before_means, before_variances] = &self.before;
        let (means, variances) = (self.means.as_mut_slice(), self.variances.as_mut_slice());
        apply_streak(covariances, before_means, before_variances, step, fall, means, variances);
    }

    /// Recomputes the state from the interactions; the caller has ended the current streak.
    ///
    /// Returns false and changes nothing if the factorization fails.
    fn start_anew(&mut self) -> bool {
        let (visits, n) = (&self.visits, self.n());
        let mut start = Columns::zeros(visits.n_distinct(), n);
        for (slot, &point) in visits.points.iter().enumerate() {
            self.gram.column(point as usize, 0, start.row_mut(slot));
        }
        let noise = visits.counts.iter().map(|&count| self.ridge / count as f64);
        let observed = visits.points.iter().map(|&point| point as usize).zip(noise);
        let Some(a) = observed_factor(&start, observed) else { return false };
        let mut weights: Vec<f64> = visits.sums.iter().zip(&visits.counts).map(|(sum, &count)| sum / count as f64).collect();
        linalg::solve_lower(&a, &mut weights);
        start.solve_lower(&a);
        let mut padded = vec![0.0; start.stride()];
        start.squares(&mut padded);
        for (point, (variance, explained)) in self.variances.iter_mut().zip(&padded).enumerate() {
            *variance = (self.gram.diagonal(point) - explained).max(0.0);
        }
        start.combine(&weights, &mut padded);
        self.means.copy_from_slice(&padded[..n]);
        self.before = [self.means.clone(), self.variances.clone()];
        self.start = start;
        self.ended.clear();
        self.n_ended = 0;
        self.covariances.fill(Covariances::default());
        true
    }
}

fn fall(streak: &CovarianceStreak, variance: f64, ridge: f64) -> f64 {
    streak.count as f64 / (ridge + streak.count as f64 * variance)
}

/// Returns the gain ½ ln(1 + j v / ridge) of a streak: the gains of its observations telescope.
fn gain(streak: &CovarianceStreak, variance: f64, ridge: f64) -> f64 {
    0.5 * libm::log1p(streak.count as f64 * variance / ridge)
}

vectorised! {
    fn apply_streak(
        covariances: &[f64],
        before_means: &[f64],
        before_variances: &[f64],
        step: f64,
        fall: f64,
        means: &mut [f64],
        variances: &mut [f64],
    ) {
        for ((mean, before), p) in means.iter_mut().zip(before_means).zip(covariances) {
            *mean = before + step * p;
        }
        for ((variance, before), p) in variances.iter_mut().zip(before_variances).zip(covariances) {
            let lower = before - fall * p * p;
            *variance = if 0.0 < lower { lower } else { 0.0 };
        }
    }
}

impl ScoreModel for CovariancePosterior {
    fn exact(&self, point: usize) -> Moments {
        Moments { mean: self.means[point], variance: self.variances[point] }
    }

    fn prior_variance_bound(&self) -> f64 {
        self.prior_bound
    }

    fn state_error(&self) -> StateError {
        // Scores are read from this table, so they have no error against it.
        StateError::default()
    }

    fn basis_points(&self) -> &[u32] {
        &self.visits.points
    }

    fn n_observations(&self) -> u64 {
        self.visits.n_observations()
    }

    fn table(&self) -> Option<MomentTable<'_>> {
        Some(MomentTable { means: &self.means, variances: &self.variances })
    }
}

impl Posterior for CovariancePosterior {
    fn observe(&mut self, point: usize, reward: f64) {
        let known = self.streak.is_some_and(|streak| streak.point as usize == point);
        if !known {
            self.end_streak();
            // On failure the state stays as it is, and more streaks are stored before the next attempt.
            if self.most_streaks <= self.n_ended && !self.start_anew() {
                self.most_streaks *= 2;
            }
        }
        // The reward is added below, as a part of the streak's sum.
        let (slot, _) = self.visits.add_likely(point, 0.0, Some(self.slots[point] as usize));
        if !known {
            self.slots[point] = slot as u32;
            self.begin_streak(point as u32, slot as u32);
        }
        if let Some(streak) = &mut self.streak {
            streak.count += 1;
            streak.sum += reward;
            self.visits.sums[slot] = self.sum_before + streak.sum;
        }
        self.apply();
        self.changed = true;
    }

    fn change(&self) -> Change<'_> {
        if self.changed { Change::Rebuild } else { Change::None }
    }

    fn screened(&mut self) {
        self.changed = false;
    }

    fn expect(&mut self, beta: f64) {
        self.ahead.beta = beta;
    }

    fn mean(&self, point: usize) -> f64 {
        self.means[point]
    }

    fn information_gain(&self) -> f64 {
        self.gain + self.open_gain
    }

    fn visits(&self) -> &Visits {
        &self.visits
    }

    fn basis(&self) -> Basis {
        Basis::Gram(Arc::clone(&self.gram))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Lengthscales, squared_exponential::SquaredExponential};
    use crate::{KernelGram, Points};
    use privateer_numerics::rng::{Purpose, Streams};

    /// Covariances that are updated ahead of a play, of points that come next or not, have the bits of updates one by one.
    #[test]
    fn updates_ahead_change_no_bit() {
        let kernel = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(0.4), 1.0));
        let mut draws = Streams::new(5, "ahead").of(0, Purpose::Function);
        let coordinates = (0..4 * 300).map(|_| draws.uniform()).collect();
        let gram: Arc<dyn GramSource> = Arc::new(KernelGram::new(kernel, Points::new(4, coordinates)));
        let start = || CovariancePosterior::new(Arc::clone(&gram), 1.0, 1.0);
        let (mut alone, mut ahead, mut wrong) = (start(), start(), start());
        for round in 0..900 {
            let table = |at: usize| alone.exact(at).upper(30.0);
            let point = (0..300).max_by(|&a, &b| table(a).total_cmp(&table(b))).unwrap_or(0);
            let reward = draws.normal();
            alone.ahead.updated = usize::MAX / 2;
            ahead.expect(30.0);
            wrong.expect(-30.0);
            for posterior in [&mut alone, &mut ahead, &mut wrong] {
                posterior.observe(point, reward);
            }
            for other in [&ahead, &wrong] {
                assert_eq!((&other.means, &other.variances), (&alone.means, &alone.variances), "{round}");
            }
        }
        let used = |posterior: &CovariancePosterior| posterior.ahead.used as f64 / posterior.ahead.updated as f64;
        assert!(0.6 < used(&ahead) && used(&wrong) < 0.4, "{} {}", used(&ahead), used(&wrong));
    }
}
