//! The options of `release`, and whether they agree with what a state was begun with.

use super::columns::Column;
use super::file::{DeploymentFile, Side};
use super::identity::Naming;
#[cfg(feature = "cli")]
use super::options::range;
use super::options::{BudgetOptions, Difference, OccasionOptions, difference};
use privateer_config::error::{Diagnostic, Error};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Holds what all releases of a column share: mechanism, budget and clip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Declaration {
    pub(super) mechanism: String,
    pub(super) epsilon: f64,
    pub(super) delta: Option<f64>,
    pub(super) clip: [f64; 2],
    pub(super) column: String,
}

/// The terms of releases, as the options of `privateer release` state them.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct ReleaseOptions {
    /// Mechanism of every value: laplace, duchi, piecewise, hybrid, randomised-response, warped-piecewise, gaussian; stated once, with the first value
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub mechanism: Option<String>,
    /// Privacy loss of one answer
    #[cfg_attr(feature = "cli", arg(long, allow_negative_numbers = true, value_name = "E"))]
    pub epsilon: Option<f64>,
    /// Failure probability of one answer, for `gaussian`
    #[cfg_attr(feature = "cli", arg(long, allow_negative_numbers = true, value_name = "D"))]
    pub delta: Option<f64>,
    /// Public range to which values are clipped, never taken from the values themselves
    #[cfg_attr(feature = "cli", arg(long, value_name = "LO,HI", allow_hyphen_values = true, value_parser = range))]
    pub clip: Option<(f64, f64)>,
    /// What the values measure: answers about one record add up over all columns [default: reward]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub column: Option<String>,
    /// Name the records of a new deployment by ids
    #[cfg_attr(feature = "cli", arg(long))]
    pub ids: bool,
    /// Name records by ids and keep keyed hashes of them alone: the key is every byte of this file, which is kept elsewhere
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE"))]
    pub id_key: Option<PathBuf>,
    /// Take in people whose ids are new
    #[cfg_attr(feature = "cli", arg(long))]
    pub join: bool,
    /// Accept a delta of 0.001 or more, in the answer or in the budget
    #[cfg_attr(feature = "cli", arg(long))]
    pub allow_large_delta: bool,
    /// What one record may spend.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub budget: BudgetOptions,
    /// When and by whom the answer is made.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub occasion: OccasionOptions,
    /// Seal the answer with the key in this file, which whoever runs `tell` has too: forged answers are refused there
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE"))]
    pub key: Option<PathBuf>,
}

impl ReleaseOptions {
    /// Fails where an option is stated and is not what the file was begun with.
    pub(super) fn agree_with_file(&self, file: &DeploymentFile, column: &Column) -> Result<(), Error> {
        if (self.ids || self.id_key.is_some()) && file.identity.naming == Naming::Rows {
            return Err(differs("--ids", "given", "rows"));
        }
        if let (Some(path), None) = (&self.budget.odometer, &column.odometer)
            && path.canonicalize().ok().as_deref() != Some(file.path())
        {
            return Err(differs("--odometer", &path.display().to_string(), "none"));
        }
        let terms = file.budget(Side::Own)?.ok_or_else(|| file.altered(Side::Own, "its budget"))?;
        refuse_difference(self.budget.unlike(&terms))
    }

    /// Fails where an option is stated and is not what the state declares.
    pub(super) fn agree_with(&self, declared: &Declaration) -> Result<(), Error> {
        let range = |(lo, hi): &(f64, f64)| format!("{lo},{hi}");
        let found = difference("--mechanism", self.mechanism.as_ref(), Some(&declared.mechanism), |name| name.to_string())
            .or_else(|| difference("--epsilon", self.epsilon, Some(declared.epsilon), f64::to_string))
            .or_else(|| difference("--delta", self.delta, declared.delta, f64::to_string))
            .or_else(|| difference("--clip", self.clip, Some(declared.clip.into()), range))
            .or_else(|| difference("--column", self.column.as_ref(), Some(&declared.column), |name| name.to_string()));
        refuse_difference(found)
    }
}

fn refuse_difference(found: Option<Difference>) -> Result<(), Error> {
    found.map_or(Ok(()), |(option, stated, declared)| Err(differs(option, &stated, &declared)))
}

fn differs(option: &str, stated: &str, declared: &str) -> Error {
    Diagnostic::new(format!("`{option}` is {stated}, and the state was begun with {declared}"))
        .hint("leave the option out, or begin another state; a shared `--odometer` counts both")
        .error()
}
