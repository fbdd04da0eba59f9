//! Makes the file in which several sessions, releases and curated tables count what each record has spent.

use super::books::{BudgetTerms, Period};
use super::file::DeploymentFile;
use super::people::{IdKey, new_identity};
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{BudgetChange, FilterKind, PrivacyBudget};
use std::path::{Path, PathBuf};

/// The terms of an odometer, as the options of `privateer odometer` state them.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct OdometerOptions {
    /// Most that one record may spend over everything that shares the file, as in `epsilon=4,delta=1e-6`
    #[cfg_attr(feature = "cli", arg(long, value_name = "BUDGET"))]
    pub budget: PrivacyBudget,
    /// How losses of adaptively chosen releases add up: sum (of epsilon), zcdp, gaussian-dp
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub filter: FilterKind,
    /// The change of a record that the budget holds for: `inputs=RADIUS` (moved by at most that, in released units), `values` or
    /// `record`; it also holds for the largest change that a release names [default: that alone, of one kind]
    #[cfg_attr(feature = "cli", arg(long, value_name = "CHANGE"))]
    pub change: Option<BudgetChange>,
    /// Rows of the table: record i is row i in everything that shares the file
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), required_unless_present_any = ["ids", "id_key"])
    )]
    pub rows: Option<u64>,
    /// Name records by ids and keep keyed hashes of them alone: the key is every byte of this file, which is kept elsewhere
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", conflicts_with = "rows"))]
    pub id_key: Option<PathBuf>,
    /// Renew the budget each day, week, month or year (UTC): it holds for the answers of one of them, and those of several add up
    #[cfg_attr(feature = "cli", arg(long, value_name = "PERIOD"))]
    pub per: Option<Period>,
    /// A file on another disk that keeps the newest answer: older copies of the odometer are refused by that
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE"))]
    pub anchor: Option<PathBuf>,
    /// Accept a delta of at least one over the number of rows
    #[cfg_attr(feature = "cli", arg(long))]
    pub allow_large_delta: bool,
}

/// Writes a new odometer.
///
/// # Errors
/// A budget or filter that cannot be used, a file that is there already, no entropy.
pub fn odometer(path: &Path, options: &OdometerOptions) -> Result<(), Error> {
    let OdometerOptions { budget, filter, change, rows, per, ref id_key, ref anchor, allow_large_delta } = *options;
    if let Some(rows) = rows {
        refuse_large_delta(budget.delta.map_or(0.0, privateer_privacy::Delta::get), rows, allow_large_delta)?;
    }
    let terms = BudgetTerms { filter, budget: Some(budget), protects: change, rows, per };
    terms.fresh()?;
    let key = id_key.as_deref().map(IdKey::read).transpose()?;
    let file = DeploymentFile::create(path, &new_identity(rows.is_some(), key.as_ref(), anchor.as_ref())?, None)?;
    file.set_budget(&terms)?;
    file.commit()
}

/// Refuses a delta that allows records to be given out as they are.
pub fn refuse_large_delta(delta: f64, rows: u64, allowed: bool) -> Result<(), Error> {
    let most = 1.0 / rows as f64;
    if allowed || delta < most {
        return Ok(());
    }
    Diagnostic::new(format!("delta = {delta} is not below one over the number of rows ({rows})"))
        .expected(format!("a delta far below {most:e}: this one allows a row to be released unchanged"))
        .hint("state a smaller delta; `--allow-large-delta` takes this one")
        .refuse()
}
