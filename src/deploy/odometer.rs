//! Makes the file in which several sessions, releases and curated tables count what each record has spent.

use super::deployment::{bad_budget, new_name};
use super::notes::{Note, say_removed};
use crate::record::{StateFile, StateKind};
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{BudgetChange, FilterKind, Odometer, PrivacyBudget};
use std::path::Path;

/// The terms of an odometer, each the option of `privateer odometer` of its name.
#[derive(Debug, Clone)]
pub struct OdometerOptions {
    pub budget: PrivacyBudget,
    pub filter: FilterKind,
    pub change: Option<BudgetChange>,
    pub rows: u64,
    pub allow_large_delta: bool,
}

/// Writes a new odometer.
///
/// # Errors
/// A budget or filter that cannot be used, a file that is there already, no entropy.
pub fn odometer(path: &Path, options: &OdometerOptions, note: Note<'_>) -> Result<(), Error> {
    let OdometerOptions { budget, filter, change, rows, allow_large_delta } = *options;
    refuse_large_delta(budget.delta.map_or(0.0, privateer_privacy::Delta::get), rows, allow_large_delta)?;
    let odometer = Odometer::new(filter, Some(budget), Some(rows)).map_err(|why| bad_budget(&why))?.protecting(change);
    let content = serde_json::json!({ "id": new_name()?, "odometer": odometer });
    say_removed(StateFile::create(path, StateKind::Odometer, content)?, note);
    Ok(())
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
    Err(Error::input(
        Diagnostic::new(format!("delta = {delta} is not below one over the number of rows ({rows})"))
            .expected(format!("a delta far below {most:e}: this one allows a row to be released unchanged"))
            .hint("state a smaller delta; `--allow-large-delta` takes this one"),
    ))
}
