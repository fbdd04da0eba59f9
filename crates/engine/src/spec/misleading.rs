//! Names the kinds of settings that mislead, and reads which of them a spec means.

use privateer_config::error::closest;
use privateer_config::params::Args;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names a kind of setting that misleads whoever reads its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Misleading {
    /// The clip cuts the function off, or is far wider than rewards.
    Clip,
    /// More noise than signal over the whole run.
    Noise,
    /// The theorem's exploration factor exceeds all differences of the function for most of the run.
    ExplorationFactor,
    /// The horizon ends before the policy chooses.
    Rounds,
    /// A delta that a mechanism without privacy would satisfy.
    Delta,
    /// Rewards so far above the prior mean, 0, that a policy without privacy repeats its first point.
    PriorMean,
    /// One row of a table that has over half of the variance of its values.
    Outlier,
    /// Points of equal inputs that a policy cannot tell apart.
    Replicates,
    /// A kernel to which all points of a table are one, or strangers.
    Lengthscale,
    /// A column that counts rows or years and is played as an arm.
    IndexColumn,
}

impl Misleading {
    /// All kinds, with their names in a spec.
    const NAMES: [(Self, &'static str); 10] = [
        (Self::Clip, "clip"),
        (Self::Noise, "noise"),
        (Self::ExplorationFactor, "exploration-factor"),
        (Self::Rounds, "rounds"),
        (Self::Delta, "delta"),
        (Self::PriorMean, "prior-mean"),
        (Self::Outlier, "outlier"),
        (Self::Replicates, "replicates"),
        (Self::Lengthscale, "lengthscale"),
        (Self::IndexColumn, "index-column"),
    ];

    /// Returns whether the answer of a run says nothing true of the data while this stands.
    pub fn falsifies(self) -> bool {
        matches!(self, Self::Clip | Self::PriorMean | Self::Outlier | Self::Replicates | Self::IndexColumn)
    }

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    pub(super) fn accepted(top: &Args<'_>) -> Vec<Self> {
        let doc = "warnings that are meant, as where a paper is reproduced: `clip`, `noise`, `exploration-factor`, `rounds`, \
                   `delta`, `prior-mean`, `outlier`, `replicates`, `lengthscale`, `index-column`; they are listed as accepted, and `--strict` refuses them only where nothing is warned of";
        let mut accepted = Vec::new();
        for text in top.texts("accepted_warnings", doc).unwrap_or_default() {
            match Self::NAMES.iter().find(|(_, name)| *name == text) {
                Some((kind, _)) => accepted.push(*kind),
                None => top.reject_with_hint(
                    "accepted_warnings",
                    format!("no warning is called `{text}`"),
                    Self::NAMES.map(|(_, name)| format!("`{name}`")).join(", "),
                    closest(&text, Self::NAMES.map(|(_, name)| name)).map(|near| format!("did you mean `{near}`?")),
                ),
            }
        }
        accepted.sort_unstable();
        accepted.dedup();
        accepted
    }
}

impl fmt::Display for Misleading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().replace('-', " "))
    }
}
