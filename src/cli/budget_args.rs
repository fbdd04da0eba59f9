//! Options of a deployment's budget, as the command line states them.

use crate::deploy::{BudgetOptions, bad_budget};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{FilterKind, PrivacyBudget};
use std::path::PathBuf;

/// Options of a deployment's budget.
#[derive(Debug, Args)]
pub struct BudgetArgs {
    /// Most that one record may spend, as in `epsilon=4,delta=1e-6`: an answer that would exceed it is refused [default: none]
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,
    /// How losses of adaptively chosen answers add up: sum (of epsilon), zcdp, gaussian-dp [default: the mechanism's own]
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// An odometer that `privateer odometer` made, shared with other sessions about the same records: its budget and filter hold
    #[arg(long, value_name = "FILE", conflicts_with_all = ["budget", "filter"])]
    odometer: Option<PathBuf>,
}

impl BudgetArgs {
    /// Returns what is stated.
    ///
    /// # Errors
    /// A text that is no budget or no filter.
    pub fn options(&self) -> Result<BudgetOptions, Error> {
        let (budget, filter) = (budget(self.budget.as_deref())?, filter(self.filter.as_deref())?);
        Ok(BudgetOptions { budget, filter, odometer: self.odometer.clone() })
    }
}

/// Reads `--budget`.
///
/// # Errors
/// A text that is no budget.
pub fn budget(text: Option<&str>) -> Result<Option<PrivacyBudget>, Error> {
    text.map(str::parse).transpose().map_err(|why| bad_budget(&why))
}

/// Reads `--filter`.
///
/// # Errors
/// A name that no filter has.
pub fn filter(name: Option<&str>) -> Result<Option<FilterKind>, Error> {
    name.map(str::parse).transpose().map_err(|_| {
        let found = format!("`--filter` is `{}`", name.unwrap_or_default());
        Error::input(Diagnostic::new(found).expected(format!("one of {}", FilterKind::NAMES.join(", "))))
    })
}
