//! The exact posterior over the whole of a small domain: mean and spread² of every point at any time, and the posterior covariances
//! of a visited point with all others when that point is played.
//!
//! Observations come in streaks of one point `x`. With `p` the covariances of `x` with all points, `v = p_x` and `m` the mean of `x`, all at
//! the streak's start, `j` observations of sum `S` make
//!
//! `mean + a p`, `a = (S - j m) / (ridge + j v)`, `spread² - f p²`, `f = j / (ridge + j v)`:
//!
//! within a streak nothing is added up, so nothing drifts. A streak that has ended is kept as the vector `c = sqrt(f) p`: every
//! covariance fell by `c c^T`. The covariances of a point are brought up to date only when it is played, by the streaks since
//! it was played last: `N` multiply-adds for each, few where the optimizer goes to and fro between few points, and never more for
//! all points together than a whole downdate of the covariance matrix.
//!
//! After [`STREAKS_PER_POINT`]` N` streaks everything starts anew from the visits: `A = K + ridge diag(1/count) = L L^T`, `T = L^{-1} K`,
//! `spread² = k - |T|²` a point. All is a function of the observations alone, hence the same bits on every path.

use super::{Posterior, Visits};
use crate::score::{Basis, Change, GramSource, MomentTable, Moments, ScoreModel};
use privateer_numerics::linalg::{self, Columns, wide};
use pulp::NullaryFnOnce;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Points up to which the whole domain is kept: covariances and streaks take at most 6 MiB a trial.
const MOST_POINTS: usize = 256;

/// Smallest ridge, as a share of the prior variance. Downdates of covariances lose a few units in the last place of the prior
/// variance each; [`STREAKS_PER_POINT`]` N` of them stay below 1e-9 of the spread² that 10⁴ observations of a point leave.
const LEAST_RIDGE: f64 = 1e-3;

/// Streaks, as a multiple of `N`, after which everything is taken from the visits anew: that costs up to `5/6 N³` multiply-adds, a
/// tenth of `N²` for each of the streaks.
const STREAKS_PER_POINT: usize = 8;

/// The exact posterior of one trial over a small domain.
#[derive(Debug, Clone)]
pub struct CovariancePosterior {
    gram: Arc<dyn GramSource>,
    prior_bound: f64,
    state: CovarianceState,
    /// Those of `state.start` and of all streaks since.
    visits: Visits,
    /// Sum of the rewards of the open streak's point before it.
    sum_before: f64,
    /// Where the streaks began: `T` over the points visited by then.
    start: Columns,
    /// Ended streaks: `c` of each, `N` numbers.
    ended: Vec<f64>,
    /// By slot: how many ended streaks the covariances of the point hold, and the covariances; empty before its first streak.
    covariances: Vec<(usize, Vec<f64>)>,
    /// `v` and `m` of the open streak.
    open: Moments,
    /// Moments of every point at the start of the open streak.
    before: [Vec<f64>; 2],
    means: Vec<f64>,
    variances: Vec<f64>,
    /// Information gain without the open streak.
    gain: f64,
    /// Ended streaks at which to start anew.
    most_streaks: usize,
    changed: bool,
}

/// What is saved: everything that cannot be derived from the problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CovarianceState {
    version: u32,
    form: Cow<'static, str>,
    ridge: f64,
    /// The visits where the streaks began, and the information gain.
    start: Visits,
    start_gain: f64,
    /// Ended streaks since.
    streaks: Vec<CovarianceStreak>,
    streak: Option<CovarianceStreak>,
}

/// Observations of one point in a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct CovarianceStreak {
    slot: u32,
    point: u32,
    /// `j` and `S`.
    count: u64,
    sum: f64,
}

const FORM: &str = "covariance";

impl CovariancePosterior {
    /// Whether this form suits a domain of `n_points` with this bound on the prior variance and this ridge: else
    /// [`super::ExactPosterior`] does.
    #[must_use]
    pub fn suits(n_points: usize, prior_bound: f64, ridge: f64) -> bool {
        (1..=MOST_POINTS).contains(&n_points) && LEAST_RIDGE * prior_bound <= ridge
    }

    /// Whether a saved state is one of this form.
    #[must_use]
    pub fn saved(state: &serde_json::Value) -> bool {
        state["form"] == FORM
    }

    /// The prior over this domain, with noise variance `ridge > 0` and the [`super::ExactPosterior::prior_bound`] of the domain.
    #[must_use]
    pub fn new(gram: Arc<dyn GramSource>, prior_bound: f64, ridge: f64) -> Self {
        let state = CovarianceState {
            version: 1,
            form: Cow::Borrowed(FORM),
            ridge,
            start: Visits::default(),
            start_gain: 0.0,
            streaks: Vec::new(),
            streak: None,
        };
        let n = gram.n_points();
        let variances: Vec<f64> = (0..n).map(|point| gram.diagonal(point)).collect();
        Self {
            gram,
            prior_bound,
            state,
            visits: Visits::default(),
            sum_before: 0.0,
            start: Columns::zeros(0, n),
            ended: Vec::new(),
            covariances: Vec::new(),
            open: Moments { mean: 0.0, variance: 0.0 },
            before: [vec![0.0; n], variances.clone()],
            means: vec![0.0; n],
            variances,
            gain: 0.0,
            most_streaks: STREAKS_PER_POINT * n,
            changed: false,
        }
    }

    /// The posterior whose state was saved, over the same domain.
    ///
    /// # Errors
    /// If the value is not a saved state of this form and version, or does not hang together.
    pub fn restore(gram: Arc<dyn GramSource>, prior_bound: f64, mut saved: serde_json::Value) -> Result<Self, serde_json::Error> {
        use serde::de::Error;
        let visits: Visits = serde_json::from_value(saved["visits"].take())?;
        let mut state: CovarianceState = serde_json::from_value(saved)?;
        if state.version != 1 || state.form != FORM {
            return Err(Error::custom(format!(
                "the posterior's state is \"{}\", version {}; this program reads \"{FORM}\", version 1",
                state.form, state.version
            )));
        }
        if !(0.0 < state.ridge && state.ridge.is_finite() && 0.0 <= state.start_gain && state.start_gain.is_finite()) {
            return Err(Error::custom("ridge or gain are not possible"));
        }
        state.start.check(gram.n_points()).map_err(Error::custom)?;
        let (streaks, streak, gain) = (std::mem::take(&mut state.streaks), state.streak.take(), state.start_gain);
        if streak.is_none() && !streaks.is_empty() {
            return Err(Error::custom("streaks have ended and none is open"));
        }
        let mut posterior = Self::new(gram, prior_bound, state.ridge);
        posterior.visits = state.start.clone();
        posterior.state = state;
        if posterior.visits.n_distinct() != 0 && !posterior.start_anew() {
            return Err(Error::custom("the visits at the start of the streaks have no posterior"));
        }
        (posterior.gain, posterior.state.start_gain) = (gain, gain);
        for saved in streaks.iter().chain(&streak) {
            posterior.end_streak();
            let known = posterior.visits.slot(saved.point as usize);
            let slot = known.unwrap_or(posterior.visits.n_distinct());
            let count = known.map_or(0, |slot| posterior.visits.counts[slot]).checked_add(saved.count);
            let sound =
                (saved.point as usize) < posterior.n() && saved.slot as usize == slot && 0 < saved.count && saved.sum.is_finite();
            let Some(count) = count.filter(|_| sound) else {
                return Err(Error::custom("a streak of the state is not possible"));
            };
            if known.is_none() {
                posterior.visits.add(saved.point as usize, 0.0);
            }
            posterior.begin_streak(saved.point, saved.slot);
            posterior.visits.counts[slot] = count;
            posterior.visits.sums[slot] = posterior.sum_before + saved.sum;
            posterior.state.streak = Some(*saved);
            posterior.apply();
        }
        posterior.visits.check(posterior.n()).map_err(Error::custom)?;
        if posterior.visits != visits {
            return Err(Error::custom("the streaks of the state are not its visits"));
        }
        while posterior.most_streaks <= posterior.state.streaks.len() {
            posterior.most_streaks *= 2;
        }
        posterior.changed = true;
        Ok(posterior)
    }

    fn n(&self) -> usize {
        self.means.len()
    }

    /// Takes the open streak among the ended ones.
    fn end_streak(&mut self) {
        let Some(streak) = self.state.streak.take() else { return };
        self.gain += gain(&streak, self.open.variance, self.state.ridge);
        let root = fall(&streak, self.open.variance, self.state.ridge).sqrt();
        let (_, covariances) = &self.covariances[streak.slot as usize];
        self.ended.extend(covariances.iter().map(|p| root * p));
        self.before[0].copy_from_slice(&self.means);
        self.before[1].copy_from_slice(&self.variances);
        self.state.streaks.push(streak);
    }

    /// Opens a streak without observations: brings the covariances of its point up to date.
    fn begin_streak(&mut self, point: u32, slot: u32) {
        let (n, at) = (self.n(), slot as usize);
        if self.covariances.len() <= at {
            self.covariances.resize(at + 1, (0, Vec::new()));
        }
        let (held, mut covariances) = std::mem::take(&mut self.covariances[at]);
        if covariances.is_empty() {
            covariances = self.covariances_at_start(point as usize);
        }
        let n_ended = self.state.streaks.len();
        wide(CatchUp { covariances: &mut covariances, ended: &self.ended[held * n..n_ended * n], point: point as usize });
        self.open = Moments { mean: self.before[0][point as usize], variance: covariances[point as usize].max(0.0) };
        self.covariances[at] = (n_ended, covariances);
        self.sum_before = self.visits.sums[at];
        self.state.streak = Some(CovarianceStreak { slot, point, count: 0, sum: 0.0 });
    }

    /// `k_x - T^T T_x`.
    fn covariances_at_start(&self, point: usize) -> Vec<f64> {
        let mut column = vec![0.0; self.n()];
        self.gram.column(point, 0, &mut column);
        if 0 < self.start.n_rows() {
            let mut explained = vec![0.0; self.start.stride()];
            self.start.combine(&self.start.column(point), &mut explained);
            column.iter_mut().zip(&explained).for_each(|(k, explained)| *k -= explained);
        }
        column
    }

    /// Moments of every point after the open streak so far.
    fn apply(&mut self) {
        let Some(streak) = &self.state.streak else { return };
        let covariances = self.covariances[streak.slot as usize].1.as_slice();
        let denominator = self.state.ridge + streak.count as f64 * self.open.variance;
        let step = (streak.sum - streak.count as f64 * self.open.mean) / denominator;
        let fall = fall(streak, self.open.variance, self.state.ridge);
        let [before_means, before_variances] = &self.before;
        let (means, variances) = (self.means.as_mut_slice(), self.variances.as_mut_slice());
        wide(ApplyStreak { covariances, before_means, before_variances, step, fall, means, variances });
    }

    /// Takes everything from the visits, which no open streak is part of. Returns false, changing nothing, if that fails.
    fn start_anew(&mut self) -> bool {
        let (visits, n) = (&self.visits, self.n());
        let k = visits.n_distinct();
        let mut start = Columns::zeros(k, n);
        for (slot, &point) in visits.points.iter().enumerate() {
            self.gram.column(point as usize, 0, start.row_mut(slot));
        }
        let mut a = vec![0.0; k * k];
        for i in 0..k {
            for (j, &point) in visits.points[..=i].iter().enumerate() {
                a[i * k + j] = start.row(i)[point as usize];
            }
            a[i * k + i] += self.state.ridge / visits.counts[i] as f64;
        }
        if linalg::cholesky(&mut a, k).is_err() {
            return false;
        }
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
        self.state.streaks.clear();
        self.covariances.clear();
        self.state.start = self.visits.clone();
        self.state.start_gain = self.gain;
        true
    }
}

/// `f` of a streak.
fn fall(streak: &CovarianceStreak, variance: f64, ridge: f64) -> f64 {
    streak.count as f64 / (ridge + streak.count as f64 * variance)
}

/// ½ ln(1 + j v / ridge): the gains of a streak's observations telescope.
fn gain(streak: &CovarianceStreak, variance: f64, ridge: f64) -> f64 {
    0.5 * libm::log1p(streak.count as f64 * variance / ridge)
}

/// Takes ended streaks, in their order, from the covariances of a point.
struct CatchUp<'a> {
    covariances: &'a mut [f64],
    ended: &'a [f64],
    point: usize,
}

impl NullaryFnOnce for CatchUp<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { covariances, ended, point } = self;
        let n = covariances.len();
        let fours = ended.chunks_exact(4 * n);
        let rest = fours.remainder();
        for four in fours {
            let (a, four) = four.split_at(n);
            let (b, four) = four.split_at(n);
            let (c, d) = four.split_at(n);
            let (ap, bp, cp, dp) = (a[point], b[point], c[point], d[point]);
            let streaks = a.iter().zip(b).zip(c).zip(d);
            for (value, (((a, b), c), d)) in covariances.iter_mut().zip(streaks) {
                // One after the other: the bits do not depend on how many are taken at once.
                *value = *value - ap * a - bp * b - cp * c - dp * d;
            }
        }
        for streak in rest.chunks_exact(n) {
            let at = streak[point];
            for (value, c) in covariances.iter_mut().zip(streak) {
                *value -= at * c;
            }
        }
    }
}

struct ApplyStreak<'a> {
    covariances: &'a [f64],
    before_means: &'a [f64],
    before_variances: &'a [f64],
    step: f64,
    fall: f64,
    means: &'a mut [f64],
    variances: &'a mut [f64],
}

impl NullaryFnOnce for ApplyStreak<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { covariances, before_means, before_variances, step, fall, means, variances } = self;
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

    fn state_error(&self) -> Moments {
        // The table is what the scores are.
        Moments { mean: 0.0, variance: 0.0 }
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
        let known = self.state.streak.is_some_and(|streak| streak.point as usize == point);
        if !known {
            self.end_streak();
            // A failure leaves all as it is, and more streaks to be kept.
            if self.most_streaks <= self.state.streaks.len() && !self.start_anew() {
                self.most_streaks *= 2;
            }
        }
        // The sum is added below: by streaks, so that a state without it gives the same bits.
        let (slot, _) = self.visits.add(point, 0.0);
        if !known {
            self.begin_streak(point as u32, slot as u32);
        }
        if let Some(streak) = &mut self.state.streak {
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

    fn mean(&self, point: usize) -> f64 {
        self.means[point]
    }

    fn information_gain(&self) -> f64 {
        self.gain + self.state.streak.as_ref().map_or(0.0, |streak| gain(streak, self.open.variance, self.state.ridge))
    }

    fn visits(&self) -> &Visits {
        &self.visits
    }

    fn basis(&self) -> Basis {
        Basis::Gram(Arc::clone(&self.gram))
    }

    fn save(&self) -> serde_json::Value {
        let mut state = serde_json::json!(self.state);
        // They follow from the rest; whoever reads a state need not add up streaks.
        state["visits"] = serde_json::json!(self.visits);
        state
    }
}
