//! Counts what the records of a file have spent: the budget, each answer with its spend, and the totals of every record.

use super::anchor::Ticket;
use super::answers::chained;
use super::columns::Column;
use super::failure::bad_budget;
use super::file::{DeploymentFile, Side};
use super::seal::{self, Seal, text};
use privateer_config::error::Error;
use privateer_privacy::odometer::{BudgetChange, FilterKind, Odometer, PrivacyBudget, Spend, SpentRecords};
use privateer_privacy::release::KeptRelease;
use privateer_privacy::{Delta, Epsilon};
use rusqlite::types::{Value, ValueRef};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The record that stands for every record.
pub const EVERY: i64 = -1;

/// A span of the calendar, UTC, over which spends are limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// From midnight on.
    Day,
    /// From Monday on.
    Week,
    /// From its first day on.
    Month,
    /// From its first day on.
    Year,
}

impl Period {
    /// Every period, by its name on the command line.
    pub const ALL: [(&'static str, Self); 4] =
        [("day", Self::Day), ("week", Self::Week), ("month", Self::Month), ("year", Self::Year)];

    /// Returns an SQL expression for the number of the period in which the moment `?1` lies.
    fn number(self) -> &'static str {
        match self {
            Self::Day => "SELECT ?1 / 86400",
            // 1970-01-01 was a Thursday.
            Self::Week => "SELECT (?1 / 86400 + 3) / 7",
            Self::Month => "SELECT strftime('%Y', ?1, 'unixepoch') * 12 + strftime('%m', ?1, 'unixepoch')",
            Self::Year => "SELECT strftime('%Y', ?1, 'unixepoch') + 0",
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::ALL.into_iter().find(|(_, period)| period == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == text);
        found
            .map(|(_, period)| period)
            .ok_or_else(|| format!("`{text}` is not a period, expected day, week, month or year (UTC)"))
    }
}

/// What a file promises to each record.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetTerms {
    pub filter: FilterKind,
    /// Most that one record may spend; `None` for no limit.
    pub budget: Option<PrivacyBudget>,
    /// The change of a record that the budget is stated for.
    pub protects: Option<BudgetChange>,
    /// Records of the table, where they are rows of one.
    pub rows: Option<u64>,
    /// How often the budget is renewed; `None` for never.
    pub per: Option<Period>,
}

impl BudgetTerms {
    /// Returns an account without spends.
    pub fn fresh(&self) -> Result<Odometer, Error> {
        let made = Odometer::new(self.filter, self.budget, self.rows).map_err(|why| bad_budget(&why))?;
        Ok(made.protecting(self.protects))
    }
}

/// When and by whom an answer is made.
#[derive(Debug, Clone)]
pub struct Occasion {
    /// The moment, in seconds since 1970.
    pub time: i64,
    /// Whether it was stated, and is not what the clock says.
    pub is_stated: bool,
    /// The command, without its values.
    pub command: &'static str,
    /// Who made it, where that is stated.
    pub who: String,
}

/// An answer that is paid for: which record, by which column, and what is kept of it.
pub struct Paid<'a> {
    pub column: i64,
    pub record: SpentRecords,
    /// Its name where it was made elsewhere.
    pub name: Option<Seal>,
    /// The round, the column under which the answer is kept, and the answer; `None` where it is kept elsewhere.
    pub kept: Option<(u64, i64, &'a KeptRelease)>,
}

fn number_of(record: SpentRecords) -> i64 {
    match record {
        SpentRecords::All => EVERY,
        SpentRecords::One { row } => row as i64,
    }
}

pub(super) fn records_of(number: i64) -> SpentRecords {
    if number == EVERY { SpentRecords::All } else { SpentRecords::One { row: number as u64 } }
}

impl DeploymentFile {
    pub(super) fn set_budget(&self, terms: &BudgetTerms) -> Result<(), Error> {
        let row = [
            terms.filter.to_string().into(),
            terms.budget.map(|budget| budget.epsilon.get()).into(),
            terms.budget.and_then(|budget| budget.delta).map(Delta::get).into(),
            terms.protects.map(|change| change.to_string()).into(),
            terms.rows.map(|rows| rows as i64).into(),
            terms.per.map(|period| period.to_string()).into(),
        ];
        self.insert(Side::Own, "budgets", row)
    }

    /// Returns what each record may spend; `None` for a file that has stated nothing.
    pub(super) fn budget(&self, side: Side) -> Result<Option<BudgetTerms>, Error> {
        let read = |row: &rusqlite::Row<'_>| {
            let (filter, epsilon, delta): (String, Option<f64>, Option<f64>) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (protects, rows, per): (Option<String>, Option<i64>, Option<String>) = (row.get(3)?, row.get(4)?, row.get(5)?);
            let terms = || {
                let budget = match epsilon {
                    None => None,
                    Some(epsilon) => {
                        let delta = delta.map(Delta::try_from).transpose().ok()?;
                        Some(PrivacyBudget { epsilon: Epsilon::try_from(epsilon).ok()?, delta })
                    }
                };
                let protects = protects.map(|change| change.parse()).transpose().ok()?;
                let per = per.map(|period| period.parse()).transpose().ok()?;
                Some(BudgetTerms { filter: filter.parse().ok()?, budget, protects, rows: rows.map(|rows| rows as u64), per })
            };
            Ok(terms())
        };
        let Some(terms) = self.rows(side, ("budgets", "1"), &[], read)?.into_iter().next() else { return Ok(None) };
        terms.map(Some).ok_or_else(|| self.altered(side, "its budget"))
    }

    /// Returns the number of the period of a budget in which a moment lies; 0 for a budget that is never renewed.
    pub(super) fn period(&self, terms: &BudgetTerms, time: i64) -> Result<i64, Error> {
        let Some(period) = terms.per else { return Ok(0) };
        self.value(period.number(), [time])
    }

    /// Returns the account of some records in a period, with those that every record has spent.
    ///
    /// All kinds of releases are in it, since a budget holds for the largest change that any of them names; of other records only that.
    ///
    /// * `record` — the record; `None` for all of them
    /// * `period` — the number of the period; `None` for all of them together
    pub(super) fn account(
        &self,
        side: Side,
        (terms, columns): (&BudgetTerms, &[Column]),
        record: Option<u64>,
        period: Option<i64>,
    ) -> Result<Odometer, Error> {
        let mut odometer = terms.fresh()?;
        let mut whose = record.map_or("1".to_owned(), |record| format!("record IN ({EVERY}, {})", record as i64));
        if let Some(period) = period {
            whose += &format!(" AND period = {period}");
        }
        add_counts(&mut odometer, columns, self.counts(side, &whose)?);
        Ok(odometer)
    }

    /// Returns the numbers of answers of some accounts, by record and column.
    pub(super) fn counts(&self, side: Side, whose: &str) -> Result<BTreeMap<(i64, i64), u64>, Error> {
        let read = |row: &rusqlite::Row<'_>| Ok(((row.get(0)?, row.get(1)?), row.get::<_, i64>(3)?));
        let mut counts = BTreeMap::new();
        for (of, n) in self.rows(side, ("accounts", whose), &[], read)? {
            *counts.entry(of).or_default() += n as u64;
        }
        Ok(counts)
    }

    pub(super) fn newest(&self, side: Side) -> Result<Option<i64>, Error> {
        let sql = format!("SELECT time FROM {}.spends ORDER BY spend_id DESC LIMIT 1", side.schema());
        self.first(Side::Own, &sql, [], |row| row.get(0))
    }

    /// Returns the number of a command, which is added where it is new.
    pub(super) fn command(&self, side: Side, occasion: &Occasion) -> Result<i64, Error> {
        let values = [env!("CARGO_PKG_VERSION"), occasion.command, &occasion.who].map(text);
        let whose = ("commands", "program_version = ?1 AND command = ?2 AND who = ?3");
        if let Some(known) = self.rows(side, whose, &values, |row| row.get(0))?.first() {
            return Ok(*known);
        }
        let number = self.next(side, "commands", "command_id")?;
        let [version, command, who] = values;
        self.insert(side, "commands", [number.into(), version, command, who])?;
        Ok(number)
    }

    pub(super) fn note_refusal(&self, column: i64, record: u64, why: &str, occasion: &Occasion) -> Result<(), Error> {
        let command = self.command(Side::Own, occasion)?;
        let number = self.next(Side::Own, "refusals", "refusal_id")?;
        let row = [number.into(), occasion.time.into(), column.into(), (record as i64).into(), command.into(), text(why)];
        self.insert(Side::Own, "refusals", row)
    }

    /// Counts an answer and keeps it; returns its ticket.
    pub(super) fn pay(&self, side: Side, paid: &Paid<'_>, occasion: &Occasion, period: i64) -> Result<Ticket, Error> {
        let schema = side.schema();
        let before = self.ticket(side)?;
        let number = before.map_or(0, |last| last.number) as i64 + 1;
        let record = number_of(paid.record);
        let command = self.command(side, occasion)?;
        let name = Value::from(paid.name.map(|name| name.to_vec()));
        let spend = [paid.column, record, occasion.time, command];
        let mut release = Vec::new();
        if let Some((round, column, kept)) = paid.kept {
            let (released, reward, key, item) = match kept {
                KeptRelease::Reward(released) => (Some(*released), None, None, None),
                // Eight bytes for each number.
                KeptRelease::Item(numbers) => {
                    (None, None, None, Some(numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()))
                }
                KeptRelease::Raw { reward, key } => (None, Some(*reward), Some(key.to_vec()), None),
            };
            release = vec![column.into(), (round as i64).into(), released.into(), reward.into(), key.into(), item.into()];
        }
        let salt = salt()?;
        let own = [number].into_iter().chain(spend).map(Value::Integer).chain([name.clone(), Value::Integer(salt)]);
        let values: Vec<Value> = own.chain(release.iter().cloned()).collect();
        let sealed = chained(self.seed(side), before.map(|last| last.name), values.iter().map(ValueRef::from));
        let add = format!("INSERT INTO {schema}.spends VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
        let row = (number, paid.column, record, occasion.time, command, name, salt, sealed);
        self.statement(&add)?.execute(row).map_err(|why| self.failed(&why))?;
        if let [column, round, released, reward, key, item] = &release[..] {
            let add = format!("INSERT INTO {schema}.releases VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
            let row = (number, column, record, round, released, reward, key, item);
            self.statement(&add)?.execute(row).map_err(|why| self.failed(&why))?;
        }
        let whose = [record, paid.column, period];
        let known = ("accounts", "record = ?1 AND column_id = ?2 AND period = ?3");
        let known: Vec<i64> = self.rows(side, known, &whose.map(Value::Integer), |row| row.get(3))?;
        let n = known.first().copied().unwrap_or(0) + 1;
        self.insert(side, "accounts", [record, paid.column, period, n].map(Value::Integer))?;
        self.update(side, "columns", "n = n + 1", &format!("column_id = {}", paid.column), &[])?;
        Ok(Ticket { number: number as u64, name: sealed })
    }

    /// Returns the newest answer of another party's file, as far as it was told here.
    pub(super) fn newest_of(&self, source: &str) -> Result<Option<Ticket>, Error> {
        let read = |row: &rusqlite::Row<'_>| Ok(Ticket { number: row.get::<_, i64>(1)? as u64, name: row.get(2)? });
        Ok(self.rows(Side::Own, ("tickets", "source = ?1"), &[text(source)], read)?.first().copied())
    }

    /// Keeps the newest answer of another party's file.
    pub(super) fn set_newest_of(&self, source: &str, newest: Ticket) -> Result<(), Error> {
        self.insert(Side::Own, "tickets", [text(source), (newest.number as i64).into(), newest.name.to_vec().into()])
    }

    /// Whether an answer of this name, made elsewhere, was told.
    pub(super) fn knows(&self, name: Seal) -> Result<bool, Error> {
        Ok(self.first(Side::Own, "SELECT 1 FROM spends WHERE name = ?1", [name], |_| Ok(()))?.is_some())
    }
}

/// Adds what columns have answered about records to an account, by record and column; columns without a loss spend nothing.
pub(super) fn add_counts(odometer: &mut Odometer, columns: &[Column], counts: BTreeMap<(i64, i64), u64>) {
    let mut kinds: BTreeMap<i64, usize> = BTreeMap::new();
    for column in columns.iter().filter(|column| 0 < column.n) {
        if let Some(spend) = &column.spend {
            kinds.insert(column.number, odometer.add_kind_of(&Spend { session: column.source.clone(), ..spend.clone() }));
        }
    }
    for ((record, column), n) in counts {
        let Some(&kind) = kinds.get(&column) else { continue };
        odometer.add_kind(kind, records_of(record), 1);
        // In two steps, so that an account that drops repeated answers (a planted fault) drops them here too.
        if 1 < n {
            odometer.add_kind(kind, records_of(record), n - 1);
        }
    }
}

fn salt() -> Result<i64, Error> {
    let name = super::file::new_name()?;
    Ok(seal::bytes::<16>(&name).map_or(0, |bytes| i64::from_le_bytes(std::array::from_fn(|at| bytes[at]))))
}
