//! Implements `batched-gp-ucb`: GP-UCB over batches of users, of whose rewards a trusted server releases each sum once.
//!
//! All users of a batch play one released point, so that only the sum of their rewards is private: our own derivation. The
//! posterior observes the released mean of a batch, whose noise has variance `v/b + s²/b²` for a batch of b users, rewards with
//! noise of variance v, and a sum released with noise of variance s²; (v + s²)/b where each user's own answer has noise of variance
//! s² and a shuffler mixes the answers (`docs/proofs/shuffled.md`). Without privacy a batch is one user, and the policy is
//! `gp-ucb`. Derivation and proof: `docs/proofs/batches.md`.

use super::gp_policy::Ridge;
use super::mean_noise::MeanNoise;
use super::{
    KnownInputs, Policy, PolicyMaker, PolicyModel, PolicyPlan, PolicyStreams, Problem, Proposal, ReleasedFacts, Setting, gp_ucb,
};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_gp::posterior::ExactPosterior;
use privateer_gp::score::{AxisFeatures, Basis};
use privateer_privacy::sums::SumsNeed;
use privateer_privacy::{Protection, Query, Released, Signal};
use std::sync::Arc;

pub fn parse(args: &Args<'_>) -> PolicyPlan {
    let doc = "users that play one point before their sum of rewards is released; `auto`: by mechanism, clip, prior variance and `rounds`";
    let batch = match args.number("batch", doc).at_least(1.0).at_most(MOST_USERS).or_word("auto", "`auto`") {
        Some(Ok(users)) if users.fract() == 0.0 => Some(users as u64),
        Some(Ok(users)) => {
            args.reject("batch", format!("`batch` is {users}"), "a whole number from 1, or `auto`");
            None
        }
        _ => None,
    };
    let inner = gp_ucb::plan(args, Ridge::Mechanism);
    let prepare = move |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
        if let Some(batch) = batch.filter(|batch| problem.rounds < *batch) {
            let message =
                format!("a batch has {batch} users and is released at its end, and there are {} rounds", problem.rounds);
            let diagnostic = Diagnostic::new(message).expected(format!("a `batch` from 1 to {}, or `auto`", problem.rounds));
            return diagnostic.refuse();
        }
        let prior_variance = match &problem.inputs {
            KnownInputs::Shared(shared) => ExactPosterior::prior_bound(shared.gram.as_ref()),
            KnownInputs::Released { kernel, .. } => kernel.variance().unwrap_or(1.0),
            KnownInputs::Product(product) => product.kernel().variance().unwrap_or(1.0),
        };
        let (inner, rounds) = ((inner.prepare)(problem)?, problem.rounds);
        Ok(Box::new(BatchedMaker { inner, batch, prior_variance, rounds }))
    };
    PolicyPlan { protection: Protection::Batches, patience: Box::new(move |_| batch.unwrap_or(1)), ..PolicyPlan::new(prepare) }
}

const MOST_USERS: f64 = 1e15;

struct BatchedMaker {
    inner: Box<dyn PolicyMaker>,
    /// Number of users that the spec states; `None` for `auto`.
    batch: Option<u64>,
    /// Largest prior variance of a point.
    prior_variance: f64,
    rounds: u64,
}

impl BatchedMaker {
    /// Returns the number of users of a batch, and the setting in which the mean of a batch is one reward.
    fn batched(&self, setting: &Setting) -> (u64, Setting) {
        let Some((sums, noise)) = setting.sums.zip(MeanNoise::of_sums(setting)) else { return (1, setting.clone()) };
        // The mechanism of shuffled answers is calibrated for the batch that the spec states, or has one of its own.
        let batch = self.batch.unwrap_or_else(|| noise.users(self.prior_variance, self.rounds));
        let users = batch as f64;
        let mut batched = setting.clone();
        batched.facts.noise_variance = Some((noise.reward - noise.answer) / users);
        batched.sums = None;
        batched.released = ReleasedFacts {
            mechanism_variance: noise.answer / users + (noise.sum / users) * (noise.sum / users),
            mechanism_scale: None,
            clip: sums.clip,
            ..ReleasedFacts::unchanged(sums.clip.map(|(lo, hi)| lo.abs().max(hi.abs())))
        };
        (batch, batched)
    }
}

impl PolicyMaker for BatchedMaker {
    fn basis(&self) -> Option<Basis> {
        self.inner.basis()
    }

    fn axes(&self) -> Option<Arc<[AxisFeatures]>> {
        self.inner.axes()
    }

    fn sums(&self) -> Option<SumsNeed> {
        Some(SumsNeed::of_rewards(self.rounds, self.batch))
    }

    fn make(&self, setting: &Setting) -> Result<Box<dyn Policy>, Error> {
        let (batch, batched) = self.batched(setting);
        Ok(Box::new(BatchedPolicy { inner: self.inner.make(&batched)?, batch, point: 0, users: 0 }))
    }

    fn least_factor(&self, setting: &Setting, round: u64) -> Option<f64> {
        let (batch, batched) = self.batched(setting);
        self.inner.least_factor(&batched, round.div_ceil(batch))
    }

    fn facts(&self, setting: &Setting) -> Facts {
        let (batch, batched) = self.batched(setting);
        let mut facts = Facts::from([("users of a batch", batch.into())]);
        facts.extend(self.inner.facts(&batched));
        facts
    }
}

struct BatchedPolicy {
    inner: Box<dyn Policy>,
    batch: u64,
    /// The point of the last round.
    point: usize,
    /// Number of users of the open batch so far.
    users: u64,
}

impl Policy for BatchedPolicy {
    fn propose(&mut self, streams: &mut PolicyStreams) -> Proposal {
        if self.users == 0 { self.inner.propose(streams) } else { Proposal::Play(self.point) }
    }

    fn query(&self, _point: usize) -> Query<'_> {
        Query { release: self.users + 1 == self.batch, ..Query::default() }
    }

    fn model(&mut self) -> Option<&mut dyn PolicyModel> {
        self.inner.model()
    }

    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        (self.point, self.users) = (point, self.users + 1);
        if self.users == self.batch {
            self.inner.update(point, signal);
            self.users = 0;
        }
    }

    fn recommend(&self) -> Option<usize> {
        self.inner.recommend().or((0 < self.users).then_some(self.point))
    }
}
