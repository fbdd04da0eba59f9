//! What every deployment may state: its budget, and when and by whom an answer is made.

use super::books::{BudgetTerms, Occasion, Period};
use super::file::{DeploymentFile, Side, now};
#[cfg(feature = "cli")]
use privateer_config::error::suggestion;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{FilterKind, PrivacyBudget};
use serde::de::Error as _;
#[cfg(feature = "cli")]
use serde::de::{DeserializeOwned, value::Error as Unread, value::StrDeserializer};
use serde::{Deserialize, Deserializer};
use std::path::PathBuf;

/// Options of a deployment's budget.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct BudgetOptions {
    /// Most that one record may spend, as in `epsilon=4,delta=1e-6`: an answer that would exceed it is refused [default: none]
    #[cfg_attr(feature = "cli", arg(long, value_name = "BUDGET"))]
    #[serde(deserialize_with = "parsed")]
    pub budget: Option<PrivacyBudget>,
    /// How losses of adaptively chosen answers add up: sum (of epsilon), zcdp, gaussian-dp [default: the mechanism's own]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub filter: Option<FilterKind>,
    /// An odometer that `privateer odometer` made, shared with other sessions about the same records: its budget and filter hold
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE", conflicts_with_all = ["budget", "filter"]))]
    pub odometer: Option<PathBuf>,
    /// Renew the budget each day, week, month or year (UTC): it holds for the answers of one of them, and those of several add up
    #[cfg_attr(feature = "cli", arg(long, value_name = "PERIOD", requires = "budget", conflicts_with = "odometer"))]
    #[serde(deserialize_with = "parsed")]
    pub per: Option<Period>,
    /// A file on another disk that keeps the newest answer of a new deployment: older copies of it are refused by that
    #[cfg_attr(feature = "cli", arg(long, value_name = "FILE"))]
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
    pub(super) fn unlike(&self, terms: &BudgetTerms) -> Option<Difference> {
        difference("--budget", self.budget, terms.budget, PrivacyBudget::to_string)
            .or_else(|| difference("--filter", self.filter, Some(terms.filter), FilterKind::to_string))
            .or_else(|| difference("--per", self.per, terms.per, Period::to_string))
    }
}

/// An option that is stated and not what a file declares, with both values in words.
pub(super) type Difference = (&'static str, String, String);

/// Compares what an option states, if anything, with what a file declares.
pub(super) fn difference<T: PartialEq>(
    option: &'static str,
    stated: Option<T>,
    declared: Option<T>,
    words: impl Fn(&T) -> String,
) -> Option<Difference> {
    let stated = stated.filter(|stated| declared.as_ref() != Some(stated))?;
    Some((option, words(&stated), declared.as_ref().map_or("none".to_owned(), &words)))
}

/// Reads a value that is written as on the command line, as in `epsilon=4,delta=1e-6`.
fn parsed<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: ToString>>(from: D) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse()).transpose().map_err(|why: T::Err| D::Error::custom(why.to_string()))
}

/// When and by whom an answer is made, as its options state it.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct OccasionOptions {
    // In seconds since 1970.
    /// When the answer is made (UTC), as in `2026-03-01T12:00:00Z` or `2026-03-01`: never before the newest one [default: now]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", value_parser = moment))]
    pub time: Option<i64>,
    /// Who makes the answer, for the books
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub who: Option<String>,
}

impl OccasionOptions {
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

/// Reads a moment of UTC as seconds since 1970.
#[cfg(feature = "cli")]
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

/// Reads `LO,HI`.
#[cfg(feature = "cli")]
pub(super) fn range(text: &str) -> Result<(f64, f64), &'static str> {
    let number = |part: &str| part.trim().parse().ok();
    let ends = text.split_once(',').and_then(|(lo, hi)| number(lo).zip(number(hi)));
    ends.ok_or("expected two numbers, as in `--clip -1,1`")
}

/// Returns a reader of one of these names.
#[cfg(feature = "cli")]
pub(super) fn one_of<T: DeserializeOwned>(names: &'static [&'static str]) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |name| {
        T::deserialize(StrDeserializer::<Unread>::new(name)).map_err(|_| {
            let hint = suggestion(name, names.iter().copied()).map_or(String::new(), |hint| format!("; {hint}"));
            format!("expected one of {}{hint}", names.join(", "))
        })
    }
}

#[cfg(all(test, feature = "cli"))]
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
