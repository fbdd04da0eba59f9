//! The data holder's side of a session. A value leaves with exact noise, once for each record and round, alone or with those of a table.

use super::anchor::Ticket;
use super::books::Occasion;
use super::columns::{Column, DECLARATION};
use super::deployment::{Account, about_copies, enter, keep, not_kept, open_with_odometer};
use super::file::{DeploymentFile, Side, new_name};
use super::identity::Naming;
use super::notes::Note;
use super::people::{Absence, IdKey, new_identity, read_key};
use super::price::placed;
use super::release_options::{Declaration, ReleaseOptions};
use super::seal;
use super::session::refuse_far;
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::registry::MECHANISMS;
use privateer_privacy::odometer::{DeploymentForm, Spend};
use privateer_privacy::release::{ChannelRelease, HolderRelease, KeptRelease, ReleaseError};
use privateer_privacy::{Budget, Calibration, Channel, Ledger, Query, Raw, Request, RewardFacts};
use privateer_results::record::seal_text;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// A raw value of a record for a round (from 1); `yes` takes one far outside of the clip.
#[derive(Debug, Clone)]
pub struct RecordValue {
    /// The row of the record, from 0, or its id.
    pub record: String,
    /// Round of the session, from 1.
    pub round: u64,
    /// The raw value.
    pub value: f64,
    /// Whether a value far outside of the clip is taken.
    pub yes: bool,
}

/// An answer for a session of the form `data-holder`: as one line of JSON with a seal, which shows every change.
#[derive(Debug, Serialize)]
struct SealedAnswer<'a> {
    /// The released value with what it states.
    #[serde(flatten)]
    answer: HolderRelease,
    /// The ledger of the answer; for a table it is in the deployment alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<&'a Ledger>,
}

/// The name of a record of a table, and its value or why it has none.
pub type TableRow = (String, Result<f64, String>);

/// What became of the values of a table.
#[derive(Debug, Serialize)]
pub struct TableRelease {
    /// One sealed line for each value that was released, in the order of the table.
    pub answers: Vec<String>,
    /// How many of them had been released before, and were given out again.
    pub repeated: usize,
    /// The records of which nothing was released.
    pub refused: Vec<RefusedRecord>,
}

/// A record of which nothing was released, and why.
#[derive(Debug, Serialize)]
pub struct RefusedRecord {
    /// Its line in the table, from 1 for the first record.
    pub line: usize,
    /// Its row or id.
    pub record: String,
    /// Why nothing was released.
    pub why: String,
}

/// Deltas from here on are refused where the number of records is not known: a table of a thousand records would release one.
const LARGE_DELTA: f64 = 1e-3;

/// An open file at the column from which values are released.
struct Counter {
    file: DeploymentFile,
    column: Column,
    declaration: Declaration,
    channel: Channel,
    ledger: Ledger,
    ids: Option<IdKey>,
    key: Option<Vec<u8>>,
    is_new: bool,
    is_table: bool,
    join: bool,
}

/// One value that was released now or before.
struct Given {
    row: u64,
    released: f64,
    ticket: Ticket,
    is_repeated: bool,
    spent: String,
}

/// Releases one value, or gives out the one that was released for this record and round before.
///
/// # Errors
/// Options that the file does not declare, a value that is not finite, a budget that is spent, no entropy; those of the files.
pub fn release(state: &Path, record: &RecordValue, options: &ReleaseOptions, note: Note<'_>) -> Result<String, Error> {
    let RecordValue { record: name, round, value, yes } = record;
    if !value.is_finite() {
        // Refused before the file is read: whether it would be clipped says nothing then.
        return Diagnostic::new(format!("the value of record {name} is {value}"))
            .expected("a finite number, in units of `--clip`")
            .refuse();
    }
    refuse_round(*round)?;
    if DeploymentFile::is_absent(state) {
        // A slip leaves no file with a clip that cannot be changed.
        refuse_far("value", *value, options.clip.map(|(lo, hi)| [lo, hi]), *yes)?;
    }
    let counter = Counter::open(state, options).map_err(not_kept)?;
    let mut account = counter.account(options.occasion.of("release")?)?;
    let given = match counter.give(&mut account, (name, *round), *value, *yes) {
        Err(refusal @ Error::NotReleased { .. }) if !counter.is_new => {
            counter.file.start_again()?;
            if let Ok(Ok(row)) = counter.file.record(name, counter.ids.as_ref()) {
                account.note_refusal(&counter.column, row, &refusal)?;
                counter.file.commit()?;
            }
            return Err(refusal);
        }
        outcome => outcome.map_err(not_kept)?,
    };
    if given.is_repeated {
        note(&format!(
            "record {name} was released for round {round} before: the stored value is printed again, and nothing is spent"
        ));
    }
    let text = counter.sealed((name, *round), &given, counter.file.ticket(Side::Own)?);
    // On the disk before it leaves: spend and answer in one transaction.
    keep(&counter.file, "the same command gives out the same answer")?;
    counter.say_begun(note);
    note(&format!("record {name} has spent {}", given.spent));
    Ok(text)
}

/// Releases the values of a table in one transaction.
/// * `rows` — the name of each record, and its value or why it has none
///
/// # Errors
/// Options that the file does not declare, no entropy; those of the files. Nothing is released then.
pub fn release_table(
    state: &Path,
    rows: &[TableRow],
    (round, yes): (u64, bool),
    options: &ReleaseOptions,
    note: Note<'_>,
) -> Result<TableRelease, Error> {
    refuse_round(round)?;
    let counter = Counter { is_table: true, ..Counter::open(state, options).map_err(not_kept)? };
    let mut account = counter.account(options.occasion.of("release --table")?)?;
    let (mut given, mut refused) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for (at, (record, value)) in rows.iter().enumerate() {
        let mut refuse = |why: String| refused.push(RefusedRecord { line: at + 1, record: record.clone(), why });
        if !seen.insert(record.trim()) {
            refuse("stands in the table more than once: the first line counts".to_owned());
            continue;
        }
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        let value = match value.clone().and_then(|value| finite(value).ok_or("its value is not a finite number".to_owned())) {
            Ok(value) => value,
            Err(why) => {
                refuse(why);
                continue;
            }
        };
        match counter.give(&mut account, (record, round), value, yes) {
            Ok(one) => given.push((record, one)),
            Err(refusal @ Error::NotReleased { .. }) => {
                if let Ok(row) = counter.file.record(record, counter.ids.as_ref())? {
                    account.note_refusal(&counter.column, row, &refusal)?;
                }
                if let Error::NotReleased { why, .. } = refusal {
                    refuse(why);
                }
            }
            Err(Error::Input(why)) => refuse(why.iter().map(|why| why.message.clone()).collect::<Vec<_>>().join("; ")),
            Err(other) => return Err(other),
        }
    }
    let repeated = given.iter().filter(|(_, one)| one.is_repeated).count();
    // The lines of a table are one answer: the newest is the same for all, in whatever order they are told.
    let newest = counter.file.ticket(Side::Own)?;
    let answers = given.iter().map(|(record, one)| counter.sealed((record, round), one, newest)).collect();
    keep(&counter.file, "the same command gives out the same answers")?;
    counter.say_begun(note);
    Ok(TableRelease { answers, repeated, refused })
}

fn refuse_round(round: u64) -> Result<(), Error> {
    if 0 < round {
        return Ok(());
    }
    Diagnostic::new("the round is 0").expected("a round from 1").refuse()
}

impl Counter {
    /// Opens the column that the options name, which is declared where it is new; a transaction is under way after it.
    fn open(state: &Path, options: &ReleaseOptions) -> Result<Self, Error> {
        let key = options.key.as_deref().map(read_key).transpose()?;
        let ids = options.id_key.as_deref().map(IdKey::read).transpose()?;
        let whose = |file: &DeploymentFile| {
            let found = declared_in(file, state, options.column.as_deref())?;
            found.iter().try_for_each(|(_, declaration)| options.agree_with(declaration)).map(|()| found)
        };
        let moved = options.budget.odometer.as_deref();
        let known = if DeploymentFile::is_absent(state) { None } else { open_with_odometer(state, whose, moved)? };
        let is_new = known.is_none();
        let (file, column, declaration) = match known {
            Some(known) => known,
            None => {
                let (file, column, declaration) = begin(state, options, ids.as_ref())?;
                // Of two commands that declare it at once, the later one takes what the other has declared.
                let mut others = declarations(&file)?.into_iter().filter(|(other, _)| other.number != column.number);
                if others.any(|(_, other)| options.column.as_ref().is_none_or(|name| *name == other.column)) {
                    file.roll_back();
                    drop(file);
                    return Self::open(state, options);
                }
                (file, column, declaration)
            }
        };
        file.check_key(ids.as_ref())?;
        if !is_new {
            options.agree_with_file(&file, &column)?;
        }
        let channel = channel_of(&declaration)?;
        let ledger = ledger_of(&channel);
        Ok(Self { file, column, declaration, channel, ledger, ids, key, is_new, is_table: false, join: options.join })
    }

    fn account(&self, occasion: Occasion) -> Result<Account<'_>, Error> {
        Account::open(&self.file, &self.column, occasion)?.ok_or_else(|| self.file.altered(Side::Own, "a column"))
    }

    /// Releases a value and pays for it, or finds the one that was released for this record and round before.
    fn give(&self, account: &mut Account<'_>, (name, round): (&str, u64), value: f64, yes: bool) -> Result<Given, Error> {
        let file = &self.file;
        let row = match file.record(name, self.ids.as_ref())? {
            Ok(row) => row,
            Err(Absence::Unknown) if self.join => file.join(name, self.ids.as_ref(), super::file::now())?.0,
            Err(Absence::Unknown) => return Err(file.unknown(name)),
            Err(Absence::Left(_)) => return Err(file.gone(Side::Own, name)),
        };
        let known = file.released(self.column.number, row, round)?;
        let is_repeated = known.is_some();
        let (released, ticket, spent) = match known {
            Some((KeptRelease::Reward(released), ticket)) => (released, ticket, account.spent(row)?),
            Some(_) => return Err(file.altered(Side::Own, "an answer")),
            None => {
                refuse_far("value", value, Some(self.declaration.clip), yes)?;
                let spent = account.check(row, name.trim())?;
                let mut mechanism = ChannelRelease::of(&self.channel).map_err(|why| failed(&why))?;
                let (_, kept) = mechanism.release_to_keep(&Query::default(), Raw::seal(value)).map_err(|why| failed(&why))?;
                let KeptRelease::Reward(released) = kept else { return Err(file.altered(Side::Own, "a column")) };
                let ticket = account.pay(row, (self.column.number, round, &kept), None).map_err(not_kept)?;
                (released, ticket, spent)
            }
        };
        Ok(Given { row, released, ticket, is_repeated, spent })
    }

    /// * `newest` — the newest answer of the file
    fn sealed(&self, (name, round): (&str, u64), given: &Given, newest: Option<Ticket>) -> String {
        let &Given { row, released, ticket, .. } = given;
        let newest = newest.unwrap_or(ticket);
        let Declaration { mechanism, epsilon, delta, clip, column } = self.declaration.clone();
        let answer = HolderRelease {
            format: HolderRelease::FORMAT.to_owned(),
            version: HolderRelease::VERSION,
            source: self.column.source.clone(),
            name: seal::hex(&ticket.name),
            newest: (newest.number, seal::hex(&newest.name)),
            row,
            id: (self.file.identity.naming != Naming::Rows).then(|| name.trim().to_owned()),
            round,
            column,
            released,
            mechanism,
            epsilon,
            delta: delta.unwrap_or(0.0),
            clip,
        };
        let sealed = SealedAnswer { answer, ledger: (!self.is_table).then_some(&self.ledger) };
        seal_text(&serde_json::json!(sealed).to_string(), self.key.as_deref())
    }

    fn say_begun(&self, note: Note<'_>) {
        if !self.is_new {
            return;
        }
        let [lo, hi] = self.declaration.clip;
        note(&format!(
            "values leave through `{}` with fresh exact noise ({}), clipped to [{lo}, {hi}], which is public on your word; {} stays with you",
            self.ledger.mechanism,
            self.ledger.claimed,
            self.file.path().display()
        ));
        note(&about_copies(&self.column));
    }
}

/// Returns the column of this name, or the only one, with its declaration.
fn declared_in(file: &DeploymentFile, state: &Path, name: Option<&str>) -> Result<Option<(Column, Declaration)>, Error> {
    let mut found = declarations(file)?;
    let Some(name) = name else {
        if 1 < found.len() {
            let names: Vec<&str> = found.iter().map(|(_, declaration)| declaration.column.as_str()).collect();
            let problem = Diagnostic::new(format!("`{}` releases {} columns", state.display(), found.len()));
            return problem.expected(format!("`--column NAME`, one of {}", names.join(", "))).refuse();
        }
        return Ok(found.pop());
    };
    Ok(found.into_iter().find(|(_, declaration)| declaration.column == name))
}

/// Returns the columns from which values are released.
fn declarations(file: &DeploymentFile) -> Result<Vec<(Column, Declaration)>, Error> {
    let mut found = Vec::new();
    for column in file.columns(Side::Own)?.into_iter().filter(|column| column.is_own) {
        if let Some(declaration) = file.part::<Declaration>(Side::Own, column.number, DECLARATION)? {
            found.push((column, declaration));
        }
    }
    Ok(found)
}

/// Declares a column that has released nothing; its file is made where it is missing.
fn begin(state: &Path, options: &ReleaseOptions, ids: Option<&IdKey>) -> Result<(DeploymentFile, Column, Declaration), Error> {
    let missing = |option: &str, expected: &str| {
        let column = options.column.as_deref().unwrap_or("reward");
        let state_is = if DeploymentFile::is_absent(state) {
            "is a new deployment".to_owned()
        } else {
            format!("releases no column `{column}` so far")
        };
        Diagnostic::new(format!("`{option}` is not stated, and `{}` {state_is}", state.display())).expected(expected).error()
    };
    let ReleaseOptions { mechanism, epsilon, delta, clip, column, allow_large_delta, budget, .. } = options;
    let mechanism = mechanism.clone().ok_or_else(|| missing("--mechanism", "a mechanism, as in `--mechanism hybrid`"))?;
    let epsilon = epsilon.ok_or_else(|| missing("--epsilon", "the privacy loss of one answer, as in `--epsilon 2`"))?;
    let (lo, hi) = clip.ok_or_else(|| missing("--clip", "the public range of values, as in `--clip 0,1`"))?;
    let column = column.clone().unwrap_or_else(|| "reward".to_owned());
    let declaration = Declaration { mechanism, epsilon, delta: *delta, clip: [lo, hi], column };
    let channel = channel_of(&declaration)?;
    let ledger = ledger_of(&channel);
    let largest = delta.unwrap_or(0.0).max(budget.delta());
    if LARGE_DELTA <= largest && !allow_large_delta {
        return Diagnostic::new(format!("delta = {largest} allows a record in {:.0} to be released unchanged", 1.0 / largest))
            .expected(format!("a delta below {LARGE_DELTA}, and far below one over the number of records"))
            .hint("state a smaller delta; `--allow-large-delta` takes this one")
            .refuse();
    }
    // Found out before anything is written.
    ChannelRelease::of(&channel).map_err(|why| failed(&why))?;
    let source = new_name()?;
    let spend = Spend::of_answer(&ledger, &source, &declaration.column, 0);
    if let (Some(stated), Some(spend)) = (delta.filter(|delta| 0.0 < *delta), &spend)
        && spend.delta == 0.0
    {
        let problem = Diagnostic::new(format!("`--delta` is {stated}, and answers of `{}` are pure", declaration.mechanism));
        return problem.expected("no `--delta`: the session that takes the answers declares none").refuse();
    }
    let new = new_identity(!options.ids && ids.is_none(), ids, budget.anchor.as_ref())?;
    let column = Column::new(source, DeploymentForm::DataHolder, declaration.column.clone(), spend, Some(ledger));
    let (file, column, _) = enter(state, &new, budget, column, Some(&declaration), None)?;
    Ok((file, column, declaration))
}

fn channel_of(declaration: &Declaration) -> Result<Channel, Error> {
    let Some(entry) = MECHANISMS.iter().find(|entry| entry.name == declaration.mechanism && entry.name != "none") else {
        let names: Vec<&str> = MECHANISMS.iter().map(|entry| entry.name).filter(|name| *name != "none").collect();
        return Diagnostic::new(format!("`--mechanism` is `{}`", declaration.mechanism))
            .expected(format!("one of {}", names.join(", ")))
            .refuse();
    };
    let [lo, hi] = declaration.clip;
    let request = Request {
        mechanism: entry.name,
        calibration: Calibration::Tight,
        budget: Budget::new(Some(declaration.epsilon), declaration.delta).map_err(|refusal| placed(&refusal))?,
        clip: Some((lo, hi)),
    };
    let facts = RewardFacts { bound: lo.abs().max(hi.abs()), noise_bound: None, range: None, noise_variance: None, rounds: 1 };
    (entry.build)(&request, &facts).map(Channel::Rewards).map_err(|refusal| placed(&refusal))
}

fn ledger_of(channel: &Channel) -> Ledger {
    let mut ledger = channel.ledger();
    DeploymentForm::DataHolder.state_in(&mut ledger);
    ledger
}

pub(super) fn failed(why: &ReleaseError) -> Error {
    match why {
        ReleaseError::NoEntropy(_) => Error::failed(why.to_string(), "try again once the system gives entropy"),
        _ => Diagnostic::new(why.to_string()).hint("nothing was released").error(),
    }
}
