//! Implements `dp-hdb` [Han2022, algorithm 3], a private bandit for high-dimensional contexts.
//!
//! Every arm is shown `warm_up` times. Afterwards, the candidates are the arms whose warm-up estimate for the current user is
//! within half of `gap` of the best; the policy shows the candidate with the largest running estimate. The estimates come from
//! the private choices of `privacy::interactions::choices`.

use super::contract::{another_kind, best_arm};
use super::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, PreparedContextual, Scratch};
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_config::params::Args;
use privateer_numerics::linalg::dot;
use privateer_numerics::rng::Stream;
use privateer_privacy::interactions::ArmStep;
use privateer_privacy::interactions::choices::{ChoiceLaw, ChoiceTerms, advance};
use privateer_privacy::interactions::{CalibratedInteractions, ChoicesNeed, ContextFacts, InteractionNeed, InteractionSignal};
use privateer_privacy::{Refusal, Released, Request};

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> ContextPolicyPlan {
    let positive = |key, doc, meaning: &str| args.number(key, doc).above(0.0).at_most(1e12).optional(meaning);
    let plan = DpHdbPlan {
        warm_up: args
            .count("warm_up", "rounds in which each arm is shown before anything else")
            .between(1, 1 << 40)
            .optional("ln(dT) ln T, at most a quarter of the rounds over K"),
        gap: positive(
            "gap",
            "h_sub: arms whose warm-up estimate is behind the best by half of this or more are not shown, in units of the reward",
            "none; every arm is kept",
        ),
        radius: positive("radius", "radius of the l1 ball of estimates", "the environment's bound on the parameters"),
        residual: positive(
            "residual",
            "bound on |zeta - r| in a gradient, enforced by cutting it off",
            "the largest that can occur",
        ),
        synthetic: args.flag("synthetic", "whether arms that were not shown step too; without it nothing is private", true),
        stated: (
            args.number("stated_smoothness", "beta in the printed formula").above(0.0).at_most(1e12).or(1.0),
            args.number("stated_lipschitz", "L in the printed formula").above(0.0).at_most(1e12).or(1.0),
        ),
    };
    let prepare = move |facts: &ContextFacts, request: &Request| plan.prepare(facts, request);
    ContextPolicyPlan { open_kind: Some(("dp-hdb", &[])), ..ContextPolicyPlan::new(prepare) }
}

struct DpHdbPlan {
    warm_up: Option<u64>,
    gap: Option<f64>,
    radius: Option<f64>,
    residual: Option<f64>,
    synthetic: bool,
    stated: (f64, f64),
}

impl DpHdbPlan {
    fn warm_up(&self, facts: &ContextFacts) -> Result<u64, Refusal> {
        let (k, d, t) = (facts.n_arms as u64, facts.dimension as f64, facts.rounds as f64);
        // t_0 = O(ln(dT/alpha) ln T / epsilon²) [Han2022, theorem 4.2], at epsilon = 1 whatever the budget: about 120 in the
        // paper's figure.
        let orders = (libm::log(d * t) * libm::log(t)).ceil() as u64;
        let warm_up = self.warm_up.unwrap_or(orders.min(facts.rounds / (4 * k)).max(1));
        if facts.rounds < k.saturating_mul(warm_up) {
            let message =
                format!("a warm-up of {warm_up} rounds for each of {k} arms is longer than the run of {} rounds", facts.rounds);
            return Err(Refusal::new("warm_up", message, format!("`warm_up` of at most {}", facts.rounds / k)));
        }
        Ok(warm_up)
    }

    fn prepare(&self, facts: &ContextFacts, request: &Request) -> Result<PreparedContextual, Refusal> {
        let need = InteractionNeed::Choices(ChoicesNeed {
            radius: self.radius.unwrap_or(facts.parameter_l1),
            warm_up: self.warm_up(facts)?,
            residual: self.residual,
            stated: self.stated,
            synthetic: self.synthetic,
        });
        let mechanism = need.calibrated(facts, request)?;
        let CalibratedInteractions::Choices(choices) = &mechanism else { return Err(another_kind()) };
        Ok(PreparedContextual { maker: maker(choices.terms(), self.gap), mechanism: Box::new(mechanism) })
    }
}

fn maker(choices: ChoiceTerms, gap: Option<f64>) -> ContextPolicyMaker {
    let scale = match choices.law {
        ChoiceLaw::Exact => 0.0,
        ChoiceLaw::Laplace { scale } | ChoiceLaw::Gumbel { scale } => scale,
    };
    let facts = Facts::from([
        ("warm-up of an arm", choices.warm_up.into()),
        ("scale of the noise in an arm's first step", scale.into()),
        ("radius of the l1 ball", choices.radius.into()),
    ]);
    ContextPolicyMaker::new(move || DpHdb::new(choices, gap)).stating(facts)
}

/// Runs `dp-hdb` in one trial; public for checks against stored cases alone.
#[doc(hidden)]
pub struct DpHdb {
    choices: ChoiceTerms,
    half_gap: f64,
    /// Number of rounds observed.
    round: u64,
    steps: Vec<u64>,
    /// Sums of the chosen vertices of the ball of radius 1, one arm after another.
    counts: Vec<f64>,
    /// Estimates at the end of the warm-up, one arm after another.
    frozen: Vec<f64>,
}

impl DpHdb {
    /// Creates the policy before its first round; without a gap every arm is kept.
    pub fn new(choices: ChoiceTerms, gap: Option<f64>) -> Self {
        let (n_arms, n) = (choices.n_arms, choices.n_arms * choices.dimension);
        let half_gap = gap.map_or(f64::INFINITY, |gap| 0.5 * gap);
        Self { choices, half_gap, round: 0, steps: vec![0; n_arms], counts: vec![0.0; n], frozen: vec![0.0; n] }
    }

    /// Returns the running estimates, one arm after another, for checks against stored cases.
    pub fn estimates(&self) -> Vec<f64> {
        let entry = |(i, count): (usize, &f64)| self.shrink(i / self.choices.dimension) * count;
        self.counts.iter().enumerate().map(entry).collect()
    }

    /// Returns the factor from an arm's counts to its running estimate.
    fn shrink(&self, arm: usize) -> f64 {
        self.choices.radius / (self.steps[arm] as f64 + 1.0)
    }

    fn part<'a>(&self, all: &'a [f64], arm: usize) -> &'a [f64] {
        &all[arm * self.choices.dimension..(arm + 1) * self.choices.dimension]
    }

    /// Returns `zeta(<x, theta_arm>)` for the running estimate.
    fn running(&self, arm: usize, x: &[f64]) -> f64 {
        self.choices.link.mean(self.shrink(arm) * dot(self.part(&self.counts, arm), x))
    }
}

impl ContextPolicy for DpHdb {
    fn choose(&self, context: &[f64], _own: &mut Stream, scratch: &mut Scratch) -> Result<usize, Error> {
        let (n_arms, warm_up) = (self.choices.n_arms, self.choices.warm_up);
        if self.round < n_arms as u64 * warm_up {
            return Ok((self.round / warm_up) as usize);
        }
        let Scratch { vector: warm, scored } = scratch;
        let running = |arm| (arm, self.running(arm, context));
        if self.half_gap.is_infinite() {
            return best_arm((0..n_arms).map(running), scored);
        }
        warm.clear();
        warm.extend((0..n_arms).map(|arm| self.choices.link.mean(dot(self.part(&self.frozen, arm), context))));
        let floor = warm.iter().copied().fold(f64::NEG_INFINITY, f64::max) - self.half_gap;
        best_arm((0..n_arms).filter(|&arm| floor < warm[arm]).map(running), scored)
    }

    fn update(&mut self, signal: &Released<InteractionSignal<'_>>) {
        self.round += 1;
        let InteractionSignal::Steps(steps) = *signal.value() else { return };
        let d = self.choices.dimension;
        for (arm, &step) in steps.iter().enumerate().filter(|(_, step)| **step != ArmStep::None) {
            let own = arm * d..(arm + 1) * d;
            advance(&mut self.counts[own.clone()], step);
            self.steps[arm] += 1;
            if self.steps[arm] == self.choices.warm_up {
                let shrink = self.shrink(arm);
                self.frozen[own.clone()].iter_mut().zip(&self.counts[own]).for_each(|(frozen, count)| *frozen = shrink * count);
            }
        }
    }
}
