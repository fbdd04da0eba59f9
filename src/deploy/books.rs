//! Counts what the records of a file have spent: the budget, each answer with its spend, and the totals of every record.

use super::anchor::Ticket;
use super::answers::chained;
use super::columns::Column;
use super::file::{DeploymentFile, Side};
use super::options::bad_budget;
use super::seal::{self, Seal};
use privateer_config::error::Error;
use privateer_privacy::odometer::{BudgetChange, FilterKind, Odometer, PrivacyBudget, Spend, SpentRecords};
use privateer_privacy::release::KeptRelease;
use privateer_privacy::{Delta, Epsilon};
use rusqlite::OptionalExtension;
use rusqlite::types::{Value, ValueRef};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The record that stands for every record.
pub const EVERY: i64 = -1;

/// How often a budget is renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    Day,
    /// From Monday on.
    Week,
    Month,
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
    /// How losses add up.
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
    ///
    /// # Errors
    /// A budget that the filter cannot use.
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

/// Returns numbers as bytes, eight for each.
fn packed(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

impl DeploymentFile {
    /// States what each record may spend.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn set_budget(&self, terms: &BudgetTerms) -> Result<(), Error> {
        let text = |text: Option<String>| text.map_or(Value::Null, Value::Text);
        let real = |number: Option<f64>| number.map_or(Value::Null, Value::Real);
        self.insert(
            Side::Own,
            "budgets",
            self.seed(Side::Own),
            vec![
                Value::Text(terms.filter.to_string()),
                real(terms.budget.map(|budget| budget.epsilon.get())),
                real(terms.budget.and_then(|budget| budget.delta).map(Delta::get)),
                text(terms.protects.map(|change| change.to_string())),
                terms.rows.map_or(Value::Null, |rows| Value::Integer(rows as i64)),
                text(terms.per.map(|period| period.to_string())),
            ],
        )
    }

    /// Returns what each record may spend; `None` for a file that has stated nothing.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for an altered row.
    pub(super) fn budget(&self, side: Side) -> Result<Option<BudgetTerms>, Error> {
        let read = |row: &rusqlite::Row<'_>| {
            let (filter, epsilon, delta): (String, Option<f64>, Option<f64>) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (protects, rows, per): (Option<String>, Option<i64>, Option<String>) = (row.get(3)?, row.get(4)?, row.get(5)?);
            Ok((filter, epsilon, delta, protects, rows, per))
        };
        let found = self.rows(side, ("budgets", "1"), &[], read)?;
        let Some((filter, epsilon, delta, protects, rows, per)) = found.into_iter().next() else { return Ok(None) };
        let budget = || {
            let Some(epsilon) = epsilon else { return Some(None) };
            let delta = delta.map(Delta::try_from).transpose().ok()?;
            Some(Some(PrivacyBudget { epsilon: Epsilon::try_from(epsilon).ok()?, delta }))
        };
        let read = || {
            Some(BudgetTerms {
                filter: filter.parse().ok()?,
                budget: budget()?,
                protects: protects.map(|change| change.parse()).transpose().ok()?,
                rows: rows.map(|rows| rows as u64),
                per: per.map(|period| period.parse()).transpose().ok()?,
            })
        };
        read().map(Some).ok_or_else(|| self.altered(side, "its budget"))
    }

    /// Returns the number of the period of a budget in which a moment lies; 0 for a budget that is never renewed.
    pub(super) fn period(&self, terms: &BudgetTerms, time: i64) -> Result<i64, Error> {
        let Some(period) = terms.per else { return Ok(0) };
        self.db.query_row(period.number(), [time], |row| row.get(0)).map_err(|why| self.failed(&why))
    }

    /// Returns the account of some records in a period, with those that every record has spent.
    ///
    /// All kinds of releases are in it, since a budget holds for the largest change that any of them names; of other records only that.
    ///
    /// * `record` — the record; `None` for all of them
    /// * `period` — the number of the period; `None` for all of them together
    ///
    /// # Errors
    /// [`Error::Corrupt`] for an altered row.
    pub(super) fn account(
        &self,
        side: Side,
        (terms, columns): (&BudgetTerms, &[Column]),
        record: Option<u64>,
        period: Option<i64>,
    ) -> Result<Odometer, Error> {
        let mut odometer = terms.fresh()?;
        let mut whose = "1".to_owned();
        if let Some(record) = record {
            whose = format!("record IN ({EVERY}, {})", record as i64);
        }
        if let Some(period) = period {
            whose += &format!(" AND period = {period}");
        }
        let mut counts: BTreeMap<(i64, i64), u64> = BTreeMap::new();
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(3)?));
        for (record, column, n) in self.rows(side, ("accounts", &whose), &[], read)? {
            *counts.entry((record, column)).or_default() += n as u64;
        }
        add_counts(&mut odometer, columns, counts);
        Ok(odometer)
    }

    /// Returns how often each record was answered about, by column, over all periods.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for an altered row.
    pub(super) fn totals(&self) -> Result<BTreeMap<(i64, i64), u64>, Error> {
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(3)?));
        let mut totals: BTreeMap<(i64, i64), u64> = BTreeMap::new();
        for (record, column, n) in self.rows(Side::Own, ("accounts", "0 < n"), &[], read)? {
            *totals.entry((record, column)).or_default() += n as u64;
        }
        Ok(totals)
    }

    /// Returns the moment of the newest answer.
    pub(super) fn newest(&self, side: Side) -> Result<Option<i64>, Error> {
        let sql = format!("SELECT time FROM {}.spends ORDER BY spend_id DESC LIMIT 1", side.schema());
        self.statement(&sql)?.query_row([], |row| row.get(0)).optional().map_err(|why| self.failed(&why))
    }

    /// Returns the number of a command, which is added where it is new.
    pub(super) fn command(&self, side: Side, occasion: &Occasion) -> Result<i64, Error> {
        let values = [env!("CARGO_PKG_VERSION"), occasion.command, &occasion.who].map(|text| Value::Text(text.to_owned()));
        let whose = ("commands", "program_version = ?1 AND command = ?2 AND who = ?3");
        if let Some(known) = self.rows(side, whose, &values, |row| row.get(0))?.first() {
            return Ok(*known);
        }
        let next = format!("SELECT coalesce(max(command_id), 0) + 1 FROM {}.commands", side.schema());
        let number: i64 = self.db.query_row(&next, [], |row| row.get(0)).map_err(|why| self.failed(&why))?;
        self.insert(side, "commands", self.seed(side), [Value::Integer(number)].into_iter().chain(values).collect())?;
        Ok(number)
    }

    /// Notes that an answer was refused.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn note_refusal(
        &self,
        column: Option<i64>,
        record: Option<u64>,
        why: &str,
        occasion: &Occasion,
    ) -> Result<(), Error> {
        let command = self.command(Side::Own, occasion)?;
        let next = "SELECT coalesce(max(refusal_id), 0) + 1 FROM refusals";
        let number: i64 = self.db.query_row(next, [], |row| row.get(0)).map_err(|why| self.failed(&why))?;
        let whole = |number: Option<i64>| number.map_or(Value::Null, Value::Integer);
        let row = vec![
            Value::Integer(number),
            Value::Integer(occasion.time),
            whole(column),
            whole(record.map(|record| record as i64)),
            Value::Integer(command),
            Value::Text(why.to_owned()),
        ];
        self.insert(Side::Own, "refusals", self.seed(Side::Own), row)
    }

    /// Counts an answer and keeps it; returns its ticket.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn pay(&self, side: Side, paid: &Paid<'_>, occasion: &Occasion, period: i64) -> Result<Ticket, Error> {
        let schema = side.schema();
        let before = self.ticket(side)?;
        let number = before.map_or(0, |last| last.number) as i64 + 1;
        let record = number_of(paid.record);
        let command = self.command(side, occasion)?;
        let name = paid.name.map_or(Value::Null, |name| Value::Blob(name.to_vec()));
        let spend = [paid.column, record, occasion.time, command];
        let mut release = Vec::new();
        if let Some((round, column, kept)) = paid.kept {
            let (released, reward, key, item) = match kept {
                KeptRelease::Reward(released) => (Value::Real(*released), Value::Null, Value::Null, Value::Null),
                KeptRelease::Item(numbers) => (Value::Null, Value::Null, Value::Null, Value::Blob(packed(numbers))),
                KeptRelease::Raw { reward, key } => (Value::Null, Value::Real(*reward), Value::Blob(key.to_vec()), Value::Null),
            };
            release = vec![Value::Integer(column), Value::Integer(round as i64), released, reward, key, item];
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
        let whose = [record, paid.column, period].map(Value::Integer);
        let known =
            self.rows(side, ("accounts", "record = ?1 AND column_id = ?2 AND period = ?3"), &whose, |row| row.get::<_, i64>(3))?;
        let n = known.first().copied().unwrap_or(0) + 1;
        let account = whose.into_iter().chain([Value::Integer(n)]).collect();
        self.insert(side, "accounts", self.seed(side), account)?;
        let whose = format!("column_id = {}", paid.column);
        self.update(side, "columns", self.seed(side), "n = n + 1", &whose, &[])?;
        Ok(Ticket { number: number as u64, name: sealed })
    }

    /// Keeps an answer that passes no mechanism.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn pay_nothing(&self, record: u64, kept: (i64, u64, &KeptRelease), occasion: &Occasion) -> Result<Ticket, Error> {
        let (column, round, kept) = kept;
        let paid = Paid { column, record: SpentRecords::One { row: record }, name: None, kept: Some((round, column, kept)) };
        self.pay(Side::Own, &paid, occasion, 0)
    }

    /// Returns the newest answer of another party's file, as far as it was told here.
    pub(super) fn newest_of(&self, source: &str) -> Result<Option<Ticket>, Error> {
        let read = |row: &rusqlite::Row<'_>| Ok(Ticket { number: row.get::<_, i64>(1)? as u64, name: row.get(2)? });
        let found = self.rows(Side::Own, ("tickets", "source = ?1"), &[Value::Text(source.to_owned())], read)?;
        Ok(found.first().copied())
    }

    /// Keeps the newest answer of another party's file.
    pub(super) fn set_newest_of(&self, source: &str, newest: Ticket) -> Result<(), Error> {
        let row = vec![Value::Text(source.to_owned()), Value::Integer(newest.number as i64), Value::Blob(newest.name.to_vec())];
        self.insert(Side::Own, "tickets", self.seed(Side::Own), row)
    }

    /// Whether an answer of this name, made elsewhere, was told.
    pub(super) fn knows(&self, name: Seal) -> Result<bool, Error> {
        let found = self.statement("SELECT 1 FROM spends WHERE name = ?1")?.query_row([name], |_| Ok(())).optional();
        found.map(|found| found.is_some()).map_err(|why| self.failed(&why))
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

/// Returns a random number of the operating system.
fn salt() -> Result<i64, Error> {
    let name = super::file::new_name()?;
    Ok(seal::bytes::<16>(&name).map_or(0, |bytes| i64::from_le_bytes(std::array::from_fn(|at| bytes[at]))))
}
