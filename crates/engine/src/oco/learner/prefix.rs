//! Runs learners that see gradients as noisy prefix sums alone: DP-FTRL, and algorithms from outside.
//!
//! A trusted privatizer holds the samples and releases the noisy sum of all gradients so far; what a learner makes of the sums is
//! post-processing, so that the ledger is the same for all.

use super::{GradientRequest, LearnerBatch, LearnerPlan, LearnerStreams, PreparedLearner, Setting};
use crate::oco::set::ConstraintSet;
use privateer_config::error::{Error, guarded};
use privateer_config::facts::Facts;
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::{Participation, from_lq};
use privateer_privacy::gradients::{GradientQuery, PrefixGradients, Sample, SampleStore, Start, Terms};
use privateer_privacy::{Raw, Refusal};
use std::sync::Arc;

/// Why an algorithm cannot go on; the run ends with its message.
pub type LearnerFailure = Box<dyn std::error::Error + Send + Sync>;

/// Learns from noisy prefix sums of gradients, for several trials whose vectors follow one another.
///
/// What is learned in one trial should not depend on the others.
pub trait SumsLearner: Send {
    /// Returns the points of the set at which the next gradients are taken, float[trials · dimension].
    fn points(&self) -> &[f64];

    /// Learns the noisy sum of all gradients so far of each trial, float[trials · dimension].
    ///
    /// # Errors
    /// Whatever keeps the algorithm from going on; the run ends.
    fn learn(&mut self, sums: &[f64]) -> Result<(), LearnerFailure>;

    /// Returns the current answers, points of the set; the points of the next gradients unless stated.
    fn answers(&self) -> &[f64] {
        self.points()
    }
}

/// States what is publicly known before the first sample.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SumsStart {
    /// The set of parameters.
    pub set: Arc<dyn ConstraintSet>,
    /// Number of trials.
    pub n_trials: usize,
    /// Number of gradients in a trial.
    pub steps: u64,
    /// The learning rate of the spec.
    pub learning_rate: f64,
    /// Half of the set's diameter, in the Euclidean norm.
    pub radius: f64,
    /// Bound on the Euclidean length of a gradient; what the spec states where nothing is clipped.
    pub lipschitz: f64,
    /// Root mean square of the Euclidean length of the noise on a prefix sum, at most; 0 without noise.
    pub noise: f64,
}

type MakeSums = dyn Fn(&SumsStart) -> Box<dyn SumsLearner> + Send + Sync;

/// Describes a learner from outside that sees noisy prefix sums of gradients and nothing else.
///
/// Its ledger is that of the sums, by post-processing, and says that the algorithm is not this program's.
pub struct OwnLearner(SumsPlan);

impl OwnLearner {
    /// Describes a learner; `make` is called once for each trial, so that no bit depends on the trials beside it.
    pub fn of_sums<L: SumsLearner + 'static>(
        make: impl Fn(&SumsStart) -> Result<L, LearnerFailure> + Send + Sync + 'static,
    ) -> Self {
        let begin = move |start: &SumsStart| Checked::begin(start, |start| Ok(Box::new(make(start)?)));
        let make = move |start: &SumsStart| -> Box<dyn SumsLearner> {
            let alone = SumsStart { n_trials: 1, ..start.clone() };
            Box::new(Apart::of((0..start.n_trials).map(|_| begin(&alone)).collect()))
        };
        let note = "the learner is foreign code: it received released sums alone";
        Self(SumsPlan { passes: 1, note: Some(note), facts: |_| Facts::default(), make: Arc::new(make) })
    }
}

impl From<OwnLearner> for LearnerPlan {
    fn from(OwnLearner(plan): OwnLearner) -> Self {
        plan.into()
    }
}

pub(super) struct SumsPlan {
    pub(super) passes: u64,
    pub(super) note: Option<&'static str>,
    /// Returns what the manifest must record beside the learning rate, as (name, value).
    pub(super) facts: fn(&SumsStart) -> Facts,
    pub(super) make: Arc<MakeSums>,
}

impl From<SumsPlan> for LearnerPlan {
    fn from(plan: SumsPlan) -> Self {
        Self::new(true, move |setting, request, learning_rate| prepare(&plan, setting, request, learning_rate))
    }
}

fn prepare(
    plan: &SumsPlan,
    setting: &Setting,
    request: &GradientRequest,
    learning_rate: f64,
) -> Result<PreparedLearner, Refusal> {
    let passes = plan.passes;
    let n_samples = setting.rounds;
    let of_user = request.spec.budget.participation;
    if 1 < passes && 1 < of_user.count {
        let message = "several samples of one user in several passes have no stated distance between passes";
        return Err(Refusal::new("passes", message, "`passes = 1`, or `participations = 1` and no smaller `population`"));
    }
    // One sample enters once in each pass.
    let participation = if 1 < passes { Participation { count: passes, separation: n_samples } } else { of_user };
    let steps = n_samples.saturating_mul(passes);
    let terms = Terms { rounds: steps, ..request.terms(setting)? };
    let is_private = terms.budget.is_some();
    if is_private && 1 < participation.count && !terms.calibration.corrects() {
        let message = "the as-printed noise is for one sample of a user, used once";
        return Err(Refusal::new("calibration", message, "`calibration = \"tight\"` or `\"corrected\"`"));
    }
    let generalized = request.generalized()?;
    let factorisation = request.factorisation(steps, participation)?;
    let priced = terms.plain_sum_noise(generalized, factorisation.as_ref(), participation)?;
    let name = GradientRequest::vector_name(generalized, is_private);
    let used = match (passes, of_user) {
        (1, Participation { count: 1, .. }) => "each sample is used once".to_owned(),
        (1, Participation { count, separation }) => {
            format!("one user may give {count} samples, any two of them at least {separation} rounds apart")
        }
        _ => format!("each sample is used {passes} times, once in each pass; samples are kept until the end"),
    };
    let notes: Vec<&str> = std::iter::once(used.as_str()).chain(plan.note).collect();
    let (claim, law) = request.claim(&terms, name, priced, false, &notes);
    let (d, p) = (terms.dimension, terms.norm.exponent());
    let euclidean = |size: f64, exponent: f64| from_lq(size, exponent, d);
    let start = SumsStart {
        set: Arc::clone(&setting.set),
        n_trials: 0,
        steps,
        learning_rate,
        radius: euclidean(0.5 * terms.actual.diameter, p),
        lipschitz: euclidean(terms.lipschitz(), terms.norm.dual().exponent()),
        noise: law.length(d) * libm::sqrt(factorisation.largest_variance()),
    };
    let mut facts = Facts::from([("learning rate", learning_rate.into())]);
    facts.extend((plan.facts)(&start));
    if is_private {
        facts.push("prefix sums", factorisation.name());
    }
    let (gradient, clip, server) = (request.gradient(setting), terms.bounds(learning_rate), Arc::clone(&plan.make));
    let make = move |n_trials| {
        let noise = law.sampler().map(|law| (factorisation.as_ref(), law));
        let privatizer = PrefixGradients::new(n_trials, Arc::clone(&gradient), d, Start::Never, clip, noise);
        let stores = if 1 < passes { vec![SampleStore::new(d); n_trials] } else { Vec::new() };
        let server = server(&SumsStart { n_trials, ..start.clone() });
        Box::new(PrefixLearner { privatizer, server, dimension: d, stores, n_samples, passes, round: 0 }) as Box<dyn LearnerBatch>
    };
    Ok(PreparedLearner { make: Box::new(make), claim, facts })
}

/// Runs the privatizer and the server of several trials together; their vectors follow one another.
pub struct PrefixLearner {
    privatizer: PrefixGradients,
    server: Box<dyn SumsLearner>,
    dimension: usize,
    /// The samples of each trial, for further passes.
    stores: Vec<SampleStore>,
    n_samples: u64,
    passes: u64,
    round: u64,
}

impl PrefixLearner {
    /// Creates a run of one pass.
    pub fn new(privatizer: PrefixGradients, server: Box<dyn SumsLearner>, dimension: usize) -> Self {
        Self { privatizer, server, dimension, stores: Vec::new(), n_samples: 0, passes: 1, round: 0 }
    }

    fn step<'s>(
        &mut self,
        samples: impl IntoIterator<Item = Raw<Sample<'s>>>,
        streams: &mut [LearnerStreams],
    ) -> Result<(), Error> {
        let mut noises: Vec<&mut Stream> = streams.iter_mut().map(|streams| &mut streams.mechanism).collect();
        let points = self.server.points();
        let query = GradientQuery { now: points, before: points };
        let sums = self.privatizer.release(query, samples, &mut noises);
        let sums =
            sums.map_err(|exhausted| Error::Failed { problem: exhausted.to_string(), hint: "raise `rounds`".to_owned() })?;
        let sums = sums.value();
        sums.chunks_exact(self.dimension).zip(streams).for_each(|(sum, streams)| streams.heard(sum));
        self.round += 1;
        self.server.learn(sums).map_err(|why| Error::Failed {
            problem: format!("a learner from outside failed in round {}: {why}", self.round),
            hint: "finished blocks are kept; mend the learner, and the same run resumes".to_owned(),
        })
    }
}

impl LearnerBatch for PrefixLearner {
    fn observe_all(&mut self, samples: Vec<Raw<Sample<'_>>>, streams: &mut [LearnerStreams]) -> Result<(), Error> {
        if self.passes <= 1 {
            return self.step(samples, streams);
        }
        let mut stores = std::mem::take(&mut self.stores);
        stores.iter_mut().zip(samples).for_each(|(store, sample)| store.keep(sample));
        let n_kept = stores.first().map_or(0, SampleStore::count);
        let further = if n_kept as u64 == self.n_samples { self.passes - 1 } else { 0 };
        for at in (n_kept.saturating_sub(1)..n_kept).chain((0..further).flat_map(|_| 0..n_kept)) {
            self.step(stores.iter().filter_map(|store| store.sample(at)), streams)?;
        }
        self.stores = stores;
        Ok(())
    }

    fn iterate_of(&self, trial: usize) -> &[f64] {
        let d = self.dimension;
        &self.server.answers()[trial * d..(trial + 1) * d]
    }
}

/// Algorithms from outside, one for each trial.
struct Apart {
    each: Vec<Checked>,
    points: Vec<f64>,
    answers: Vec<f64>,
}

impl Apart {
    fn of(each: Vec<Checked>) -> Self {
        let mut apart = Self { each, points: Vec::new(), answers: Vec::new() };
        apart.gather();
        apart
    }

    fn gather(&mut self) {
        self.points.clear();
        self.answers.clear();
        for one in &self.each {
            self.points.extend_from_slice(&one.points);
            self.answers.extend_from_slice(&one.answers);
        }
    }
}

impl SumsLearner for Apart {
    fn points(&self) -> &[f64] {
        &self.points
    }

    fn learn(&mut self, sums: &[f64]) -> Result<(), LearnerFailure> {
        let d = sums.len() / self.each.len().max(1);
        self.each.iter_mut().zip(sums.chunks_exact(d.max(1))).try_for_each(|(one, sums)| one.learn(sums))?;
        self.gather();
        Ok(())
    }

    fn answers(&self) -> &[f64] {
        &self.answers
    }
}

/// An algorithm from outside in one trial: its points and answers are projected onto the set, and its panics become messages.
struct Checked {
    set: Arc<dyn ConstraintSet>,
    /// The algorithm, or why it could not begin.
    inner: Result<Box<dyn SumsLearner>, String>,
    points: Vec<f64>,
    answers: Vec<f64>,
}

impl Checked {
    fn begin(start: &SumsStart, make: impl FnOnce(&SumsStart) -> Result<Box<dyn SumsLearner>, LearnerFailure>) -> Self {
        let points = start.set.centre();
        let inner = guarded(|| make(start));
        let mut begun = Self { set: Arc::clone(&start.set), inner, answers: points.clone(), points };
        if let Err(why) = begun.take() {
            begun.inner = Err(why);
        }
        begun
    }

    fn take(&mut self) -> Result<(), String> {
        let Ok(inner) = &self.inner else { return Ok(()) };
        let given = guarded(|| Ok([("points", inner.points().to_vec()), ("answers", inner.answers().to_vec())]))?;
        for ((what, mut given), kept) in given.into_iter().zip([&mut self.points, &mut self.answers]) {
            if given.len() != kept.len() || !given.iter().all(|number| number.is_finite()) {
                let (found, expected) = (given.len(), kept.len());
                return Err(format!("its {what} are {found} numbers, expected {expected} that are finite"));
            }
            if !self.set.contains(&given, 0.0) {
                self.set.project(&mut given);
            }
            *kept = given;
        }
        Ok(())
    }

    fn learn(&mut self, sums: &[f64]) -> Result<(), String> {
        let inner = self.inner.as_mut().map_err(|why| why.clone())?;
        guarded(|| inner.learn(sums))?;
        self.take()
    }
}
