//! Joins the mechanisms of rewards and of sums behind one type.

use super::sums::SumsMechanism;
use super::{Ledger, Privatizer, RewardMechanism};
use std::sync::Arc;

/// Holds a calibrated mechanism for rewards or for sums.
#[derive(Debug, Clone)]
pub enum Channel {
    /// Mechanism for one reward at a time.
    Rewards(Arc<dyn RewardMechanism>),
    /// Mechanism for sums.
    Sums(Arc<dyn SumsMechanism>),
}

impl Channel {
    /// Makes a new privatizer for one trial.
    pub fn privatizer(&self) -> Box<dyn Privatizer> {
        match self {
            Self::Rewards(mechanism) => mechanism.privatizer(),
            Self::Sums(mechanism) => mechanism.privatizer(),
        }
    }

    /// Returns the ledger: claimed and delivered loss.
    pub fn ledger(&self) -> Ledger {
        match self {
            Self::Rewards(mechanism) => mechanism.ledger(),
            Self::Sums(mechanism) => mechanism.ledger(),
        }
    }

    /// Returns the mechanism for rewards; `None` for a mechanism for sums.
    pub fn rewards(&self) -> Option<&dyn RewardMechanism> {
        match self {
            Self::Rewards(mechanism) => Some(mechanism.as_ref()),
            Self::Sums(_) => None,
        }
    }

    /// Returns the mechanism for sums; `None` for a mechanism for rewards.
    pub fn sums(&self) -> Option<&dyn SumsMechanism> {
        match self {
            Self::Rewards(_) => None,
            Self::Sums(mechanism) => Some(mechanism.as_ref()),
        }
    }
}
