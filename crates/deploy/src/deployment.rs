//! What an answer is paid from: the budget of its file and, where it is shared, that of an odometer in another file.

use super::anchor::Ticket;
use super::books::{BudgetTerms, Occasion, Paid};
use super::columns::{Column, OdometerLink};
use super::file::{DeploymentFile, Side};
use super::identity::{Identity, Naming};
use super::options::BudgetOptions;
use super::seal::Seal;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{BudgetChange, DeploymentForm, Odometer, Spend, SpendRefusal, SpentRecords};
use privateer_privacy::release::KeptRelease;
use std::path::Path;

/// Enters a new column in a file, which is made where it is missing; a transaction is under way after it.
/// * `column` — its number and link are made here
/// * `rows` — records of the table, where it is known
pub(super) fn enter(
    path: &Path,
    new: &Identity,
    options: &BudgetOptions,
    mut column: Column,
    declaration: Option<&impl serde::Serialize>,
    rows: Option<u64>,
) -> Result<(DeploymentFile, Column, Option<BudgetTerms>), Error> {
    let is_new = DeploymentFile::is_absent(path);
    let Some(spend) = &column.spend else {
        if options.counts() || column.form == DeploymentForm::DataHolder {
            return Diagnostic::new("rewards pass no mechanism, so each of them spends an infinite epsilon")
                .expected("a `[privacy]` mechanism where `--budget`, `--filter`, `--odometer` or `--form data-holder` is given")
                .hint("add `[privacy]` with `mechanism`, `epsilon` and `clip` to the spec")
                .refuse();
        }
        if new.anchor.is_some() {
            return Diagnostic::new("`--anchor` is given where rewards pass no mechanism")
                .expected("an anchor for answers that spend a budget")
                .hint("rewards without a mechanism may be taken back with `privateer undo`, and an anchor knows no way back")
                .refuse();
        }
        let file = if is_new { DeploymentFile::create(path, new, None)? } else { DeploymentFile::open(path)? };
        if !is_new {
            file.begin()?;
            if file.budget(Side::Own)?.is_some() {
                return Diagnostic::new(format!(
                    "rewards pass no mechanism, and `{}` counts what each record spends",
                    path.display()
                ))
                .hint("name another file for a session without privacy")
                .refuse();
            }
        }
        column.number = file.add_column(Side::Own, &column, declaration)?;
        return Ok((file, column, None));
    };
    let filter = options.filter.unwrap_or_else(|| spend.natural_filter());
    let stated = BudgetTerms { filter, budget: options.budget, protects: None, rows, per: options.per };
    if options.per.is_some() && options.budget.is_none() {
        return Diagnostic::new("`--per` is given without `--budget`").expected("the budget that is renewed").refuse();
    }
    let mut spend = spend.clone();
    spend.session.clone_from(&column.source);
    if is_new && options.odometer.is_none() {
        allows_one(&stated, &spend)?;
    }
    let odometer = options.odometer.as_deref().filter(|odometer| !is_same_file(odometer, path));
    let file = if is_new {
        DeploymentFile::create(path, new, odometer)?
    } else {
        let mut file = DeploymentFile::open(path)?;
        odometer.map(|odometer| file.share(odometer, None)).transpose()?;
        file.begin()?;
        file
    };
    refuse_ids(&file, rows)?;
    let columns = file.columns(Side::Own)?;
    if let (None, Some(link)) = (&file.shared, columns.iter().find_map(|column| column.odometer.as_ref())) {
        return Diagnostic::new(format!("`{}` counts in the odometer `{}`", path.display(), link.path.display()))
            .expected(format!("`--odometer {}` for its new column too", link.path.display()))
            .hint("name another file for a column that this budget does not count")
            .refuse();
    }
    let declared = file.budget(Side::Own)?;
    let own = match &declared {
        None => stated,
        Some(terms) => {
            if let Some((option, stated, declared)) = options.unlike(terms) {
                return Diagnostic::new(format!("`{option}` is {stated}, and `{}` was begun with {declared}", path.display()))
                    .hint("leave the option out, or name another file; a shared `--odometer` counts both")
                    .refuse();
            }
            refuse_other_rows(path, terms.rows, rows)?;
            terms.clone()
        }
    };
    let mut held = own.clone();
    if let Some((path, shared)) = &file.shared {
        let terms = file.stated_budget(Side::Shared)?;
        refuse_other_rows(path, terms.rows, rows)?;
        allows_some(&file, Side::Shared, &terms, &spend)?;
        column.odometer = Some(OdometerLink { path: path.clone(), id: shared.id.clone() });
        let mirrored = Column { is_own: false, odometer: None, ..column.clone() };
        file.add_column(Side::Shared, &mirrored, None::<&()>)?;
        held = terms;
    } else if !is_new {
        allows_some(&file, Side::Own, &held, &spend)?;
    }
    if declared.is_none() {
        file.set_budget(&BudgetTerms { filter: held.filter, ..own })?;
    }
    column.number = file.add_column(Side::Own, &column, declaration)?;
    Ok((file, column, Some(held)))
}

impl DeploymentFile {
    pub(super) fn stated_budget(&self, side: Side) -> Result<BudgetTerms, Error> {
        self.budget(side)?.ok_or_else(|| {
            let problem = Diagnostic::new(format!("`{}` states no budget", self.path_of(side).display()));
            problem.expected("an odometer that `privateer odometer` made").error()
        })
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Fails where two files would count different people under one number: ids are numbered by each file in the order of joining.
/// * `rows` — records of the table, where a session is begun
fn refuse_ids(file: &DeploymentFile, rows: Option<u64>) -> Result<(), Error> {
    let shared = file.shared.as_ref().filter(|(_, shared)| shared.naming != Naming::Rows).map(|(path, _)| path.as_path());
    let own = (file.identity.naming != Naming::Rows && (rows.is_some() || file.shared.is_some())).then(|| file.path());
    let Some(named) = shared.or(own) else { return Ok(()) };
    Diagnostic::new(format!("`{}` names records by ids, and here they are rows or are numbered by another file", named.display()))
        .expected("one file for all that is released of people with ids")
        .hint(format!("release every column in `{}` itself: one budget counts all of them", named.display()))
        .refuse()
}

pub(super) fn refuse_other_rows(path: &Path, known: Option<u64>, rows: Option<u64>) -> Result<(), Error> {
    let (Some(known), Some(rows)) = (known, rows) else { return Ok(()) };
    if known == rows {
        return Ok(());
    }
    Diagnostic::new(format!("the odometer `{}` is of {known} records, and here are {rows}", path.display()))
        .hint("an odometer belongs to one table: record i is row i in every session that shares it")
        .refuse()
}

/// Fails where a record that has spent nothing cannot be asked for once: a budget of this kind is a mistake, not a stop.
fn allows_one(terms: &BudgetTerms, spend: &Spend) -> Result<(), Error> {
    let fresh = BudgetTerms { rows: None, ..terms.clone() }.fresh()?;
    fresh.check(spend).map_err(|why| {
        Diagnostic::new(format!("not one answer keeps the budget: {why}"))
            .hint("state a larger budget, a mechanism with a smaller epsilon, or the filter `sum` for few pure answers")
            .error()
    })
}

/// Fails where a file refuses a new column for every record; that one of them has spent its budget is no reason.
fn allows_some(file: &DeploymentFile, side: Side, terms: &BudgetTerms, spend: &Spend) -> Result<(), Error> {
    allows_one(terms, spend)?;
    match file.account(side, (terms, &file.columns(side)?), None, None)?.check(spend) {
        Ok(()) | Err(SpendRefusal::Exceeded { .. } | SpendRefusal::NoRecord { .. }) => Ok(()),
        Err(why) => Err(refused(why)),
    }
}

/// Returns how copies of a file are noticed, in a sentence.
#[must_use]
pub(super) fn about_copies(column: &Column) -> String {
    match &column.odometer {
        Some(link) => format!("copies are refused by the odometer `{}`, which counts the answers", link.path.display()),
        None => "a copy of this file is refused while the file stands at its place, by an `--anchor`, and by whoever has taken a newer \
                 answer; otherwise copies cannot be detected: their answers add up, and neither knows of the other"
            .to_owned(),
    }
}

/// One budget that an answer is paid from.
struct Purse {
    side: Side,
    terms: BudgetTerms,
    columns: Vec<Column>,
    /// The number of the column on this side.
    column: i64,
    period: i64,
}

impl Purse {
    fn n_answers(&self) -> u64 {
        self.columns.iter().find(|column| column.number == self.column).map_or(0, |column| column.n)
    }
}

/// What the answers of a column are paid from, in a transaction that is under way.
pub(super) struct Account<'a> {
    file: &'a DeploymentFile,
    spend: Spend,
    purses: Vec<Purse>,
    occasion: Occasion,
}

impl<'a> Account<'a> {
    /// Opens the account of a column; `None` where rewards pass no mechanism.
    pub fn open(file: &'a DeploymentFile, column: &Column, occasion: Occasion) -> Result<Option<Self>, Error> {
        let Some(spend) = &column.spend else { return Ok(None) };
        let spend = Spend { session: column.source.clone(), ..spend.clone() };
        let sides = [Some(Side::Own), column.odometer.as_ref().map(|_| Side::Shared)];
        let mut purses = Vec::new();
        let mut occasion = occasion;
        for side in sides.into_iter().flatten() {
            occasion = occasion.after(file, side)?;
        }
        for side in sides.into_iter().flatten() {
            let columns = file.columns(side)?;
            let terms = file.budget(side)?.ok_or_else(|| file.altered(side, "its budget"))?;
            let number = columns.iter().find(|known| known.source == column.source).map(|known| known.number);
            let number = number.ok_or_else(|| {
                let hint =
                    "the odometer is older than the session: restore both from copies of one moment, or start a new session";
                Error::corrupt(file.path_of(Side::Own), "is not known to its odometer", hint)
            })?;
            let period = file.period(&terms, occasion.time)?;
            purses.push(Purse { side, terms, columns, column: number, period });
        }
        if let [own, shared] = &purses[..] {
            agree(file, own.n_answers(), shared.n_answers())?;
        }
        Ok(Some(Self { file, spend, purses, occasion }))
    }

    fn spend_of(&self, record: u64) -> Spend {
        match self.spend.records {
            SpentRecords::All => self.spend.clone(),
            SpentRecords::One { .. } => Spend { records: SpentRecords::One { row: record }, ..self.spend.clone() },
        }
    }

    fn odometer_of(&self, purse: &Purse, record: Option<u64>) -> Result<Odometer, Error> {
        self.file.account(purse.side, (&purse.terms, &purse.columns), record, Some(purse.period))
    }

    /// Fails where an answer about a record would exceed a budget; else returns what the record has spent with it, in words.
    ///
    /// * `name` — of the record, for messages
    pub fn check(&self, record: u64, name: &str) -> Result<String, Error> {
        let spend = self.spend_of(record);
        let mut words = String::new();
        for purse in &self.purses {
            if self.file.has_left(purse.side, record)? {
                return Err(self.file.gone(purse.side, name));
            }
            // What a column releases first may be a change that the budget has not held for: then every record counts.
            let is_of_one = 0 < purse.n_answers() && spend.records != SpentRecords::All;
            let mut odometer = self.odometer_of(purse, is_of_one.then_some(record))?;
            odometer.check(&spend).map_err(|why| match why {
                SpendRefusal::Exceeded { record: whose, spent, next, budget, change } => {
                    let record = if whose == record { name.to_owned() } else { whose.to_string() };
                    let budget = format!("{budget}{}", purse.terms.per.map_or(String::new(), |period| format!(" each {period}")));
                    let why = format!(
                        "record {record} has spent {spent} of its budget ({budget}), and one more release would make it {next}, for {change}"
                    );
                    Error::NotReleased { record, spent, budget, why, hint: None }
                }
                why => refused(why),
            })?;
            odometer.add(&spend);
            words = self.words(purse, &odometer, record);
        }
        Ok(words)
    }

    fn words(&self, purse: &Purse, odometer: &Odometer, record: u64) -> String {
        let spent = odometer.words(odometer.counted(record));
        let budget = odometer.budget().map_or(String::new(), |budget| format!(" of {budget}"));
        let per = purse.terms.per.map_or(String::new(), |period| format!(" this {period}"));
        format!("{spent}{budget}{per}")
    }

    pub fn spent(&self, record: u64) -> Result<String, Error> {
        let purse = &self.purses[self.purses.len() - 1];
        Ok(self.words(purse, &self.odometer_of(purse, Some(record))?, record))
    }

    /// Counts an answer, which [`Account::check`] must have allowed, in every budget and keeps it; returns its ticket. Nothing is on
    /// the disk before the transaction ends.
    ///
    /// * `under`, `round`, `kept` — the column and round under which the answer is kept, and what is kept
    /// * `received` — its name, where a data holder made it
    pub fn pay(
        &mut self,
        record: u64,
        (under, round, kept): (i64, u64, &KeptRelease),
        received: Option<Seal>,
    ) -> Result<Ticket, Error> {
        let records = self.spend_of(record).records;
        let mut first: Option<Ticket> = None;
        for purse in &mut self.purses {
            let is_own = purse.side == Side::Own;
            let name = if is_own { received } else { first.map(|first| first.name) };
            let paid = Paid { column: purse.column, record: records, name, kept: is_own.then_some((round, under, kept)) };
            let ticket = self.file.pay(purse.side, &paid, &self.occasion, purse.period)?;
            first.get_or_insert(ticket);
            let column = purse.column;
            purse.columns.iter_mut().filter(|known| known.number == column).for_each(|known| known.n += 1);
        }
        first.ok_or_else(|| self.file.altered(Side::Own, "its budget"))
    }

    /// Notes that an answer of a column was refused, in a transaction of its own.
    pub fn note_refusal(&self, column: &Column, record: u64, refusal: &Error) -> Result<(), Error> {
        let Error::NotReleased { spent, budget, .. } = refusal else { return Ok(()) };
        // Without its name: a file of keyed hashes holds no ids.
        let why = if spent.is_empty() { "the record has left".to_owned() } else { format!("{spent} of {budget} were spent") };
        self.file.note_refusal(column.number, record, &why, &self.occasion)
    }
}

/// Compares the numbers of answers that a file and its odometer know of.
fn agree(file: &DeploymentFile, here: u64, there: u64) -> Result<(), Error> {
    let path = file.path_of(Side::Own);
    if there < here {
        let problem = format!("has made {here} answers, and its odometer knows of {there}: the odometer is an older copy");
        return Err(Error::corrupt(path, problem, "restore the odometer: spends that it does not know would not count"));
    }
    if here < there {
        let problem = format!("is a copy: it has made {here} answers, and its odometer knows of {there}");
        let hint = "go on with the file that made the last answer, or start a new session on the same odometer";
        return Err(Error::corrupt(path, problem, hint));
    }
    Ok(())
}

/// Opens a file and, where one of its columns shares an odometer, that; then begins a transaction.
/// * `whose` — finds the column in question, and what else the caller needs; `None` where there is none
/// * `moved` — where the shared odometer is now, if it has moved
pub(super) fn open_with_odometer<T>(
    path: &Path,
    whose: impl Fn(&DeploymentFile) -> Result<Option<(Column, T)>, Error>,
    moved: Option<&Path>,
) -> Result<Option<(DeploymentFile, Column, T)>, Error> {
    let mut file = DeploymentFile::open(path)?;
    file.begin_to_read()?;
    let found = whose(&file);
    file.roll_back();
    let Some((column, _)) = found? else { return Ok(None) };
    if let Some(link) = column.odometer {
        file.share(moved.unwrap_or(&link.path), Some(&link.id))?;
    }
    file.begin()?;
    // What it was may have changed meanwhile.
    Ok(whose(&file)?.map(|(column, more)| (file, column, more)))
}

/// Ends a transaction; where that fails, says whether it is on the disk all the same: the last step of a commit may fail after it.
/// * `kept` — what to do where it is
pub(super) fn keep(file: &DeploymentFile, kept: &str) -> Result<(), Error> {
    let expected = file.count_change().map_err(not_kept)?;
    file.commit().map_err(|why| {
        let Error::Io { action, path, source } = &why else { return why };
        let problem = format!("cannot {action} `{}`: {source}", path.display());
        let is_kept = DeploymentFile::open_to_read(file.path()).and_then(|file| file.changes()).map(|found| found == expected);
        let hint = match is_kept {
            Ok(true) => format!("what was asked for is kept, and counts: {kept}"),
            Ok(false) => NOTHING.to_owned(),
            Err(_) => format!("whether it counts, the next command says: {kept}"),
        };
        Error::failed(problem, hint)
    })
}

const NOTHING: &str = "nothing was spent: nothing of this command was kept or given out; mend the cause and try again";

/// Says of a failure before the end of a transaction that nothing of it was kept.
pub(super) fn not_kept(why: Error) -> Error {
    let Error::Io { action, path, source } = &why else { return why };
    // What cannot be read was never begun.
    if action.starts_with("read the ") {
        return why;
    }
    Error::failed(format!("cannot {action} `{}`: {source}", path.display()), NOTHING)
}

pub fn refused(why: SpendRefusal) -> Error {
    let problem = Diagnostic::new(why.to_string());
    let problem = match why {
        SpendRefusal::Exceeded { record, spent, budget, .. } => {
            let (record, budget) = (record.to_string(), budget.to_string());
            return Error::NotReleased { record, spent, budget, why: problem.message, hint: None };
        }
        SpendRefusal::OtherUnits { .. } => problem.hint(
            "use the columns and scales of the earlier release; an odometer made with `--change record` prices both for whole records",
        ),
        SpendRefusal::InputAndValue { .. } => problem.hint("release the column in one of the two ways"),
        SpendRefusal::NoChange { .. } => problem
            .expected(format!("an odometer made with `--change`, one of {}", BudgetChange::FORMS))
            .hint("`--change record` holds for everything that is released of a record"),
        SpendRefusal::NoBound { .. } => {
            problem.hint("choose a filter that bounds it: `sum` takes every mechanism whose claim holds")
        }
        SpendRefusal::NoRecord { .. } => problem.hint("records are rows of the table, from 0"),
    };
    problem.error()
}
