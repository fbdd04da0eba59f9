//! The exact posterior over the whole of a small domain: mean and spread² of every point at any time, and the posterior covariances
//! of a visited point with all others when that point is played.
//!
//! Observations come in runs of one point `x`. With `p` the covariances of `x` with all points, `v = p_x` and `m` the mean of `x`, all at
//! the run's start, `j` observations of sum `S` make
//!
//! `mean + a p`, `a = (S - j m) / (ridge + j v)`, `spread² - f p²`, `f = j / (ridge + j v)`:
//!
//! within a run nothing is added up, so nothing drifts. A run that has ended is kept as the vector `c = sqrt(f) p`: every
//! covariance fell by `c c^T`. The covariances of a point are brought up to date only when it is played, by the runs since
//! it was played last: `N` multiply-adds for each, few where the optimizer goes to and fro between few points, and never more for
//! all points together than a whole downdate of the covariance matrix.
//!
//! After [`RUNS_PER_POINT`]` N` runs everything starts anew from the visits: `A = K + ridge diag(1/count) = L L^T`, `T = L^{-1} K`,
//! `spread² = k - |T|²` a point. All is a function of the observations alone, hence the same bits on every path.

use super::{Posterior, Visits};
use crate::score::{Basis, Change, GramSource, MomentTable, Moments, ScoreModel};
use privateer_numerics::linalg::{self, Columns, wide};
use pulp::NullaryFnOnce;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Points up to which the whole domain is kept: covariances and runs take at most 6 MiB a trial.
const MOST_POINTS: usize = 256;

/// Smallest ridge, as a share of the prior variance. Downdates of covariances lose a few units in the last place of the prior
/// variance each; [`RUNS_PER_POINT`]` N` of them stay below 1e-9 of the spread² that 10⁴ observations of a point leave.
const LEAST_RIDGE: f64 = 1e-3;

/// Runs, as a multiple of `N`, after which everything is taken from the visits anew: that costs up to `5/6 N³` multiply-adds, a
/// tenth of `N²` for each of the runs.
const RUNS_PER_POINT: usize = 8;

/// The exact posterior of one trial over a small domain.
#[derive(Debug, Clone)]
pub struct CovariancePosterior {
    gram: Arc<dyn GramSource>,
    prior_bound: f64,
    state: CovarianceState,
    /// Those of `state.start` and of all runs since.
    visits: Visits,
    /// Sum of the rewards of the open run's point before it.
    sum_before: f64,
    /// Where the runs began: `T` over the points visited by then.
    start: Columns,
    /// Ended runs: `c` of each, `N` numbers.
    ended: Vec<f64>,
    /// By slot: how many ended runs the covariances of the point hold, and the covariances; empty before its first run.
    covariances: Vec<(usize, Vec<f64>)>,
    /// `v` and `m` of the open run.
    open: Moments,
    /// Moments of every point at the start of the open run.
    before: [Vec<f64>; 2],
    means: Vec<f64>,
    variances: Vec<f64>,
    /// Information gain without the open run.
    gain: f64,
    /// Ended runs at which to start anew.
    most_runs: usize,
    changed: bool,
}

/// What is saved: everything that cannot be derived from the problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CovarianceState {
    version: u32,
    form: Cow<'static, str>,
    ridge: f64,
    /// The visits where the runs began, and the information gain.
    start: Visits,
    start_gain: f64,
    /// Ended runs since.
    runs: Vec<CovarianceStreak>,
    run: Option<CovarianceStreak>,
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
            runs: Vec::new(),
            run: None,
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
            most_runs: RUNS_PER_POINT * n,
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
        let (runs, run, gain) = (std::mem::take(&mut state.runs), state.run.take(), state.start_gain);
        if run.is_none() && !runs.is_empty() {
            return Err(Error::custom("runs have ended and none is open"));
        }
        let mut posterior = Self::new(gram, prior_bound, state.ridge);
        posterior.visits = state.start.clone();
        posterior.state = state;
        if posterior.visits.n_distinct() != 0 && !posterior.start_anew() {
            return Err(Error::custom("the visits at the start of the runs have no posterior"));
        }
        (posterior.gain, posterior.state.start_gain) = (gain, gain);
        for saved in runs.iter().chain(&run) {
            posterior.end_run();
            let known = posterior.visits.slot(saved.point as usize);
            let slot = known.unwrap_or(posterior.visits.n_distinct());
            let count = known.map_or(0, |slot| posterior.visits.counts[slot]).checked_add(saved.count);
            let sound =
                (saved.point as usize) < posterior.n() && saved.slot as usize == slot && 0 < saved.count && saved.sum.is_finite();
            let Some(count) = count.filter(|_| sound) else {
                return Err(Error::custom("a run of the state is not possible"));
            };
            if known.is_none() {
                posterior.visits.add(saved.point as usize, 0.0);
            }
            posterior.begin_run(saved.point, saved.slot);
            posterior.visits.counts[slot] = count;
            posterior.visits.sums[slot] = posterior.sum_before + saved.sum;
            posterior.state.run = Some(*saved);
            posterior.apply();
        }
        posterior.visits.check(posterior.n()).map_err(Error::custom)?;
        if posterior.visits != visits {
            return Err(Error::custom("the runs of the state are not its visits"));
        }
        while posterior.most_runs <= posterior.state.runs.len() {
            posterior.most_runs *= 2;
        }
        posterior.changed = true;
        Ok(posterior)
    }

    fn n(&self) -> usize {
        self.means.len()
    }

    /// Takes the open run among the ended ones.
    fn end_run(&mut self) {
        let Some(run) = self.state.run.take() else { return };
        self.gain += gain(&run, self.open.variance, self.state.ridge);
        let root = fall(&run, self.open.variance, self.state.ridge).sqrt();
        let (_, covariances) = &self.covariances[run.slot as usize];
        self.ended.extend(covariances.iter().map(|p| root * p));
        self.before[0].copy_from_slice(&self.means);
        self.before[1].copy_from_slice(&self.variances);
        self.state.runs.push(run);
    }

    /// Opens a run without observations: brings the covariances of its point up to date.
    fn begin_run(&mut self, point: u32, slot: u32) {
        let (n, at) = (self.n(), slot as usize);
        if self.covariances.len() <= at {
            self.covariances.resize(at + 1, (0, Vec::new()));
        }
        let (held, mut covariances) = std::mem::take(&mut self.covariances[at]);
        if covariances.is_empty() {
            covariances = self.covariances_at_start(point as usize);
        }
        let n_ended = self.state.runs.len();
        wide(CatchUp { covariances: &mut covariances, ended: &self.ended[held * n..n_ended * n], point: point as usize });
        self.open = Moments { mean: self.before[0][point as usize], variance: covariances[point as usize].max(0.0) };
        self.covariances[at] = (n_ended, covariances);
        self.sum_before = self.visits.sums[at];
        self.state.run = Some(CovarianceStreak { slot, point, count: 0, sum: 0.0 });
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

    /// Moments of every point after the open run so far.
    fn apply(&mut self) {
        let Some(run) = &self.state.run else { return };
        let covariances = self.covariances[run.slot as usize].1.as_slice();
        let denominator = self.state.ridge + run.count as f64 * self.open.variance;
        let step = (run.sum - run.count as f64 * self.open.mean) / denominator;
        let fall = fall(run, self.open.variance, self.state.ridge);
        let [before_means, before_variances] = &self.before;
        let (means, variances) = (self.means.as_mut_slice(), self.variances.as_mut_slice());
        wide(ApplyStreak { covariances, before_means, before_variances, step, fall, means, variances });
    }

    /// Takes everything from the visits, which no open run is part of. Returns false, changing nothing, if that fails.
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
        self.state.runs.clear();
        self.covariances.clear();
        self.state.start = self.visits.clone();
        self.state.start_gain = self.gain;
        true
    }
}

/// `f` of a run.
fn fall(run: &CovarianceStreak, variance: f64, ridge: f64) -> f64 {
    run.count as f64 / (ridge + run.count as f64 * variance)
}

/// ½ ln(1 + j v / ridge): the gains of a run's observations telescope.
fn gain(run: &CovarianceStreak, variance: f64, ridge: f64) -> f64 {
    0.5 * libm::log1p(run.count as f64 * variance / ridge)
}

/// Takes ended runs, in their order, from the covariances of a point.
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
            let runs = a.iter().zip(b).zip(c).zip(d);
            for (value, (((a, b), c), d)) in covariances.iter_mut().zip(runs) {
                // One after the other: the bits do not depend on how many are taken at once.
                *value = *value - ap * a - bp * b - cp * c - dp * d;
            }
        }
        for run in rest.chunks_exact(n) {
            let at = run[point];
            for (value, c) in covariances.iter_mut().zip(run) {
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
        let known = self.state.run.is_some_and(|run| run.point as usize == point);
        if !known {
            self.end_run();
            // A failure leaves all as it is, and more runs to be kept.
            if self.most_runs <= self.state.runs.len() && !self.start_anew() {
                self.most_runs *= 2;
            }
        }
        // The sum is added below: by runs, so that a state without it gives the same bits.
        let (slot, _) = self.visits.add(point, 0.0);
        if !known {
            self.begin_run(point as u32, slot as u32);
        }
        if let Some(run) = &mut self.state.run {
            run.count += 1;
            run.sum += reward;
            self.visits.sums[slot] = self.sum_before + run.sum;
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
        self.gain + self.state.run.as_ref().map_or(0.0, |run| gain(run, self.open.variance, self.state.ridge))
    }

    fn visits(&self) -> &Visits {
        &self.visits
    }

    fn basis(&self) -> Basis {
        Basis::Gram(Arc::clone(&self.gram))
    }

    fn save(&self) -> serde_json::Value {
        let mut state = serde_json::json!(self.state);
        // They follow from the rest; whoever reads a state need not add up runs.
        state["visits"] = serde_json::json!(self.visits);
        state
    }
}
