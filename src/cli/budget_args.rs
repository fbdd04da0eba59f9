//! Options of a deployment's budget and of the occasion of an answer, as the command line states them.

use crate::deploy::{BudgetOptions, OccasionOptions, Period, bad_budget};
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
    /// Renew the budget each day, week, month or year (UTC): it holds for the answers of one of them, and those of several add up
    #[arg(long, value_name = "PERIOD", requires = "budget", conflicts_with = "odometer")]
    per: Option<Period>,
    /// A file on another disk that keeps the newest answer of a new deployment: older copies of it are refused by that
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
}

impl BudgetArgs {
    /// Returns what is stated.
    ///
    /// # Errors
    /// A text that is no budget or no filter.
    pub fn options(&self) -> Result<BudgetOptions, Error> {
        let (budget, filter) = (budget(self.budget.as_deref())?, filter(self.filter.as_deref())?);
        Ok(BudgetOptions { budget, filter, per: self.per, odometer: self.odometer.clone(), anchor: self.anchor.clone() })
    }
}

/// When an answer is made, and by whom.
#[derive(Debug, Clone, Args)]
pub struct OccasionArgs {
    /// When the answer is made (UTC), as in `2026-03-01T12:00:00Z` or `2026-03-01`: never before the newest one [default: now]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    time: Option<i64>,
    /// Who makes the answer, for the books
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
}

impl OccasionArgs {
    /// Returns what is stated.
    pub fn options(&self) -> OccasionOptions {
        OccasionOptions { time: self.time, who: self.who.clone() }
    }
}

/// Reads a moment of UTC as seconds since 1970.
fn moment(text: &str) -> Result<i64, String> {
    let expected = || "expected a day or a moment, UTC, as in `2026-03-01` or `2026-03-01T12:00:00Z`".to_owned();
    let (day, time) = text.strip_suffix('Z').unwrap_or(text).split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, mark: char| -> Option<[i64; 3]> {
        let parts: Vec<i64> =
            text.split(mark).map(|part| part.parse().ok().filter(|number| 0 <= *number)).collect::<Option<_>>()?;
        parts.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = numbers(day, '-').zip(numbers(time, ':')).ok_or_else(expected)?;
    let days_of =
        [31, if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let is_real = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of[(month - 1).clamp(0, 11) as usize]).contains(&day)
        && (hour, minute, second) < (24, 0, 0)
        && minute < 60
        && second < 60;
    if !is_real {
        return Err(expected());
    }
    let leaps = |year: i64| year / 4 - year / 100 + year / 400;
    let days = 365 * (year - 1970) + leaps(year - 1) - leaps(1969) + days_of[..month as usize - 1].iter().sum::<i64>() + day - 1;
    Ok(((24 * days + hour) * 60 + minute) * 60 + second)
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
        Diagnostic::new(found).expected(format!("one of {}", FilterKind::NAMES.join(", "))).error()
    })
}

#[cfg(test)]
mod tests {
    use super::moment;

    /// As `date -u -d … +%s` prints them.
    #[test]
    fn moments_are_seconds_since_1970() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-03-01T12:00:00Z", 1_772_366_400),
            ("2026-12-31 00:00:01", 1_798_675_201),
        ] {
            assert_eq!(moment(text), Ok(seconds), "{text}");
        }
        for bad in [
            "",
            "2026",
            "2026-02-29",
            "2026-13-01",
            "2026-01-00",
            "2026-01-01T24:00:00",
            "2026-01-01T1:2",
            "1969-12-31",
            "-1-1-1",
        ] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }
}
