//! What comes out of a release, and how it can fail.

use crate::accounting::Composition;
use crate::{Provenance, ThreatModel};
use serde::Serialize;
use std::fmt;

/// What a release says about itself. Holds no data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReleaseLedger {
    /// Name of the mechanism.
    pub mechanism: &'static str,
    /// Adversary, neighbouring inputs with clip and radius, protected unit and covered participations.
    pub threat_model: ThreatModel,
    /// Privacy loss of one unit.
    pub epsilon: f64,
    /// Failure probability; 0 for a pure claim.
    pub delta: f64,
    /// The noise in words.
    pub noise: String,
    /// Step of the grid, in units of the value; `None` where the output is no number.
    pub grid: Option<f64>,
    /// What was done, for another accountant.
    pub composition: Composition,
    /// Always released.
    pub provenance: Provenance,
}

/// A value that left through exact noise, with its ledger. Only the mechanisms of this room make one.
#[derive(Debug, Clone, PartialEq)]
pub struct Release<T> {
    value: T,
    ledger: ReleaseLedger,
}

impl<T> Release<T> {
    pub(super) fn new(value: T, ledger: ReleaseLedger) -> Self {
        Self { value, ledger }
    }

    /// The released value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// What it promises.
    pub fn ledger(&self) -> &ReleaseLedger {
        &self.ledger
    }
}

/// One line of JSON with value and ledger: the only way out for real data. Takes releases alone.
#[must_use]
pub fn publish<T: Serialize>(release: &Release<T>) -> String {
    serde_json::json!({ "value": release.value, "ledger": release.ledger }).to_string()
}

/// Why nothing was released. Says nothing about the data beyond the kind of fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseError {
    /// An entry is NaN or infinite.
    NotFinite,
    /// An input of the wrong length.
    Length {
        /// What was calibrated for.
        expected: usize,
    },
    /// A parameter outside of what exact arithmetic holds.
    Range(String),
    /// All rounds that the noise was calibrated for are released.
    Exhausted {
        /// How many.
        rounds: u64,
    },
    /// The operating system gave no entropy.
    NoEntropy(String),
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite => {
                f.write_str("an input is not finite; nothing was released: remove NaN and infinities before the release")
            }
            Self::Length { expected } => write!(f, "an input does not have the {expected} entries that were calibrated for"),
            Self::Range(what) => {
                write!(f, "{what} is outside of what exact arithmetic holds; change the unit, the clip or the budget")
            }
            Self::Exhausted { rounds } => write!(f, "all {rounds} rounds are released; calibrate for more (fewer are free)"),
            Self::NoEntropy(why) => write!(f, "the operating system gave no entropy ({why}); nothing was released"),
        }
    }
}

impl std::error::Error for ReleaseError {}
