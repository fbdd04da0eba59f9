//! What sessions, releases, curated tables and odometers have spent, one by one and together.

use super::answers::SpendRow;
use super::books::{BudgetTerms, EVERY, add_counts, records_of};
use super::columns::Column;
use super::deployment::about_copies;
use super::file::{DeploymentFile, Side};
use super::identity::Naming;
use super::notes::Note;
use super::seal::Seal;
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::env::CuratedLedger;
use privateer_privacy::Delta;
use privateer_privacy::Growth;
use privateer_privacy::odometer::{DeploymentLedger, FilterKind, Odometer, Spend};
use privateer_results::audit::deployment::{self, Fact, StatedFile, StatedLoss};
use rusqlite::types::Value;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Compares what files state with the exact losses of what was released, file by file and together.
pub fn stated_losses(paths: &[PathBuf], note: Note<'_>) -> Result<Vec<StatedLoss>, Error> {
    let files = read_all(paths, None)?;
    let mut stated: Vec<StatedFile> = Vec::new();
    for file in &files {
        let claim = match (file.kind, file.columns.first().and_then(|column| column.spend.as_ref())) {
            (FileKind::CuratedInputs, Some(spend)) => Some((spend.loss.named(), spend.epsilon, spend.delta)),
            _ => None,
        };
        let held = file.odometer.held().unwrap_or_default();
        let (name, facts) = (file.path.display().to_string(), distinct(std::slice::from_ref(file)));
        stated.push(StatedFile { name, ledger: file.odometer.ledger(), held, claim, facts });
    }
    if 1 < files.len() {
        let (ledger, facts) = (together(&files, None, note)?.ledger(), distinct(&files));
        stated.push(StatedFile { name: "together".to_owned(), ledger, held: Vec::new(), claim: None, facts });
    }
    Ok(stated.iter().flat_map(deployment::check).collect())
}

/// Returns the files of a folder that state spends, in order of their names.
pub fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::io("read the folder", folder, source);
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(failed)?;
    let is_curated = |path: &Path| path.to_string_lossy().ends_with(".ledger.json");
    paths.retain(|path| path.is_file() && (is_curated(path) || DeploymentFile::is_one(path).unwrap_or(true)));
    paths.sort();
    Ok(paths)
}

/// The releases of all files, each once.
fn distinct(files: &[SpendingFile]) -> Vec<Fact> {
    let mut known = BTreeSet::new();
    let mut facts = Vec::new();
    for file in files {
        // From the noise that the ledger of a column states, not from the loss that is added up.
        let of = |column: &Column| match (&column.ledger, &column.spend) {
            (Some(ledger), _) => Some(Fact::of_answer(ledger, &column.source, &column.name, 0)),
            (None, Some(spend)) => Fact::of_spend(spend).next(),
            (None, None) => None,
        };
        let made: BTreeMap<i64, Option<Fact>> = file.columns.iter().map(|column| (column.number, of(column))).collect();
        for spend in &file.spends {
            let Some(Some(fact)) = made.get(&spend.column) else { continue };
            if known.insert((fact.source.clone(), spend.name)) {
                facts.push(Fact { record: (spend.record != EVERY).then_some(spend.record as u64), ..fact.clone() });
            }
        }
    }
    facts
}

/// Holds the spends that one file states.
pub(super) struct SpendingFile {
    pub path: PathBuf,
    kind: FileKind,
    id: String,
    /// What it promises; `None` for a curated table.
    pub terms: Option<BudgetTerms>,
    /// Its account, over all periods.
    pub odometer: Odometer,
    /// In the order of their numbers.
    pub columns: Vec<Column>,
    /// Every answer that it counts, in order.
    pub spends: Vec<SpendRow>,
    /// Ids of the records, where the file holds them.
    pub ids: BTreeMap<u64, String>,
    naming: Naming,
    /// What it states about who sees what.
    pub notes: Vec<String>,
}

/// Kinds of files that state spends, those first that are asked first: an odometer before the files that spend from it, a data holder
/// before the session that takes its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FileKind {
    Odometer,
    CuratedInputs,
    Releases,
    Session,
    Deployment,
}

impl FileKind {
    fn name(self) -> &'static str {
        match self {
            Self::Odometer => "odometer",
            Self::CuratedInputs => "curated inputs",
            Self::Releases => "release state",
            Self::Session => "session",
            Self::Deployment => "deployment",
        }
    }
}

/// What files state about their spends.
#[derive(Debug, Serialize)]
pub struct LedgerReport {
    /// Each file, in the order given.
    pub files: Vec<FileLedger>,
    /// All files together, record by record; `None` for one file.
    pub together: Option<DeploymentLedger>,
}

/// What one file states about its spends.
#[derive(Debug, Serialize)]
pub struct FileLedger {
    /// Its path.
    pub file: String,
    /// What kind of file it is, in words.
    pub kind: &'static str,
    /// What its records have spent.
    pub ledger: DeploymentLedger,
    /// Ids of the records, where the file names records by ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ids: BTreeMap<u64, String>,
}

impl FileLedger {
    /// Returns the statement as a page of text.
    #[must_use]
    pub fn page(&self) -> String {
        self.ledger.page_of(&|record| self.ids.get(&record).cloned().unwrap_or_else(|| record.to_string()))
    }
}

/// Returns the ledger of each file, and of all of them together.
///
/// * `filter` — how losses add up; that of the files if absent, or `sum` where they differ
/// * `delta` — at which sums are read; that of the budget if absent
///
/// # Errors
/// A file that states no spends, or is damaged; files about tables of different sizes.
pub fn ledger(
    paths: &[PathBuf],
    filter: Option<FilterKind>,
    delta: Option<Delta>,
    note: Note<'_>,
) -> Result<LedgerReport, Error> {
    if paths.is_empty() {
        let expected = "sessions, release states, odometers or curated tables";
        return Diagnostic::new("no file is named").expected(expected).refuse();
    }
    let files = read_all(paths, filter)?;
    let all = if files.len() == 1 { None } else { Some(together(&files, filter, note)?) };
    let each = files.into_iter().map(|file| {
        let mut ledger = file.odometer.read_at(delta).ledger();
        ledger.notes.extend(file.notes);
        FileLedger { file: file.path.display().to_string(), kind: file.kind.name(), ledger, ids: file.ids }
    });
    Ok(LedgerReport {
        files: each.collect(),
        together: all.map(|all| if delta.is_some() { all.read_at(delta) } else { all }.ledger()),
    })
}

fn read_all(paths: &[PathBuf], stated: Option<FilterKind>) -> Result<Vec<SpendingFile>, Error> {
    let mut files: Vec<SpendingFile> = Vec::new();
    for path in paths {
        let file = read(path, stated)?;
        if files.iter().any(|known| known.path.canonicalize().ok() == path.canonicalize().ok()) {
            return Diagnostic::new(format!("`{}` is named twice", path.display())).hint("name each file once").refuse();
        }
        files.push(file);
    }
    Ok(files)
}

/// Returns the spends of all files in one account; a session that an odometer counts is counted once.
fn together(files: &[SpendingFile], stated: Option<FilterKind>, note: Note<'_>) -> Result<Odometer, Error> {
    let first = files[0].odometer.filter();
    let same = files.iter().all(|file| file.odometer.filter() == first);
    let filter = stated.unwrap_or(if same { first } else { FilterKind::Sum });
    let mut rows: Option<(u64, &Path)> = None;
    for file in files {
        match (rows, file.odometer.rows()) {
            (Some((known, other)), Some(here)) if known != here => {
                return Diagnostic::new(format!(
                    "`{}` is about {known} records and `{}` about {here}",
                    other.display(),
                    file.path.display()
                ))
                .hint("files that are shown together are about the same records, row by row: show these apart")
                .refuse();
            }
            (None, Some(here)) => rows = Some((here, &file.path)),
            _ => {}
        }
    }
    let delta = files.iter().filter_map(|file| file.odometer.stated_delta()).max_by(|a, b| a.get().total_cmp(&b.get()));
    let all = Odometer::new(filter, None, rows.map(|(rows, _)| rows)).map_err(|why| Diagnostic::new(why.to_string()).error())?;
    let mut all = all.read_at(delta);
    let mut ordered: Vec<&SpendingFile> = files.iter().collect();
    ordered.sort_by_key(|file| file.kind);
    for (at, file) in ordered.iter().enumerate() {
        for other in ordered[..at].iter().filter(|other| other.kind == file.kind && other.id == file.id) {
            refuse_copy(other, file, note)?;
        }
    }
    let named = files.iter().find(|file| file.naming != Naming::Rows);
    if let Some(file) = named {
        return Diagnostic::new(format!("`{}` names records by ids, which other files do not have", file.path.display()))
            .hint("files that are shown together are about the same rows: show these apart; columns of one file share its budget")
            .refuse();
    }
    for file in &ordered {
        refuse_older(file, &ordered)?;
    }
    let mut known: BTreeSet<(&str, Seal, i64)> = BTreeSet::new();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for file in &ordered {
        let mut is_counted = !file.spends.is_empty();
        for row in &file.spends {
            let Some((source, spend)) = file.column_of(row).and_then(|column| Some((&column.source, column.spend.as_ref()?)))
            else {
                continue;
            };
            // Sums over users of two copies are two streams: each is added as a whole.
            let is_new =
                known.insert((source, row.name, row.record)) || spend.growth == Growth::OneStream && file.is_copied(&ordered);
            is_counted &= !is_new;
            if !is_new {
                continue;
            }
            let kind = match kinds.get(source.as_str()) {
                Some(kind) => *kind,
                None => {
                    if spend.cost(filter, &spend.loss.named()).is_none() {
                        return Diagnostic::new(format!("filter `{filter}` has no bound for mechanism `{}`", spend.mechanism))
                            .hint("choose another `--filter`: `sum` takes every mechanism whose claim holds")
                            .refuse();
                    }
                    let kind = all.add_kind_of(&Spend { session: source.clone(), ..spend.clone() });
                    kinds.insert(source, kind);
                    kind
                }
            };
            all.add_kind(kind, records_of(row.record), 1);
        }
        if is_counted {
            note(&format!("the spends of `{}` are counted by another file that is shown, and not twice", file.path.display()));
        }
    }
    Ok(all)
}

impl SpendingFile {
    pub fn column_of(&self, row: &SpendRow) -> Option<&Column> {
        let at = self.columns.binary_search_by_key(&row.column, |column| column.number).ok()?;
        Some(&self.columns[at])
    }

    /// Whether another file is a copy of this one that went on by itself.
    fn is_copied(&self, files: &[&Self]) -> bool {
        files.iter().filter(|other| other.id == self.id && other.kind == self.kind).count() > 1
    }

    /// Returns the answers that a source has made, as far as this file counts them, by record.
    fn names_of(&self, source: &str) -> BTreeMap<i64, BTreeSet<Seal>> {
        let mut found: BTreeMap<i64, BTreeSet<Seal>> = BTreeMap::new();
        if let Some(column) = self.columns.iter().find(|column| column.source == source) {
            for row in self.spends.iter().filter(|row| row.column == column.number) {
                found.entry(row.record).or_default().insert(row.name);
            }
        }
        found
    }

    /// Whether all answers that another file counts are counted here.
    fn holds(&self, part: &Self) -> bool {
        let names: BTreeSet<(&str, Seal)> = self.identities().collect();
        part.identities().all(|one| names.contains(&one))
    }

    fn identities(&self) -> impl Iterator<Item = (&str, Seal)> {
        self.spends.iter().map(move |row| (self.column_of(row).map_or("", |column| &column.source), row.name))
    }
}

/// Fails where one file is an older or unchanged copy of the other; of two that both went on, both count.
fn refuse_copy(one: &SpendingFile, other: &SpendingFile, note: Note<'_>) -> Result<(), Error> {
    let (newer, older) = match (one.holds(other), other.holds(one)) {
        (false, false) => {
            note(&format!(
                "warning: `{}` and `{}` are copies of one {} that both went on: the answers of both are added",
                one.path.display(),
                other.path.display(),
                one.kind.name()
            ));
            return Ok(());
        }
        (true, true) => {
            return Diagnostic::new(format!("`{}` is a copy of `{}`", other.path.display(), one.path.display()))
                .hint("name one of the two")
                .refuse();
        }
        (true, false) => (one, other),
        (false, true) => (other, one),
    };
    Diagnostic::new(format!("`{}` is an older copy of `{}`", older.path.display(), newer.path.display()))
        .hint(format!("show `{}` alone: it counts what the older copy counts", newer.path.display()))
        .refuse()
}

/// Fails where a file that should count an answer of this one does not: an older copy, or a copy that went on in another way.
fn refuse_older(file: &SpendingFile, files: &[&SpendingFile]) -> Result<(), Error> {
    let older = |other: &SpendingFile, problem: String| {
        Diagnostic::new(format!("`{}` {problem}, and `{}` holds it", other.path.display(), file.path.display()))
            .hint("the first is an older copy, or a copy that went on elsewhere: show the file that made the answer")
            .refuse()
    };
    let named = |record: i64| if record == EVERY { "every record".to_owned() } else { format!("record {record}") };
    for column in &file.columns {
        let counts = |other: &&&SpendingFile| {
            let is_odometer = column.odometer.as_ref().is_some_and(|link| link.id == other.id);
            let is_holder = !column.is_own && other.columns.iter().any(|known| known.is_own && known.source == column.source);
            other.id != file.id && (is_odometer || is_holder)
        };
        for other in files.iter().filter(counts) {
            let (here, there) = (file.names_of(&column.source), other.names_of(&column.source));
            for (record, names) in here {
                let known = there.get(&record).cloned().unwrap_or_default();
                if names.iter().all(|name| known.contains(name)) {
                    continue;
                }
                if column.is_own {
                    let (there, here) = (known.len(), names.len());
                    let (source, record) = (&column.source, named(record));
                    return older(other, format!("counts {there} releases of session {source} about {record}, not {here}"));
                }
                return older(other, format!("does not know of an answer of its own about {}", named(record)));
            }
        }
    }
    Ok(())
}

fn read(path: &Path, stated: Option<FilterKind>) -> Result<SpendingFile, Error> {
    let corrupt = |problem: &str| Error::corrupt(path, problem, "name a deployment, or the `.ledger.json` of a curated table");
    if DeploymentFile::is_one(path)? || DeploymentFile::is_absent(path) {
        return read_open(&DeploymentFile::open_to_read(path)?, stated);
    }
    let ledger = CuratedLedger::read(path)?;
    let found = Column::of_table(&ledger).and_then(|(column, name)| Some((column.spend.clone()?, column, name)));
    let (spend, column, name) = found.ok_or_else(|| corrupt("states no loss that can be added up"))?;
    let filter = stated.unwrap_or(spend.natural_filter());
    let mut odometer = Odometer::new(filter, None, Some(ledger.rows)).map_err(|why| corrupt(&why.to_string()))?;
    odometer.add(&spend);
    let column = Column { number: 1, is_own: true, n: 1, ..column };
    Ok(SpendingFile {
        path: path.to_owned(),
        kind: FileKind::CuratedInputs,
        id: column.source.clone(),
        terms: None,
        odometer,
        columns: vec![column],
        spends: vec![SpendRow { column: 1, record: EVERY, time: 0, command: 0, name }],
        ids: BTreeMap::new(),
        naming: Naming::Rows,
        notes: Vec::new(),
    })
}

/// Reads a deployment in the transaction that is under way: every answer is checked against its digest, and the totals against the
/// answers.
pub(super) fn read_open(file: &DeploymentFile, stated: Option<FilterKind>) -> Result<SpendingFile, Error> {
    let path = file.path_of(Side::Own);
    file.check_all()?;
    let columns = file.columns(Side::Own)?;
    let is_open = |column: &Column| column.spend.is_none() && 0 < column.n;
    if columns.iter().any(is_open) {
        return Diagnostic::new(format!(
            "the rewards of `{}` passed no mechanism: each spends an infinite epsilon",
            path.display()
        ))
        .hint("a ledger adds up losses of mechanisms: leave this session out, and know that it protects nothing")
        .refuse();
    }
    let declared = file.budget(Side::Own)?;
    if declared.is_none() && !columns.is_empty() {
        return Err(file.altered(Side::Own, "its budget"));
    }
    let mut terms =
        declared.clone().unwrap_or(BudgetTerms { filter: FilterKind::Sum, budget: None, protects: None, rows: None, per: None });
    if let Some(stated) = stated.filter(|stated| *stated != terms.filter) {
        terms = BudgetTerms { filter: stated, budget: None, ..terms };
    }
    let mut spends = Vec::new();
    file.each_answer(Side::Own, None, |row, _, _| spends.push(row))?;
    let mut counts: BTreeMap<(i64, i64), u64> = BTreeMap::new();
    for row in &spends {
        *counts.entry((row.record, row.column)).or_default() += 1;
    }
    if file.counts(Side::Own, "0 < n")? != counts {
        return Err(file.altered(Side::Own, "a total of its table `accounts`"));
    }
    let answered: BTreeSet<i64> = columns.iter().filter(|column| 0 < column.n).map(|column| column.number).collect();
    if counts.keys().any(|(_, column)| !answered.contains(column)) {
        return Err(file.altered(Side::Own, "the number of answers of a column"));
    }
    let mut odometer = terms.fresh()?;
    add_counts(&mut odometer, &columns, counts);
    let ids =
        file.rows(Side::Own, ("people", "id IS NOT NULL"), &[], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Value>(1)?)))?;
    let ids = ids.into_iter().filter_map(|(record, id)| match id {
        Value::Text(id) => Some((record as u64, id)),
        _ => None,
    });
    let (sessions, own) = (file.sessions()?, columns.iter().filter(|column| column.is_own).count());
    let kind = match (sessions.len(), own) {
        (0, 0) => FileKind::Odometer,
        (0, 1) => FileKind::Releases,
        (1, 1) => FileKind::Session,
        _ => FileKind::Deployment,
    };
    let mut notes = Vec::new();
    for column in columns.iter().filter(|column| column.is_own) {
        for text in [column.form.words().to_owned(), about_copies(column)] {
            if !notes.contains(&text) {
                notes.push(text);
            }
        }
        if let Some(link) = &column.odometer {
            notes.push(format!("the odometer `{}` counts these releases too, and its budget stops them", link.path.display()));
        }
    }
    if let Some(BudgetTerms { budget: Some(budget), per: Some(period), .. }) = declared {
        notes.push(format!(
            "the budget is renewed each {period} (UTC): {budget} holds for the answers of one {period}, those of several add up, and \
             the figures above are of all of them together"
        ));
    }
    Ok(SpendingFile {
        path: path.to_owned(),
        kind,
        id: file.identity.id.clone(),
        terms: Some(terms),
        odometer,
        ids: ids.collect(),
        naming: file.identity.naming,
        columns,
        spends,
        notes,
    })
}
