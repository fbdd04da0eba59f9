//! Implements `dp-hdb` [Han2022, algorithm 3], a private bandit for high-dimensional contexts.
//!
//! Every arm is shown `warm_up` times. Afterwards, the candidates are the arms whose warm-up estimate for the current user is
//! within half of `gap` of the best; the policy shows the candidate with the largest running estimate. The estimates come from
//! the private choices of `privacy::visits::choices`.

use super::contract::{best_arm, misfit, restored, saved};
use super::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, Scratch};
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::linalg::{Norm, dot};
use privateer_numerics::rng::Stream;
use privateer_privacy::gradients::{Constants, SampleClip, Terms};
use privateer_privacy::interactions::choices::{ArmChoices, ArmStep, ChoiceBounds, ChoiceLaw, ChoiceTerms, advance};
use privateer_privacy::interactions::{ContextFacts, InteractionPrivatizer, InteractionSignal};
use privateer_privacy::{
    Budget, Calibration, Claim, ClaimUnit, Delta, Epsilon, Event, Ledger, Protects, Refusal, Released, Request, automatic,
};
use serde::{Deserialize, Serialize};

const NAME: &str = "dp-hdb";

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> Box<dyn ContextPolicyPlan> {
    let positive = |key, doc, meaning: &str| args.number(key, doc).above(0.0).at_most(1e12).optional(meaning);
    Box::new(DpHdbPlan {
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
    })
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
}

impl ContextPolicyPlan for DpHdbPlan {
    fn prepare(&self, facts: &ContextFacts, request: &Request) -> Result<Box<dyn ContextPolicyMaker>, Refusal> {
        let budget = request.budget_over(facts.rounds)?;
        let warm_up = self.warm_up(facts)?;
        let radius = self.radius.unwrap_or(facts.parameter_l1);
        let printed = request.calibration == Calibration::AsPrinted;
        let range = match budget {
            Some(_) => request.range(facts.range)?,
            None => request.clip.or(facts.range),
        };
        // The as-printed calibration clips only where the spec states a clip.
        let bounds = match range {
            Some(range) if budget.is_some() && !(printed && request.clip.is_none()) => {
                Some(ChoiceBounds::of(facts, radius, range, self.residual))
            }
            _ => None,
        };
        // The gradient (zeta - r) x: smoothness beta M², L = M max |zeta - r| (erratum E31, `docs/privacy.md`).
        let m = facts.largest_entry;
        let constants = |smoothness: f64, lipschitz: f64| Constants { diameter: 2.0 * radius, smoothness, lipschitz };
        let actual = constants(facts.link.slope() * m * m, bounds.map_or(f64::INFINITY, |bounds| m * bounds.residual));
        let max_norm = Norm::MAX;
        let steps = facts.rounds - (facts.n_arms as u64 - 1) * warm_up;
        let terms = Terms {
            calibration: request.calibration,
            budget,
            rounds: steps,
            dimension: facts.dimension,
            norm: max_norm.dual(),
            actual,
            stated: constants(self.stated.0, self.stated.1),
            clip: bounds.map(|bounds| SampleClip { norm: max_norm, radius: bounds.entry }),
        };
        let gumbel = match automatic(request.mechanism, Protects::Choices, request.calibration) {
            "gumbel" => true,
            "laplace" | "none" => false,
            other => {
                let message = format!("`{other}` is noise on sums, and this policy releases choices");
                return Err(Refusal::new("mechanism", message, "`auto`, `laplace`, `gumbel` or `none`"));
            }
        };
        let priced = terms.choice_noise(gumbel, 1.0)?;
        let law = match priced.noise {
            None => ChoiceLaw::Exact,
            Some((true, scale)) => ChoiceLaw::Gumbel { scale },
            Some((false, scale)) => ChoiceLaw::Laplace { scale },
        };
        if let ChoiceLaw::Gumbel { scale } | ChoiceLaw::Laplace { scale } = law
            && !scale.is_normal()
        {
            let message = format!("the noise has scale {scale}");
            return Err(Refusal::new("epsilon", message, "at least two steps an arm, and an epsilon nearer to 1"));
        }
        let bounds = bounds.map(|bounds| ChoiceBounds { contribution: actual.contribution(1.0) * (1.0 + 1e-12), ..bounds });
        let choices = ChoiceTerms {
            n_arms: facts.n_arms,
            dimension: facts.dimension,
            radius,
            link: facts.link,
            warm_up,
            start: terms.choice_start(),
            law,
            bounds,
            synthetic: self.synthetic,
        };
        let (event, noise_formula) = (priced.event, priced.noise_formula);
        Ok(Box::new(DpHdbMaker { choices, gap: self.gap, calibration: request.calibration, budget, event, noise_formula }))
    }
}

struct DpHdbMaker {
    choices: ChoiceTerms,
    gap: Option<f64>,
    calibration: Calibration,
    budget: Option<(Epsilon, Delta)>,
    event: Event,
    noise_formula: String,
}

impl DpHdbMaker {
    fn of(&self, state: DpHdbState) -> Box<dyn ContextPolicy> {
        Box::new(DpHdb { choices: self.choices, half_gap: self.gap.map_or(f64::INFINITY, |gap| 0.5 * gap), state })
    }
}

impl ContextPolicyMaker for DpHdbMaker {
    fn make(&self) -> Box<dyn ContextPolicy> {
        let zeros = vec![0.0; self.choices.n_arms * self.choices.dimension];
        let steps = vec![0; self.choices.n_arms];
        self.of(DpHdbState { round: 0, steps, counts: zeros.clone(), frozen: zeros })
    }

    fn privatizer(&self) -> Box<dyn InteractionPrivatizer> {
        Box::new(ArmChoices::new(self.choices))
    }

    fn ledger(&self) -> Ledger {
        let unclipped = self.choices.bounds.is_none();
        let doubt = if !self.choices.synthetic {
            ("an arm that does not move was not shown: without synthetic updates the arm of every user can be read off", "E30")
        } else if unclipped {
            ("rewards are not clipped: no loss is bounded", "E31")
        } else {
            ("the printed noise is too small for what an interaction moves", "E28, E29")
        };
        let mechanism = match self.choices.law {
            ChoiceLaw::Exact => "none",
            ChoiceLaw::Laplace { .. } => "laplace",
            ChoiceLaw::Gumbel { .. } => "gumbel",
        };
        Ledger::of(Claim {
            mechanism,
            calibration: self.calibration,
            event: if self.choices.synthetic { self.event } else { Event::NonPrivate },
            budget: self.budget.map(Budget::from).unwrap_or_default(),
            unit: ClaimUnit::Interaction { clip: self.choices.bounds.map(|bounds| bounds.range), local: false },
            noise_formula: self.noise_formula.clone(),
            doubt: Some(doubt),
            notes: match self.choices.bounds {
                Some(bounds) => {
                    vec![format!(
                        "entries of a context beyond {} shrink it, |zeta - r| is cut off at {}",
                        bounds.entry, bounds.residual
                    )]
                }
                None => Vec::new(),
            },
        })
    }

    fn facts(&self) -> Vec<(String, serde_json::Value)> {
        let scale = match self.choices.law {
            ChoiceLaw::Exact => 0.0,
            ChoiceLaw::Laplace { scale } | ChoiceLaw::Gumbel { scale } => scale,
        };
        vec![
            ("warm-up of an arm".into(), self.choices.warm_up.into()),
            ("scale of the noise in an arm's first step".into(), scale.into()),
            ("radius of the l1 ball".into(), self.choices.radius.into()),
        ]
    }

    fn restore(&self, state: &serde_json::Value) -> Result<Box<dyn ContextPolicy>, Error> {
        let state: DpHdbState = restored(NAME, state)?;
        let n = self.choices.n_arms * self.choices.dimension;
        let finite = state.counts.iter().chain(&state.frozen).all(|x| x.is_finite());
        let fits = state.counts.len() == n && state.frozen.len() == n && state.steps.len() == self.choices.n_arms;
        if fits && finite { Ok(self.of(state)) } else { Err(misfit(NAME)) }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct DpHdbState {
    /// Number of rounds observed.
    round: u64,
    /// Number of steps of each arm.
    steps: Vec<u64>,
    /// Sums of the chosen vertices of the ball of radius 1, one arm after another.
    counts: Vec<f64>,
    /// Estimates at the end of the warm-up, one arm after another.
    frozen: Vec<f64>,
}

struct DpHdb {
    choices: ChoiceTerms,
    half_gap: f64,
    state: DpHdbState,
}

impl DpHdb {
    fn part<'a>(&self, all: &'a [f64], arm: usize) -> &'a [f64] {
        &all[arm * self.choices.dimension..(arm + 1) * self.choices.dimension]
    }

    /// Returns `zeta(<x, theta_arm>)` for the running estimate.
    fn running(&self, arm: usize, x: &[f64]) -> f64 {
        let shrink = self.choices.radius / (self.state.steps[arm] as f64 + 1.0);
        self.choices.link.mean(shrink * dot(self.part(&self.state.counts, arm), x))
    }
}

impl ContextPolicy for DpHdb {
    fn choose(&self, context: &[f64], _own: &mut Stream, scratch: &mut Scratch) -> Result<usize, Error> {
        let (n_arms, warm_up) = (self.choices.n_arms, self.choices.warm_up);
        if self.state.round < n_arms as u64 * warm_up {
            return Ok((self.state.round / warm_up) as usize);
        }
        let Scratch { vector: warm, scored } = scratch;
        scored.clear();
        if self.half_gap.is_infinite() {
            scored.extend((0..n_arms).map(|arm| (arm, self.running(arm, context))));
            return best_arm(scored);
        }
        warm.clear();
        warm.extend((0..n_arms).map(|arm| self.choices.link.mean(dot(self.part(&self.state.frozen, arm), context))));
        let floor = warm.iter().copied().fold(f64::NEG_INFINITY, f64::max) - self.half_gap;
        let kept = (0..n_arms).filter(|&arm| floor < warm[arm]);
        scored.extend(kept.map(|arm| (arm, self.running(arm, context))));
        best_arm(scored)
    }

    fn update(&mut self, signal: &Released<InteractionSignal<'_>>) {
        self.state.round += 1;
        let InteractionSignal::Steps(steps) = *signal.value() else { return };
        let d = self.choices.dimension;
        for (arm, &step) in steps.iter().enumerate().filter(|(_, step)| **step != ArmStep::None) {
            let counts = &mut self.state.counts[arm * d..(arm + 1) * d];
            advance(counts, step);
            self.state.steps[arm] += 1;
            if self.state.steps[arm] == self.choices.warm_up {
                let shrink = self.choices.radius / (self.choices.warm_up as f64 + 1.0);
                self.state.frozen[arm * d..(arm + 1) * d]
                    .iter_mut()
                    .zip(counts)
                    .for_each(|(frozen, count)| *frozen = shrink * *count);
            }
        }
    }

    fn save(&self) -> serde_json::Value {
        saved(NAME, &self.state)
    }
}

/// Makes a policy that takes given steps, for checks against stored cases.
#[doc(hidden)]
#[must_use]
pub fn stored(choices: ChoiceTerms, gap: f64) -> Box<dyn ContextPolicy> {
    let maker = DpHdbMaker {
        choices,
        gap: Some(gap),
        calibration: Calibration::AsPrinted,
        budget: None,
        event: Event::NonPrivate,
        noise_formula: String::new(),
    };
    maker.make()
}
