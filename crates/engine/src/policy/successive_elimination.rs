//! Implements `successive-elimination` and `dp-se` \[SajedSheffet2019\]: arms without a kernel, of which the worse ones are dropped.
//!
//! Epoch e = 1, 2, … plays every survivor afresh, until the half-width of an interval is a quarter of `G 2^-e`, with G the largest
//! possible gap. Then arms are dropped whose mean is more than two half-widths below the best. An epoch that would not end within
//! the horizon is not begun: the best survivor is played, or before the first epoch each for an equal share of half of the rounds.
//! The half-width is one bound for both noises, where the paper adds one for each. Proof: `docs/proofs/batches.md`.

use super::gp_policy::failure_prob;
use super::mean_noise::MeanNoise;
use super::phases::{PhaseRule, PhaseState, PhasesMaker};
use super::{ExplorationFactor, PolicyMaker, PolicyPlan, Problem, Setting};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_privacy::Protection;

/// Reads the keys of `successive-elimination` and `dp-se`, which differ in what protects rewards.
pub fn parse(args: &Args<'_>, protection: Protection) -> PolicyPlan {
    let (beta, failure_prob) = (ExplorationFactor::parse(args), failure_prob(args));
    let prepare = move |problem: &Problem| -> Result<Box<dyn PolicyMaker>, Error> {
        let (n_points, rounds) = (problem.listed()?, problem.rounds);
        let rule = move |setting: &Setting| -> Result<(MeanNoise, Box<dyn PhaseRule>), Diagnostic> {
            let noise = MeanNoise::of(setting)?;
            // A mean within [-B, B] has a gap of at most 2 B; a clipped one, of the range's length.
            let clip = setting.sums.map_or(setting.released.clip, |sums| sums.clip);
            let gap = clip.map_or(f64::INFINITY, |(lo, hi)| hi - lo).min(2.0 * setting.facts.bound);
            Ok((noise, Box::new(Epochs { beta, failure_prob, noise, gap, rounds })))
        };
        Ok(Box::new(PhasesMaker {
            n_points,
            bytes: 64.0 * n_points as f64,
            rule: Box::new(rule),
            facts: Box::new(|_| Facts::default()),
        }))
    };
    PolicyPlan { protection, ..PolicyPlan::new(prepare) }
}

struct Epochs {
    beta: ExplorationFactor,
    failure_prob: f64,
    noise: MeanNoise,
    /// Largest possible gap between two arms.
    gap: f64,
    rounds: u64,
}

impl Epochs {
    /// Returns the half-width of the interval of a mean of n rewards in the epoch of this phase.
    fn half_width(&self, state: &PhaseState, n: f64) -> f64 {
        let (arms, epoch) = (state.survivors.len() as f64, state.phase as f64 + 1.0);
        let factor = self.beta.value(
            || self.noise.factor(libm::log(8.0 * arms * epoch * epoch / self.failure_prob), n),
            || libm::sqrt(libm::log(8.0 * arms * epoch * epoch)),
        );
        factor * libm::sqrt(self.noise.variance(n))
    }
}

impl PhaseRule for Epochs {
    fn plan(&mut self, state: &PhaseState) -> Vec<(usize, u64)> {
        let (arms, left) = (state.survivors.len() as u64, self.rounds.saturating_sub(state.start));
        let share = left / arms;
        let wanted = 0.25 * self.gap * libm::exp2(-(state.phase as f64 + 1.0));
        let is_enough = |plays: u64| self.half_width(state, plays as f64) <= wanted;
        if arms == 1 || !is_enough(share.max(1)) || share == 0 {
            if let Some(best) = state.best.and_then(|best| state.survivors.iter().position(|point| *point == best)) {
                return vec![(best, left.max(1))];
            }
            return (0..arms as usize).map(|place| (place, (share / 2).max(1))).collect();
        }
        // The least number of plays that is enough lies in (less, enough].
        let (mut less, mut enough) = (0, share);
        while 1 < enough - less {
            let middle = less + (enough - less) / 2;
            *(if is_enough(middle) { &mut enough } else { &mut less }) = middle;
        }
        (0..arms as usize).map(|place| (place, enough)).collect()
    }

    fn bounds(&mut self, state: &PhaseState, streaks: &[(usize, u64)], means: Vec<f64>) -> Option<(Vec<f64>, Vec<f64>)> {
        if means.len() < state.survivors.len() {
            return None;
        }
        let widths = streaks.iter().map(|(_, plays)| self.half_width(state, *plays as f64)).collect();
        Some((means, widths))
    }
}
