//! What an audit says.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What an attack means for a claim. There is no "private": an attack that fails proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The attack shows no more than what is claimed.
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

/// The outcome of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Name of the case.
    pub name: String,
    /// Claimed privacy loss; `None` where nothing is claimed.
    pub epsilon: Option<f64>,
    /// Claimed failure probability.
    pub delta: f64,
    /// What epsilon is at least, read off (epsilon, delta) itself.
    pub direct: f64,
    /// The same read off Gaussian privacy, where that is what is claimed.
    pub gaussian: Option<f64>,
    /// The larger of the two.
    pub at_least: f64,
    /// Replays of each side.
    pub samples: u64,
    /// Confidence of this one verdict.
    pub confidence: f64,
    /// What follows.
    pub verdict: Verdict,
    /// Which erratum says that the claim is false; absent where the claim should hold.
    pub erratum: Option<String>,
    /// Where the claim comes from.
    pub source: String,
    /// The two neighbouring inputs.
    pub pair: String,
    /// The score.
    pub score: String,
}

/// A cell of a spec that was not attacked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassedOver {
    /// Its label.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// The audit of a run, as it lies in the run's folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditFile {
    /// Probability that no true claim of these is refuted.
    pub confidence: f64,
    /// Seed of the replays.
    pub seed: u64,
    /// One a look.
    pub findings: Vec<Finding>,
    /// Cells without one.
    pub passed_over: Vec<PassedOver>,
}

impl AuditFile {
    /// Its name in the folder.
    pub const NAME: &str = "audit.json";
}

impl Finding {
    /// Share of the claim that the attack reaches; above 1 it is refuted.
    #[must_use]
    pub fn reached(&self) -> Option<f64> {
        self.epsilon.map(|epsilon| self.at_least / epsilon)
    }

    /// Whether the verdict is what is known of the claim: refuted where an erratum says so, and nowhere else.
    #[must_use]
    pub fn as_known(&self) -> bool {
        (self.verdict == Verdict::Refuted) == self.erratum.is_some()
    }
}
