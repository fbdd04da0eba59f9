//! Defines the results of an audit.

use serde::{Deserialize, Serialize};
use std::fmt;

/// States what an attack implies for a claim; a failed attack proves nothing, so no "private".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// The attack's bound does not exceed the claim.
    Consistent,
    /// The claim is false.
    Refuted,
    /// Nothing is claimed.
    NoClaim,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Consistent => "consistent",
            Self::Refuted => "refuted",
            Self::NoClaim => "no claim",
        })
    }
}

/// Holds the outcome of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// Name of the case.
    pub name: String,
    /// Claimed privacy loss; `None` where nothing is claimed.
    pub epsilon: Option<f64>,
    /// Claimed failure probability.
    pub delta: f64,
    /// Lower bound on epsilon, from (epsilon, delta) itself.
    pub direct: f64,
    /// Lower bound on epsilon through Gaussian privacy, where that is the claim.
    pub gaussian: Option<f64>,
    /// The larger of the two lower bounds.
    pub at_least: f64,
    /// Number of replays of each side.
    pub samples: u64,
    /// Confidence of this verdict.
    pub confidence: f64,
    /// The verdict on the claim.
    pub verdict: Verdict,
    /// The erratum that states that the claim is false; absent where the claim should hold.
    pub erratum: Option<String>,
    /// Source of the claim.
    pub source: String,
    /// The two neighbouring inputs.
    pub pair: String,
    /// The score.
    pub score: String,
}

/// Names a cell of a spec that was not attacked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PassedOver {
    /// The cell's label.
    pub name: String,
    /// The reason for not attacking it.
    pub reason: String,
}

/// Holds the audit of a run, as stored in the run's folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditFile {
    /// Probability that none of the true claims is refuted.
    pub confidence: f64,
    /// Seed of the replays.
    pub seed: u64,
    /// One finding per attack.
    pub findings: Vec<Finding>,
    /// Cells that were not attacked.
    pub passed_over: Vec<PassedOver>,
}

impl AuditFile {
    /// File name in the folder.
    pub const NAME: &str = "audit.json";
}

impl Finding {
    /// Returns the lower bound as a share of the claim; above 1 the claim is refuted.
    pub fn reached(&self) -> Option<f64> {
        self.epsilon.map(|epsilon| self.at_least / epsilon)
    }

    /// Returns whether the verdict agrees with the errata: refuted if and only if one says so.
    pub fn as_known(&self) -> bool {
        (self.verdict == Verdict::Refuted) == self.erratum.is_some()
    }
}
