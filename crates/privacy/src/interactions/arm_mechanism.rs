//! Calibrates the noise of choices for the arms of a contextual bandit [Han2022, algorithm 3].
//!
//! Proof: `docs/proofs/interactions.md`.

use super::choices::{ArmChoices, ChoiceBounds, ChoiceLaw, ChoiceTerms};
use super::{ContextFacts, InteractionPrivatizer};
use crate::gradients::{Constants, SampleClip, Terms};
use crate::{Budget, Claim, ClaimUnit, Event, Ledger, Protects, Refusal, Request, automatic};
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
    claim: Claim,
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
        let name = automatic(request.mechanism, Protects::Choices, request.calibration);
        if !matches!(name, "gumbel" | "laplace" | "none") {
            let message = format!("`{name}` is noise on sums, and this policy releases choices");
            return Err(Refusal::new("mechanism", message, "`auto`, `laplace`, `gumbel` or `none`"));
        }
        // At the start arms step in turn: a user who comes again moves choices of several arms, in an order that no price covers.
        let in_order = request.budget.participation.is_once() || warm_up == 0;
        let priced = terms.choice_noise(name == "gumbel", 1.0, in_order)?;
        let law = priced.noise;
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
        let doubt = if !synthetic {
            ("an arm that does not move was not shown: without synthetic updates the arm of every user can be read off", "E30")
        } else if bounds.is_none() {
            ("rewards are not clipped: no loss is bounded", "E31")
        } else {
            ("the printed noise is too small for what an interaction moves", "E28, E29")
        };
        let note = |bounds: ChoiceBounds| {
            format!("entries of a context beyond {} shrink it, |zeta - r| is cut off at {}", bounds.entry, bounds.residual)
        };
        let budget =
            budget.map(|budget| Budget { participation: request.budget.participation, ..budget.into() }).unwrap_or_default();
        let request = Request { mechanism: law.name(), budget, ..*request };
        let unit = ClaimUnit::Interaction { clip: bounds.map(|bounds| bounds.range), local: false };
        let event = if synthetic { priced.event } else { Event::NonPrivate };
        let notes = bounds.map(note).into_iter().collect();
        let claim = Claim { doubt: Some(doubt), notes, ..Claim::of(&request, unit, event, priced.noise_formula) };
        Ok(Self { terms, claim })
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
        Ledger::of(self.claim.clone())
    }
}
