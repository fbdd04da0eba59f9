//! Implements DP-FTRL (Kairouz2021): follow the regularised leader on noisy prefix sums of gradients.
//!
//! `theta_(t+1)` is the minimizer over the set of `<theta, noisy sum of grad_1 … grad_t> + lambda |theta - centre|_2²/2`: the
//! projection of `centre - sum/lambda`. The answer is the mean of `theta_2 … theta_(t+1)`, or the last of them. Further passes
//! over the samples follow the last one. Step and regret: `docs/derivations/dp-ftrl.md`.

use super::{GradientRequest, LearnerBatch, LearnerPlan, LearnerStreams, PreparedLearner, Setting};
use crate::oco::set::ConstraintSet;
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::{Participation, from_lq};
use privateer_privacy::gradients::{GradientQuery, PrefixGradients, Sample, SampleStore, Start, Terms};
use privateer_privacy::{ClaimUnit, Raw, Refusal};
use std::sync::Arc;

/// Holds the keys of this learner.
#[derive(Debug, Clone, Copy)]
struct FtrlKeys {
    answers_mean: bool,
    passes: u64,
    of_user: Participation,
}

/// Reads `answer`, `passes`, `participations` and `separation`.
pub(super) fn parse(args: &Args<'_>) -> LearnerPlan {
    let answer =
        args.word("answer", "what is answered: the mean of the iterates, or the last one", &["mean", "last"], Some("mean"));
    let passes = args.count("passes", "passes over the samples; further ones follow the last sample").between(1, 1000).or(1);
    let count = args.count("participations", "samples of one user that the budget covers").between(1, 1_000_000).or(1);
    let separation = args.count("separation", "least distance of a user's samples, in rounds").between(1, 1 << 40).or(1);
    if count == 1 && args.has("separation") {
        args.reject(
            "separation",
            "one sample of a user has no distance to another",
            "`participations` above 1, or no `separation`",
        );
    }
    let keys = FtrlKeys { answers_mean: answer == "mean", passes, of_user: Participation { count, separation } };
    LearnerPlan::new(true, move |setting, request, learning_rate| prepare(keys, setting, request, learning_rate))
}

/// Returns the step `1/lambda = lr R/sqrt(n L (L + 2 b))`, which minimises the bound on the regret at `lr = 1`.
///
/// * `radius` — R: half of the set's diameter
/// * `lipschitz` — L: bound on a gradient, in the Euclidean norm as R
/// * `noise` — b: root mean square of the noise on a prefix, at most
#[must_use]
pub fn step(learning_rate: f64, radius: f64, lipschitz: f64, noise: f64, n: u64) -> f64 {
    learning_rate * radius / libm::sqrt(n as f64 * lipschitz * (lipschitz + 2.0 * noise))
}

fn prepare(keys: FtrlKeys, setting: &Setting, request: &GradientRequest, learning_rate: f64) -> Result<PreparedLearner, Refusal> {
    let FtrlKeys { answers_mean, passes, of_user } = keys;
    let n_samples = setting.rounds;
    if 1 < passes && 1 < of_user.count {
        let message = "several samples of one user in several passes have no stated distance between passes";
        return Err(Refusal::new("passes", message, "`passes = 1`, or `participations = 1`"));
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
    let factorisation = request.factorisation(steps)?;
    let priced = terms.plain_sum_noise(generalized, factorisation.as_ref(), participation)?;
    let name = GradientRequest::vector_name(generalized, is_private);
    let note = match (passes, of_user) {
        (1, Participation { count: 1, .. }) => "each sample is used once".to_owned(),
        (1, Participation { count, separation }) => {
            format!("one user may give {count} samples, any two of them at least {separation} rounds apart")
        }
        _ => format!("each sample is used {passes} times, once in each pass; samples are kept until the end"),
    };
    let (mut claim, law) = request.claim(&terms, name, priced, false, &[note.as_str()]);
    if let ClaimUnit::Sample { covered, .. } = &mut claim.unit {
        *covered = of_user.count;
    }
    let (d, p) = (terms.dimension, terms.norm.exponent());
    let euclidean = |size: f64, exponent: f64| from_lq(size, exponent, d);
    let noise = law.length(d) * libm::sqrt(factorisation.largest_variance());
    let lipschitz = euclidean(terms.lipschitz(), terms.norm.dual().exponent());
    let eta = step(learning_rate, euclidean(0.5 * terms.actual.diameter, p), lipschitz, noise, steps);
    let mut facts = vec![("learning rate".to_owned(), learning_rate.into()), ("lambda".to_owned(), (1.0 / eta).into())];
    if is_private {
        facts.push(("prefix sums".to_owned(), factorisation.name().into()));
    }
    let (set, gradient, clip) = (Arc::clone(&setting.set), request.gradient(setting), terms.bounds(learning_rate));
    let make = move |n_trials| {
        let noise = law.sampler().map(|law| (factorisation.as_ref(), law));
        let privatizer = PrefixGradients::of_streams(n_trials, Arc::clone(&gradient), d, Start::Never, clip, noise);
        let stores = if 1 < passes { vec![SampleStore::new(d); n_trials] } else { Vec::new() };
        let mut learner = Ftrl::of_trials(privatizer, Arc::clone(&set), n_trials, eta, answers_mean);
        (learner.stores, learner.n_samples, learner.passes) = (stores, n_samples, passes);
        Box::new(learner) as Box<dyn LearnerBatch>
    };
    Ok(PreparedLearner { make: Box::new(make), claim, facts })
}

/// Runs the privatizer and the server of several trials together; their vectors follow one another.
#[derive(Debug)]
pub struct Ftrl {
    privatizer: PrefixGradients,
    set: Arc<dyn ConstraintSet>,
    centre: Vec<f64>,
    now: Vec<f64>,
    /// The mean of the iterates, if that is answered.
    mean: Option<Vec<f64>>,
    eta: f64,
    n_steps: u64,
    /// The samples of each trial, for further passes.
    stores: Vec<SampleStore>,
    n_samples: u64,
    passes: u64,
}

impl Ftrl {
    /// Creates a run of one pass at the set's centre.
    #[must_use]
    pub fn of_trials(
        privatizer: PrefixGradients,
        set: Arc<dyn ConstraintSet>,
        n_trials: usize,
        eta: f64,
        answers_mean: bool,
    ) -> Self {
        let mut centre = vec![0.0; set.dimension()];
        set.centre(&mut centre);
        let now = centre.repeat(n_trials);
        let mean = answers_mean.then(|| now.clone());
        Self { privatizer, set, centre, now, mean, eta, n_steps: 0, stores: Vec::new(), n_samples: 0, passes: 1 }
    }

    /// Steps once along the released sums after one sample of each trial.
    fn step<'s>(
        &mut self,
        samples: impl IntoIterator<Item = Raw<Sample<'s>>>,
        streams: &mut [LearnerStreams],
    ) -> Result<(), Error> {
        let d = self.set.dimension();
        let mut noises: Vec<&mut Stream> = streams.iter_mut().map(|streams| &mut streams.mechanism).collect();
        let query = GradientQuery { now: &self.now, before: &self.now };
        let sums = self.privatizer.release_rows(query, samples, &mut noises);
        let sums =
            sums.map_err(|exhausted| Error::Failed { problem: exhausted.to_string(), hint: "raise `rounds`".to_owned() })?;
        self.n_steps += 1;
        let rows = sums.value().chunks_exact(d).zip(self.now.chunks_exact_mut(d)).zip(streams);
        for ((sum, now), streams) in rows {
            streams.heard(sum);
            now.iter_mut().zip(&self.centre).zip(sum).for_each(|((now, centre), sum)| *now = centre - self.eta * sum);
            self.set.project(now);
        }
        if let Some(mean) = &mut self.mean {
            let share = 1.0 / self.n_steps as f64;
            mean.iter_mut().zip(&self.now).for_each(|(mean, now)| *mean += share * (now - *mean));
        }
        Ok(())
    }
}

impl LearnerBatch for Ftrl {
    fn observe_all(&mut self, samples: Vec<Raw<Sample<'_>>>, streams: &mut [LearnerStreams]) -> Result<(), Error> {
        if self.passes <= 1 {
            return self.step(samples, streams);
        }
        let mut stores = std::mem::take(&mut self.stores);
        stores.iter_mut().zip(samples).for_each(|(store, sample)| store.keep(sample));
        let n_kept = stores.first().map_or(0, SampleStore::len);
        let further = if n_kept as u64 == self.n_samples { self.passes - 1 } else { 0 };
        for at in (n_kept.saturating_sub(1)..n_kept).chain((0..further).flat_map(|_| 0..n_kept)) {
            self.step(stores.iter().filter_map(|store| store.sample(at)), streams)?;
        }
        self.stores = stores;
        Ok(())
    }

    fn iterate_of(&self, trial: usize) -> &[f64] {
        let d = self.set.dimension();
        &self.mean.as_ref().unwrap_or(&self.now)[trial * d..(trial + 1) * d]
    }
}
