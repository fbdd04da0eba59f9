//! Makes the file in which several sessions, releases and curated tables count what each record has spent.

use super::books::{BudgetTerms, Period};
use super::file::{DeploymentFile, NewFile};
use super::identity::Naming;
use super::people::IdKey;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{BudgetChange, FilterKind, PrivacyBudget};
use std::path::{Path, PathBuf};

/// The terms of an odometer, each the option of `privateer odometer` of its name.
#[derive(Debug, Clone)]
pub struct OdometerOptions {
    pub budget: PrivacyBudget,
    pub filter: FilterKind,
    pub change: Option<BudgetChange>,
    /// Rows of the table; `None` where records are named by ids.
    pub rows: Option<u64>,
    pub per: Option<Period>,
    pub id_key: Option<PathBuf>,
    pub anchor: Option<PathBuf>,
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
    let naming = match (rows, &key) {
        (Some(_), _) => Naming::Rows,
        (None, Some(_)) => Naming::Keyed,
        (None, None) => Naming::Ids,
    };
    let new = NewFile { naming, key_check: key.as_ref().map(IdKey::check), anchor: anchor.clone() };
    let file = DeploymentFile::create(path, &new, None)?;
    file.set_budget(&terms)?;
    file.commit()
}

/// Refuses a delta that allows records to be given out as they are.
///
/// # Errors
/// A delta of at least one over the number of rows, unless it is allowed.
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
