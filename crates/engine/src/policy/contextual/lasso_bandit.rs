//! Implements `lasso-bandit` [Bastani2020, algorithm 1]: sparse linear arm models, without privacy.
//!
//! Forced samples: arm i is shown in the rounds `(2^n - 1) K q + q i + 1 … + q`, n = 0, 1, … In all other rounds, the
//! candidates are the arms whose estimate from forced samples (lasso at `lambda_1`) is within half of `gap` of the best. The
//! policy shows the candidate whose estimate from all its samples (lasso at `lambda_2 sqrt((ln t + ln d)/t)`) is the largest.

use super::contract::best_arm;
use super::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, Scratch};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::linalg::{Lasso, dot};
use privateer_numerics::rng::Stream;
use privateer_privacy::Released;
use privateer_privacy::interactions::InteractionSignal;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> ContextPolicyPlan {
    // The defaults are those of the paper's experiments, except `gap`: the paper's 5 exceeds every reward here, so it is
    // infinite.
    let plan = LassoBanditPlan {
        forced: args
            .count("forced", "q: forced samples of an arm in one stretch; stretches double their distance")
            .between(1, 1 << 32)
            .or(1),
        half_gap: args
            .number("gap", "h: arms whose forced-sample estimate is behind the best by more than half of it are not shown")
            .above(0.0)
            .at_most(1e12)
            .optional("none; every arm is kept")
            .map_or(f64::INFINITY, |gap| 0.5 * gap),
        lambda_1: args.number("lambda_1", "penalty on the l1 norm for forced samples").above(0.0).at_most(1e12).or(0.05),
        lambda_2: args
            .number("lambda_2", "the same for all samples, times sqrt((ln t + ln d)/t)")
            .above(0.0)
            .at_most(1e12)
            .or(0.05),
    };
    ContextPolicyPlan::unprotected(move |facts| {
        let (n_arms, dimension) = (facts.n_arms, facts.dimension);
        ContextPolicyMaker::new(move || {
            let models = vec![Lasso::new(dimension); n_arms];
            LassoBandit { plan, round: 0, forced: models.clone(), all: models }
        })
    })
}

#[derive(Debug, Clone, Copy)]
struct LassoBanditPlan {
    forced: u64,
    half_gap: f64,
    lambda_1: f64,
    lambda_2: f64,
}

impl LassoBanditPlan {
    /// Returns the arm that a round (1-based) forces, or `None`.
    fn forced_arm(&self, round: u64, n_arms: usize) -> Option<usize> {
        let stretch = self.forced.saturating_mul(n_arms as u64);
        // Stretch n starts after (2^n - 1) K q rounds: n is the largest with 2^n <= 1 + (round - 1)/(K q).
        let n = (1 + (round - 1) / stretch).ilog2();
        let at = (round - 1) - ((1 << n) - 1) * stretch;
        (at < stretch).then_some((at / self.forced) as usize)
    }
}

struct LassoBandit {
    plan: LassoBanditPlan,
    /// Number of rounds observed.
    round: u64,
    /// One model per arm, from its forced samples.
    forced: Vec<Lasso>,
    /// One model per arm, from all its samples.
    all: Vec<Lasso>,
}

impl ContextPolicy for LassoBandit {
    fn choose(&self, context: &[f64], _own: &mut Stream, scratch: &mut Scratch) -> Result<usize, Error> {
        let Self { plan, round, forced, all } = self;
        if let Some(arm) = plan.forced_arm(round + 1, all.len()) {
            return Ok(arm);
        }
        let Scratch { vector, scored } = scratch;
        vector.clear();
        vector.extend(forced.iter().map(|model| dot(model.beta(), context)));
        let floor = vector.iter().copied().fold(f64::NEG_INFINITY, f64::max) - plan.half_gap;
        let kept = (0..all.len()).filter(|&arm| floor <= vector[arm]);
        best_arm(kept.map(|arm| (arm, dot(all[arm].beta(), context))), scored)
    }

    fn update(&mut self, signal: &Released<InteractionSignal<'_>>) {
        let Self { plan, round, forced, all } = self;
        *round += 1;
        let InteractionSignal::Interaction(interaction) = signal.value() else { return };
        let t = *round as f64;
        if plan.forced_arm(*round, all.len()) == Some(interaction.arm) {
            forced[interaction.arm].add(interaction.context, interaction.reward);
            forced[interaction.arm].solve(plan.lambda_1);
        }
        all[interaction.arm].add(interaction.context, interaction.reward);
        // The penalty decreases for every arm, whichever was shown.
        let lambda = plan.lambda_2 * libm::sqrt((libm::log(t) + libm::log(interaction.context.len() as f64)) / t);
        for model in all.iter_mut() {
            model.solve(lambda.max(f64::MIN_POSITIVE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The forced rounds are the paper's sets T_i, computed from their definition.
    #[test]
    fn forced_rounds_are_those_of_the_paper() {
        for (k, q) in [(2_u64, 1_u64), (3, 2), (5, 4)] {
            let plan = LassoBanditPlan { forced: q, half_gap: 1.0, lambda_1: 1.0, lambda_2: 1.0 };
            let mut expected = vec![None; 2000];
            for n in 0..12_u32 {
                for arm in 0..k {
                    for j in q * arm + 1..=q * (arm + 1) {
                        let round = ((1 << n) - 1) * k * q + j;
                        if let Some(place) = expected.get_mut(round as usize - 1) {
                            *place = Some(arm as usize);
                        }
                    }
                }
            }
            let found: Vec<Option<usize>> = (1..=2000).map(|round| plan.forced_arm(round, k as usize)).collect();
            assert_eq!(found, expected, "{k} arms, {q} samples");
        }
    }
}
