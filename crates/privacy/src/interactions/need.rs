//! States what contextual policies need of the privacy of interactions, and calibrates it.

use super::arm_mechanism::{ArmMechanism, ChoicesNeed};
use super::sums::{InteractionSums, SumsTerms};
use super::{ContextFacts, InteractionPrivatizer, no_privacy};
use crate::gram::GramLayout;
use crate::{Calibration, Ledger, Refusal, Request};
use std::sync::Arc;

/// States what a policy needs.
#[derive(Debug, Clone)]
pub enum InteractionNeed {
    /// Every interaction, unchanged: not private.
    Unchanged,
    /// Running sums over the interactions of all arms.
    Sums(InteractionSumsNeed),
    /// Vertices chosen along each arm's gradients.
    Choices(ChoicesNeed),
}

/// States which running sums a policy needs.
#[derive(Debug, Clone)]
pub struct InteractionSumsNeed {
    /// Rounds after which sums are released, ascending, at least 1.
    pub due: Arc<[u64]>,
    /// Bound on the Euclidean length of a context, which the mechanism enforces.
    pub context_length: f64,
    /// True if every user adds their own noise.
    pub local: bool,
}

/// Provides a calibrated mechanism for interactions, shared by all trials of a cell.
pub trait InteractionMechanism: Send + Sync {
    /// Makes the privatizer of a trial before its first round.
    fn privatizer(&self) -> Box<dyn InteractionPrivatizer>;

    /// Returns the ledger: claimed and delivered loss.
    fn ledger(&self) -> Ledger;
}

/// Holds the mechanism that meets a need.
#[derive(Debug)]
pub enum CalibratedInteractions {
    /// No mechanism.
    Unchanged(Calibration),
    /// Running sums.
    Sums(Box<InteractionSums>),
    /// Choices.
    Choices(Box<ArmMechanism>),
}

impl InteractionNeed {
    /// Calibrates the mechanism for a request.
    pub fn calibrated(&self, facts: &ContextFacts, request: &Request) -> Result<CalibratedInteractions, Refusal> {
        request.check_participation(facts.rounds)?;
        match self {
            Self::Unchanged => Ok(CalibratedInteractions::Unchanged(request.calibration)),
            Self::Choices(need) => {
                ArmMechanism::calibrated(need, facts, request).map(|choices| CalibratedInteractions::Choices(Box::new(choices)))
            }
            Self::Sums(need) => {
                let Some(budget) = request.budget_over(facts.rounds)? else {
                    return Err(Refusal::new("mechanism", "private sums need noise", "no `mechanism`, or `auto`"));
                };
                let Some(range) = request.range(facts.range)? else {
                    return Err(Refusal::new(
                        "clip",
                        "the rewards are not bounded, and the printed noise needs a bound",
                        "two numbers [lo, hi] with lo < hi",
                    ));
                };
                InteractionSums::calibrated(SumsTerms {
                    layout: GramLayout {
                        n_blocks: facts.n_arms,
                        dimension: facts.dimension,
                        joint: !request.calibration.redesigns(),
                    },
                    due: Arc::clone(&need.due),
                    rounds: facts.rounds,
                    context_length: need.context_length,
                    range,
                    request: *request,
                    budget,
                    local: need.local,
                })
                .map(|sums| CalibratedInteractions::Sums(Box::new(sums)))
            }
        }
    }
}

impl InteractionMechanism for CalibratedInteractions {
    fn privatizer(&self) -> Box<dyn InteractionPrivatizer> {
        match self {
            Self::Unchanged(_) => Box::new(no_privacy::NoPrivacy),
            Self::Sums(sums) => sums.privatizer(),
            Self::Choices(choices) => choices.privatizer(),
        }
    }

    fn ledger(&self) -> Ledger {
        match self {
            Self::Unchanged(calibration) => no_privacy::ledger(*calibration),
            Self::Sums(sums) => sums.ledger(),
            Self::Choices(choices) => choices.ledger(),
        }
    }
}
