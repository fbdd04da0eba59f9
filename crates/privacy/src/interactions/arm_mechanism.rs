//! Calibrates the noise of choices for the arms of a contextual bandit [Han2022, algorithm 3].
//!
//! Proof: `docs/proofs/interactions.md`.

use super::choices::{ArmChoices, ChoiceBounds, ChoiceLaw, ChoiceTerms};
use super::{ContextFacts, InteractionPrivatizer};
use crate::gradients::{Constants, SampleClip, Terms};
use crate::{Budget, Calibration, Claim, ClaimUnit, Event, Ledger, Protects, Refusal, Request, automatic};
use privateer_numerics::linalg::Norm;

/// States which choices a policy needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChoicesNeed {
    /// Radius of the l1 ball of estimates.
    pub radius: f64,
    /// Rounds in which each arm is shown at the start.
    pub warm_up: u64,
    /// Bound on `|zeta - r|` in a gradient; `None` for the largest that can occur.
    pub residual: Option<f64>,
    /// Smoothness and Lipschitz constant that the as-printed formula is given.
    pub stated: (f64, f64),
    /// Whether arms that were not shown make a step too; without it nothing is private.
    pub synthetic: bool,
}

/// Holds calibrated choices, shared by all trials.
#[derive(Debug)]
pub struct ArmMechanism {
    terms: ChoiceTerms,
    calibration: Calibration,
    budget: Budget,
    event: Event,
    noise_formula: String,
}

impl ArmMechanism {
    /// Calibrates the noise.
    pub fn calibrated(need: &ChoicesNeed, facts: &ContextFacts, request: &Request) -> Result<Self, Refusal> {
        let budget = request.budget_over(facts.rounds)?;
        let ChoicesNeed { radius, warm_up, residual, stated, synthetic } = *need;
        let range = match budget {
            Some(_) => request.range(facts.range)?,
            None => request.clip.or(facts.range),
        };
        // The as-printed calibration clips only where the spec states a clip.
        let bounds = match range {
            Some(range) if budget.is_some() && (request.calibration.corrects() || request.clip.is_some()) => {
                Some(ChoiceBounds::of(facts, radius, range, residual))
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
            participation: request.budget.participation,
            rounds: steps,
            dimension: facts.dimension,
            norm: max_norm.dual(),
            actual,
            stated: constants(stated.0, stated.1),
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
        let terms = ChoiceTerms {
            n_arms: facts.n_arms,
            dimension: facts.dimension,
            radius,
            link: facts.link,
            warm_up,
            start: terms.choice_start(),
            law,
            bounds,
            synthetic,
        };
        let (event, noise_formula) = (priced.event, priced.noise_formula);
        let budget =
            budget.map(|budget| Budget { participation: request.budget.participation, ..budget.into() }).unwrap_or_default();
        Ok(Self { terms, calibration: request.calibration, budget, event, noise_formula })
    }

    /// Returns the parameters of the streams.
    pub fn terms(&self) -> ChoiceTerms {
        self.terms
    }

    /// Makes the privatizer of a trial before its first round.
    pub fn privatizer(&self) -> Box<dyn InteractionPrivatizer> {
        Box::new(ArmChoices::new(self.terms))
    }

    /// Returns the ledger: claimed and delivered loss.
    pub fn ledger(&self) -> Ledger {
        let unclipped = self.terms.bounds.is_none();
        let doubt = if !self.terms.synthetic {
            ("an arm that does not move was not shown: without synthetic updates the arm of every user can be read off", "E30")
        } else if unclipped {
            ("rewards are not clipped: no loss is bounded", "E31")
        } else {
            ("the printed noise is too small for what an interaction moves", "E28, E29")
        };
        let mechanism = match self.terms.law {
            ChoiceLaw::Exact => "none",
            ChoiceLaw::Laplace { .. } => "laplace",
            ChoiceLaw::Gumbel { .. } => "gumbel",
        };
        Ledger::of(Claim {
            mechanism,
            calibration: self.calibration,
            event: if self.terms.synthetic { self.event } else { Event::NonPrivate },
            budget: self.budget,
            unit: ClaimUnit::Interaction { clip: self.terms.bounds.map(|bounds| bounds.range), local: false },
            noise_formula: self.noise_formula.clone(),
            doubt: Some(doubt),
            notes: match self.terms.bounds {
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
}
