//! Implements `batched-elimination` (BPE \[LiScarlett2022\]) and `dp-bpe`, the same with sums that a trusted server releases.
//!
//! Batch i has `N_i = ceil(sqrt(T N_(i-1)))` rounds, `N_0 = 1`. A batch plays the survivors of largest posterior variance, where the
//! posterior knows this batch alone. Variances do not depend on rewards, so that all plays of a point are made one after the other,
//! and a server releases one sum for each point of a batch. Then points are dropped whose upper confidence bound is below the
//! largest lower one. Derivation and proof: `docs/proofs/batches.md`.

use super::gp_policy::failure_prob;
use super::mean_noise::MeanNoise;
use super::phases::{PhaseRule, PhaseState, PhasesMaker};
use super::{ExplorationFactor, PolicyMaker, PolicyPlan, Problem, Setting};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_gp::posterior::{Design, ExactPosterior};
use privateer_privacy::Protection;
use std::sync::Arc;

/// Reads the keys of `batched-elimination` and `dp-bpe`, which differ in what protects rewards.
pub fn parse(args: &Args<'_>, protection: Protection) -> PolicyPlan {
    let (beta, failure_prob) = (ExplorationFactor::parse(args), failure_prob(args));
    let prepare = move |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
        let gram = Arc::clone(&problem.shared()?.gram);
        let (prior, rounds, n_points) = (ExactPosterior::prior_bound(gram.as_ref()), problem.rounds, gram.n_points());
        let lengths = lengths(rounds);
        let (batches, longest) = (lengths.len(), lengths.iter().copied().max().unwrap_or(1));
        let noise = move |setting: &Setting| -> Result<(MeanNoise, u64), Diagnostic> {
            let noise = MeanNoise::of(setting)?.at_least(LEAST_NOISE * prior);
            Ok((noise, noise.users(prior, rounds)))
        };
        let rule = move |setting: &Setting| -> Result<(MeanNoise, Box<dyn PhaseRule>), Diagnostic> {
            let ((noise, users), bound) = (noise(setting)?, setting.facts.bound);
            let width = beta.value(
                || {
                    let intervals = n_points as f64 * batches as f64;
                    bound + noise.factor(libm::log(2.0 * intervals / failure_prob), users.min(lengths[0]) as f64)
                },
                // The order of a Gaussian process prior's, which needs no bound.
                || libm::sqrt(libm::log(n_points as f64)),
            );
            let design = Design::new(Arc::clone(&gram), Vec::new());
            Ok((noise, Box::new(Elimination { lengths: lengths.clone(), rounds, users, noise, width, design })))
        };
        let facts = move |setting: &Setting| {
            let users = noise(setting).map_or(1, |(_, users)| users);
            [("batches", batches.into()), ("least plays of a point", users.into())].into()
        };
        // Rows of the design: twice its points, of which there is one a play at most.
        let k = n_points.min(longest as usize) as f64;
        let bytes = 8.0 * (n_points as f64 * (2.0 * k + 16.0) + k * k);
        Ok(Box::new(PhasesMaker { n_points, bytes, rule: Box::new(rule), facts: Box::new(facts) }))
    };
    PolicyPlan { protection, patience: Box::new(|rounds| lengths(rounds)[0]), ..PolicyPlan::new(prepare) }
}

/// Returns the numbers of rounds of the batches of a horizon, at least one batch.
fn lengths(rounds: u64) -> Vec<u64> {
    let (mut lengths, mut before, mut left) = (Vec::new(), 1.0, rounds.max(1));
    while 0 < left {
        before = libm::ceil(libm::sqrt(rounds as f64 * before));
        let length = (before as u64).clamp(1, left);
        lengths.push(length);
        left -= length;
    }
    lengths
}

/// A variance of rewards below this share of the prior variance counts as this share.
const LEAST_NOISE: f64 = 1e-9;

/// A point is played this fraction of its plays again before variances are compared again.
const GROWTH: u64 = 8;

struct Elimination {
    lengths: Vec<u64>,
    rounds: u64,
    /// Least number of plays of a point in a batch of at least as many rounds.
    users: u64,
    noise: MeanNoise,
    /// Half-width of a confidence interval, in posterior standard deviations.
    width: f64,
    /// The design of the batch, over the survivors.
    design: Design,
}

impl PhaseRule for Elimination {
    /// Gives the point of largest variance `users` plays, or an eighth of its plays more, until all are given out.
    fn plan(&mut self, state: &PhaseState) -> Vec<(usize, u64)> {
        let mut streaks: Vec<(usize, u64)> = Vec::new();
        // Beyond the horizon, which a session may pass, a batch is as long as all before.
        let mut left = self.lengths.get(state.phase as usize).copied().unwrap_or(self.rounds.max(1));
        self.design = Design::new(self.design.gram(), state.survivors.clone());
        let is_alone = state.survivors.len() == 1;
        while 0 < left {
            let place = self.design.widest();
            let known = streaks.iter().position(|streak| streak.0 == place).unwrap_or(streaks.len());
            if known == streaks.len() {
                streaks.push((place, 0));
            }
            let streak = &mut streaks[known].1;
            let plays = if is_alone || left < 2 * self.users { left } else { self.users.max(*streak / GROWTH).min(left) };
            (*streak, left) = (*streak + plays, left - plays);
            self.design.raise(place, 1.0 / self.noise.variance(*streak as f64));
        }
        streaks
    }

    fn bounds(&mut self, _: &PhaseState, _: &[(usize, u64)], means: Vec<f64>) -> Option<(Vec<f64>, Vec<f64>)> {
        let means = self.design.means(means)?;
        Some((means, self.design.variances().iter().map(|variance| self.width * libm::sqrt(*variance)).collect()))
    }
}
