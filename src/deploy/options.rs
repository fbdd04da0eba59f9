//! What every deployment may state: its budget, and when and by whom an answer is made.

use super::books::{BudgetTerms, Occasion, Period};
use super::file::{DeploymentFile, Side, now};
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{BadBudget, FilterKind, PrivacyBudget};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::path::PathBuf;

/// Options of a deployment's budget.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetOptions {
    /// Most that one record may spend; `None` for no limit.
    #[serde(deserialize_with = "parsed")]
    pub budget: Option<PrivacyBudget>,
    /// How losses of adaptively chosen answers add up; the mechanism's own if absent.
    pub filter: Option<FilterKind>,
    /// How often the budget is renewed; never if absent.
    #[serde(deserialize_with = "parsed")]
    pub per: Option<Period>,
    /// An odometer that other sessions about the same records share; its budget and filter hold.
    pub odometer: Option<PathBuf>,
    /// The file that knows the newest answer of a new deployment, on another disk.
    pub anchor: Option<PathBuf>,
}

impl BudgetOptions {
    /// Returns the failure probability of the budget; 0 without one.
    pub(super) fn delta(&self) -> f64 {
        self.budget.and_then(|budget| budget.delta).map_or(0.0, privateer_privacy::Delta::get)
    }

    /// Whether anything is stated about what records may spend.
    pub(super) fn counts(&self) -> bool {
        self.budget.is_some() || self.filter.is_some() || self.odometer.is_some() || self.per.is_some()
    }

    /// Returns the first option that is stated and not what a file declares, with both values.
    pub(super) fn unlike(&self, terms: &BudgetTerms) -> Option<(&'static str, String, String)> {
        let words = |declared: Option<String>| declared.unwrap_or_else(|| "none".to_owned());
        if let Some(stated) = self.budget.filter(|stated| terms.budget != Some(*stated)) {
            return Some(("--budget", stated.to_string(), words(terms.budget.map(|budget| budget.to_string()))));
        }
        if let Some(stated) = self.filter.filter(|stated| terms.filter != *stated) {
            return Some(("--filter", stated.to_string(), terms.filter.to_string()));
        }
        let stated = self.per.filter(|stated| terms.per != Some(*stated))?;
        Some(("--per", stated.to_string(), words(terms.per.map(|period| period.to_string()))))
    }
}

/// Reads a value that is written as on the command line, as in `epsilon=4,delta=1e-6`.
fn parsed<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: ToString>>(from: D) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse()).transpose().map_err(|why: T::Err| D::Error::custom(why.to_string()))
}

/// When and by whom an answer is made, as its options state it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OccasionOptions {
    /// The moment, in seconds since 1970; now if absent.
    pub time: Option<i64>,
    /// Who makes it.
    pub who: Option<String>,
}

impl OccasionOptions {
    /// Returns the occasion of a command.
    ///
    /// # Errors
    /// A moment that is still to come.
    pub(super) fn of(&self, command: &'static str) -> Result<Occasion, Error> {
        let (time, now) = (self.time.unwrap_or_else(now), now());
        if now < time || time < 0 {
            return Diagnostic::new("`--time` is still to come, or before 1970")
                .expected("a moment until now, UTC, as in `2026-03-01T12:00:00Z`")
                .refuse();
        }
        Ok(Occasion { time, is_stated: self.time.is_some(), command, who: self.who.clone().unwrap_or_default() })
    }
}

/// Clocks of machines that share a file may differ by so much, in seconds.
const CLOCKS: i64 = 300;

impl Occasion {
    /// Fails where an answer would be before the newest one of a file; a clock that is a little late takes the moment of that.
    pub(super) fn after(mut self, file: &DeploymentFile, side: Side) -> Result<Self, Error> {
        let Some(newest) = file.newest(side)?.filter(|newest| self.time < *newest) else { return Ok(self) };
        if !self.is_stated && newest - self.time <= CLOCKS {
            self.time = newest;
            return Ok(self);
        }
        Diagnostic::new(format!(
            "the clock, or `--time`, is {} s before the newest answer of `{}`",
            newest - self.time,
            file.path_of(side).display()
        ))
        .expected("answers in the order of their times")
        .hint("a budget that is renewed by the calendar rests on them: set the clock right")
        .refuse()
    }
}

/// Returns the message for a budget that cannot be used.
pub fn bad_budget(why: &BadBudget) -> Error {
    Diagnostic::new(format!("`--budget` is refused: {why}"))
        .expected("`--budget epsilon=4,delta=1e-6`, or `--budget epsilon=4` for filter `sum`")
        .error()
}
