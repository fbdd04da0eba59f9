//! The books of a deployment for an auditor: one page, and all answers as CSV.

use super::books::{BudgetTerms, EVERY};
use super::file::{DeploymentFile, Side};
use super::ledger::{SpendingFile, read_open};
use super::seal;
use maud::{DOCTYPE, Markup, html};
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::Delta;
use privateer_privacy::odometer::{ChangeLedger, DeploymentLedger, RecordSpend};
use privateer_privacy::quote::short;
use privateer_results::record::PreparedFile;
use privateer_results::report::{csv_field, head, with_code};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;
use std::path::Path;

const BINS: usize = 12;
/// Records and refusals that are listed.
const LISTED: usize = 10;
const DAY: f64 = 86400.0;

/// What an auditor asks of a database, as words and SQL.
const QUERIES: [(&str, &str); 5] = [
    ("All answers about one record, in order", "SELECT * FROM answers WHERE record = 17;"),
    (
        "The ten records with most answers",
        "SELECT record, id, count(*) AS n, sum(epsilon) AS epsilon FROM answers GROUP BY record ORDER BY n DESC LIMIT 10;",
    ),
    ("Answers of each day, by who made them", "SELECT date(time) AS day, who, count(*) AS n FROM answers GROUP BY day, who;"),
    (
        "What was refused, and why",
        "SELECT datetime(time, 'unixepoch') AS time, record, why FROM refusals ORDER BY refusal_id DESC LIMIT 20;",
    ),
    (
        "What each column promises: its ledger, loss and declaration",
        "SELECT name, mechanism, part, terms.name, value FROM columns JOIN terms USING (column_id) ORDER BY column_id, part;",
    ),
];

/// What is read of a file for its books.
struct Books {
    file: SpendingFile,
    /// What was spent over all time.
    ledger: DeploymentLedger,
    /// What was spent in the period of the newest answer, for the largest change and by whom most; over all time where the budget is
    /// never renewed.
    now: Option<ChangeLedger>,
    /// First and last moment of the answers about each record.
    times: BTreeMap<i64, (i64, i64)>,
    /// The newest refusals: moment, record, why; and how many there were.
    refusals: (Vec<(i64, Option<i64>, String)>, u64),
    /// Who made answers, with which version and command, and how many.
    commands: Vec<(String, String, String, u64)>,
    days: Dates,
}

/// Moments as text.
struct Dates(BTreeMap<i64, String>);

impl Dates {
    fn text(&self, time: i64) -> &str {
        self.0.get(&time).map_or("", String::as_str)
    }
}

/// Writes the books of a deployment as one page, for its owner alone.
///
/// * `delta` — at which sums are read; that of the budget if absent
pub fn write_page(state: &Path, out: &Path, delta: Option<Delta>) -> Result<(), Error> {
    let books = read(state, delta)?;
    write_new(out, page(&books).into_string().as_bytes())
}

/// Writes all answers of a deployment as CSV, for its owner alone.
pub fn write_csv(state: &Path, out: &Path) -> Result<(), Error> {
    let open = DeploymentFile::open_to_read(state)?;
    let file = read_open(&open, None)?;
    let dates = dates_of(&open, file.spends.iter().map(|row| row.time))?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, [row.get(1)?, row.get(2)?, row.get(3)?]));
    let commands: BTreeMap<i64, [String; 3]> = open.rows(Side::Own, ("commands", "1"), &[], read)?.into_iter().collect();
    let mut text = "answer,time,record,id,measured,mechanism,epsilon,delta,version,command,who,name\n".to_owned();
    for (at, row) in file.spends.iter().enumerate() {
        let Some((column, spend)) = file.column_of(row).and_then(|column| Some((column, column.spend.as_ref()?))) else {
            continue;
        };
        let record = if row.record == EVERY { "every".to_owned() } else { row.record.to_string() };
        let id = file.ids.get(&(row.record as u64)).map_or(String::new(), |id| csv_field(id));
        let command =
            commands.get(&row.command).map_or(String::new(), |all| all.each_ref().map(|text| csv_field(text)).join(","));
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{},{},{record},{id},{},{},{},{},{command},{}",
            at + 1,
            dates.text(row.time),
            csv_field(&column.name),
            spend.mechanism,
            spend.epsilon,
            spend.delta,
            seal::hex(&row.name)
        );
    }
    write_new(out, text.as_bytes())
}

fn write_new(out: &Path, bytes: &[u8]) -> Result<(), Error> {
    let hint = "books name people, and are not overwritten: name another file";
    PreparedFile::write(out, bytes, "write the books", true)?.publish_new(hint)
}

/// Returns each of these moments as text, UTC.
fn dates_of(file: &DeploymentFile, times: impl Iterator<Item = i64>) -> Result<Dates, Error> {
    let mut known = BTreeMap::new();
    for time in times {
        if let Entry::Vacant(entry) = known.entry(time) {
            entry.insert(file.value("SELECT strftime('%Y-%m-%d %H:%M:%S', ?1, 'unixepoch')", [time])?);
        }
    }
    Ok(Dates(known))
}

fn read(state: &Path, delta: Option<Delta>) -> Result<Books, Error> {
    let open = DeploymentFile::open_to_read(state)?;
    let mut file = read_open(&open, None)?;
    file.odometer = file.odometer.read_at(delta);
    let Some(terms) = &file.terms else {
        return Diagnostic::new(format!("`{}` is no deployment", state.display()))
            .expected("a file that `privateer odometer`, `init` or `release` made")
            .refuse();
    };
    let ledger = file.odometer.ledger();
    let mut now = ledger.total.clone();
    if terms.per.is_some() {
        let period = open.period(terms, file.spends.last().map_or(0, |row| row.time))?;
        now = open.account(Side::Own, (terms, &file.columns), None, Some(period))?.read_at(delta).ledger().total;
    }
    let mut times: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for row in &file.spends {
        let of = times.entry(row.record).or_insert((row.time, row.time));
        of.1 = row.time;
    }
    let newest = format!("1 ORDER BY refusal_id DESC LIMIT {LISTED}");
    let refused: Vec<(i64, Option<i64>, String)> =
        open.rows(Side::Own, ("refusals", &newest), &[], |row| Ok((row.get(1)?, row.get(3)?, row.get(5)?)))?;
    let n: i64 = open.value("SELECT count(*) FROM refusals", [])?;
    let commands = open.all(
        "SELECT program_version, command, who, count(*) FROM spends JOIN commands USING (command_id) GROUP BY command_id ORDER BY command_id",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, i64>(3)? as u64)),
    )?;
    let created: Option<i64> = open.first(Side::Own, "SELECT created FROM deployment", [], |row| row.get(0))?;
    let moments = times.values().flat_map(|of| [of.0, of.1]).chain(refused.iter().map(|of| of.0)).chain(created);
    let days = dates_of(&open, moments)?;
    Ok(Books { ledger, now, times, refusals: (refused, n as u64), commands, days, file })
}

fn page(books: &Books) -> Markup {
    let file = &books.file;
    let name = file.path.display().to_string();
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("Books of {name}"), env!("CARGO_PKG_VERSION")))
            body { main {
                h1 { "Books of " (name) }
                p.notice { b { "Confidential." } " This page says what was released of whom: keep it as the deployment itself." }
                p.answer { (lead(books)) }
                section id="promised" { h2 { "What was promised, to whom, and by which proof" } (promised(file)) }
                section id="spent" { h2 { "What each record has spent" } (spent(books)) }
                section id="refused" { h2 { "What was refused" } (refused(books)) }
                section id="made" { h2 { "Who made answers" } (made(books)) }
                section id="check" { h2 { "Three lines to check by hand" } (by_hand(books)) }
                section id="queries" {
                    h2 { "Five queries" }
                    p { "The deployment is an SQLite database: " code { "sqlite3 -readonly " (name) } "." }
                    dl { @for (words, sql) in QUERIES { dt { (words) } dd { code { (sql) } } } }
                }
                section id="notes" { h2 { "Notes" } ul { @for note in books.ledger.notes.iter().chain(&file.notes) { li { (with_code(note)) } } } }
                footer { "Every row was checked against its digest, and the totals against the answers; " code { "privateer ledger " (name) } " does it again." }
            } }
        }
    }
}

fn who(file: &SpendingFile, record: u64) -> String {
    file.ids.get(&record).cloned().unwrap_or_else(|| record.to_string())
}

/// Says of which period the figures are.
fn when(file: &SpendingFile) -> Option<String> {
    let period = file.terms.as_ref()?.per?;
    Some(format!("They are of the {period} of the newest answer."))
}

fn per(terms: &BudgetTerms) -> String {
    terms.per.map_or(String::new(), |period| format!(" each {period}"))
}

/// Returns the records of a statement, those that have spent most first.
fn by_spend(total: &ChangeLedger) -> Vec<&RecordSpend> {
    let mut records: Vec<&RecordSpend> = total.records.iter().collect();
    records.sort_by(|a, b| b.amount.total_cmp(&a.amount).then(a.record.cmp(&b.record)));
    records
}

fn loss(epsilon: f64, delta: f64) -> String {
    match (epsilon.is_finite(), delta) {
        (false, _) => "not bounded".to_owned(),
        (_, 0.0) => format!("epsilon = {}", short(epsilon)),
        _ => format!("(epsilon, delta) = ({}, {})", short(epsilon), short(delta)),
    }
}

fn lead(books: &Books) -> String {
    let n = books.file.spends.len();
    let Some(total) = &books.now else { return "Nothing has been released.".to_owned() };
    let most = &total.largest;
    let terms = books.file.terms.as_ref();
    let budget = terms.and_then(|terms| Some(format!(" of {}{}", terms.budget?, per(terms)))).unwrap_or_default();
    let whose = if total.records.is_empty() {
        "every record has".to_owned()
    } else {
        format!("record {} has", who(&books.file, most.record))
    };
    format!("{n} answers about {} records; {whose} spent most: {}{budget}.", total.records.len(), loss(most.epsilon, most.delta))
}

fn promised(file: &SpendingFile) -> Markup {
    let terms = file.terms.as_ref();
    html! {
        table {
            thead { tr { th { "measured" } th { "mechanism" } th { "one answer" } th { "for" } th { "against" } th { "who adds the noise" } th { "answers" } } }
            tbody { @for column in &file.columns {
                @if let Some(spend) = &column.spend {
                    tr {
                        td { (column.name) } td { code { (spend.mechanism) } } td { (loss(spend.epsilon, spend.delta)) }
                        td { (with_code(&spend.loss.named().to_string())) } td { (spend.adversary) } td { (column.form) } td { (column.n) }
                    }
                }
            } }
        }
        @if let Some(terms) = terms {
            p { "Losses of one record add up by the filter " code { (terms.filter) } ": " (terms.filter.theorem()) "." }
            p {
                @match terms.budget {
                    Some(budget) => { "The budget of each record is " b { (budget) (per(terms)) } "." },
                    None => "No budget is stated: nothing in this file stops the releases.",
                }
                @if let Some(change) = terms.protects { " It is stated for the change " code { (change) } "." }
            }
        }
    }
}

fn spent(books: &Books) -> Markup {
    let Some(total) = &books.now else { return html! { p { "Nothing." } } };
    let file = &books.file;
    let limit = file.terms.as_ref().and_then(|terms| terms.filter.limit(terms.budget?).ok()).map(|cost| cost.amount);
    let records = by_spend(total);
    let top = records.first().map_or(0.0, |first| first.amount).max(limit.unwrap_or(0.0));
    let mut bins = [0usize; BINS];
    for record in &records {
        let at = if 0.0 < top { (record.amount / top * BINS as f64) as usize } else { 0 };
        bins[at.min(BINS - 1)] += 1;
    }
    let largest = bins.iter().max().copied().unwrap_or(0).max(1);
    let named = file.terms.as_ref().map_or("sum", |terms| match terms.filter {
        privateer_privacy::odometer::FilterKind::Sum => "epsilon",
        privateer_privacy::odometer::FilterKind::Zcdp => "rho",
        privateer_privacy::odometer::FilterKind::GaussianDp => "mu squared",
    });
    html! {
        p { (records.len()) " records were answered about one by one; " (total.of_all) " releases were about every record. " (with_code(&format!("The figures are for {}, against {}.", total.neighbours, total.against))) @if let Some(when) = when(file) { " " (when) } }
        @if !records.is_empty() {
            svg viewBox="0 0 520 190" role="img" aria-label="Records by what they have spent" width="100%" style="max-width: 40rem" {
                @for (at, n) in bins.iter().enumerate() {
                    @let height = 130.0 * *n as f64 / largest as f64;
                    rect x=(10 + 42 * at) y=(150.0 - height) width="36" height=(height) fill="#4477aa" {
                        title { (n) " records from " (short(top * at as f64 / BINS as f64)) " to " (short(top * (at + 1) as f64 / BINS as f64)) }
                    }
                    @if 0 < *n { text x=(28 + 42 * at) y=(145.0 - height) text-anchor="middle" font-size="11" fill="currentColor" { (n) } }
                }
                line x1="10" x2="514" y1="150" y2="150" stroke="currentColor" {}
                text x="10" y="166" font-size="11" fill="currentColor" { "0" }
                text x="514" y="166" text-anchor="end" font-size="11" fill="currentColor" { (short(top)) @if limit == Some(top) { ", the budget" } }
                text x="262" y="182" text-anchor="middle" font-size="11" fill="currentColor" { "spent: " (named) ", as the filter sums it" }
            }
            table {
                thead { tr { th { "record" } th { "answers" } th { "spent" } th { "share of the budget" } th { "first answer" } th { "last answer" } th { "days left at this rate" } } }
                tbody { @for record in records.iter().take(LISTED) { (line(books, record, limit)) } }
            }
        }
    }
}

fn line(books: &Books, record: &RecordSpend, limit: Option<f64>) -> Markup {
    let times = books.times.get(&(record.record as i64)).copied();
    let days = times.map_or(0.0, |(first, last)| (last - first) as f64 / DAY);
    // The first answer of a stretch of days ends none.
    let rate = if 1 < record.releases && 0.0 < days {
        record.amount * (record.releases - 1) as f64 / record.releases as f64 / days
    } else {
        0.0
    };
    let left = limit.filter(|_| 0.0 < rate).map(|limit| ((limit - record.amount) / rate).max(0.0));
    html! { tr {
        td { (who(&books.file, record.record)) } td { (record.releases) } td { (loss(record.epsilon, record.delta)) }
        td { @if let Some(limit) = limit { (format!("{:.0} %", 100.0 * record.amount / limit)) } @else { "–" } }
        td { (times.map_or("", |of| books.days.text(of.0))) } td { (times.map_or("", |of| books.days.text(of.1))) }
        td { @if let Some(left) = left { (format!("{left:.0}")) } @else { "–" } }
    } }
}

fn refused(books: &Books) -> Markup {
    let (listed, n) = &books.refusals;
    html! {
        p { (n) " answers were refused by a budget or because the record had left" @if !listed.is_empty() { "; the newest:" } @else { "." } }
        @if !listed.is_empty() {
            table {
                thead { tr { th { "time (UTC)" } th { "record" } th { "why" } } }
                tbody { @for (time, record, why) in listed {
                    tr { td { (books.days.text(*time)) } td { (record.map_or("–".to_owned(), |record| who(&books.file, record as u64))) } td { (why) } }
                } }
            }
        }
    }
}

fn made(books: &Books) -> Markup {
    html! {
        table {
            thead { tr { th { "command" } th { "version" } th { "who" } th { "answers" } } }
            tbody { @for (version, command, who, n) in &books.commands {
                tr { td { code { (command) } } td { (version) } td { @if who.is_empty() { "not stated" } @else { (who) } } td { (n) } }
            } }
        }
    }
}

/// States the sums of three records as whoever has a calculator can repeat them.
fn by_hand(books: &Books) -> Markup {
    let file = &books.file;
    let Some(total) = &books.ledger.total else { return html! { p { "Nothing has been released." } } };
    let records = by_spend(total);
    let picked = [0, records.len() / 2, records.len().saturating_sub(1)];
    let spends = file.odometer.spends();
    let mut lines: Vec<(u64, String)> = Vec::new();
    for at in picked {
        let Some(record) = records.get(at).filter(|record| lines.iter().all(|(known, _)| *known != record.record)) else {
            continue;
        };
        let parts: Vec<String> = spends
            .iter()
            .filter(|spend| spend.records.hold(record.record))
            .filter_map(|spend| {
                let cost = spend.cost(file.odometer.filter(), &total.change)?;
                let one = cost.amount / spend.count as f64;
                Some(format!("{} × {}", spend.count, short(one)))
            })
            .collect();
        lines.push((record.record, format!("{} = {}", parts.join(" + "), short(record.amount))));
    }
    html! {
        p { "What the filter sums of one answer is in the query on columns; the number of answers is counted by" }
        ul { @for (record, sum) in &lines {
            li { "record " b { (who(file, *record)) } ": " (sum) "; " code { "SELECT measured, count(*) FROM answers WHERE record IN (" (record) ", -1) GROUP BY measured;" } }
        } }
    }
}
