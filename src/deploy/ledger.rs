//! What sessions, releases, curated tables and odometers have spent, one by one and together.

use super::deployment::{AnswerName, StatedAnswers, read_odometer};
use super::notes::Note;
use crate::audit::deployment::{self, Fact, StatedFile, StatedLoss};
use crate::env::CuratedLedger;
use crate::record::{StateFile, StateKind};
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::Growth;
use privateer_privacy::odometer::{DeploymentLedger, FilterKind, Odometer, Spend, SpentRecords};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Compares what files state with the exact losses of what was released, file by file and together.
///
/// # Errors
/// As [`ledger`].
pub fn stated_losses(paths: &[PathBuf], note: Note<'_>) -> Result<Vec<StatedLoss>, Error> {
    let files = read_all(paths, None)?;
    let mut stated: Vec<StatedFile> = Vec::new();
    for file in &files {
        // An odometer states what everything that spends from it has released.
        let facts = if file.kind == FileKind::Odometer {
            let is_shared = |fact: &Fact| file.odometer.mark(&fact.source).is_some();
            distinct(&files).into_iter().filter(is_shared).collect()
        } else {
            file.facts.clone()
        };
        let claim = match file.answers.as_slice() {
            [(_, spend)] if file.kind == FileKind::CuratedInputs => Some((spend.loss.named(), spend.epsilon, spend.delta)),
            _ => None,
        };
        let held = file.odometer.held().unwrap_or_default();
        stated.push(StatedFile { name: file.path.display().to_string(), ledger: file.odometer.ledger(), held, claim, facts });
    }
    if 1 < files.len() {
        let (ledger, facts) = (together(&files, None, note)?.ledger(), distinct(&files));
        stated.push(StatedFile { name: "together".to_owned(), ledger, held: Vec::new(), claim: None, facts });
    }
    Ok(stated.iter().flat_map(deployment::check).collect())
}

/// Returns the files of a folder that state spends, in order of their names.
///
/// # Errors
/// A folder that cannot be read.
pub fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::io("read the folder", folder, source);
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(failed)?;
    let is_curated = |path: &Path| path.to_string_lossy().ends_with(".ledger.json");
    paths.retain(|path| path.is_file() && (is_curated(path) || !matches!(StateFile::peek(path), Ok(None))));
    paths.sort();
    Ok(paths)
}

/// The releases of all files, each once, with those that an odometer alone knows: a spend counts where its answer was never given out.
fn distinct(files: &[SpendingFile]) -> Vec<Fact> {
    let mut known = BTreeSet::new();
    let all = files.iter().flat_map(|file| file.answers.iter().zip(&file.facts));
    let mut facts: Vec<Fact> =
        all.filter(|((name, _), fact)| known.insert((name, fact.record))).map(|(_, fact)| fact.clone()).collect();
    for spend in files.iter().filter(|file| file.kind == FileKind::Odometer).flat_map(|file| file.odometer.spends()) {
        let is_of = |fact: &&Fact| {
            fact.source == spend.session && fact.record.is_none_or(|row| spend.records == SpentRecords::One { row })
        };
        let n_known = facts.iter().filter(is_of).count();
        facts.extend(Fact::of_spend(spend).skip(n_known));
    }
    facts
}

/// Holds the spends that one file states.
struct SpendingFile {
    path: PathBuf,
    /// What kind of file it is.
    kind: FileKind,
    /// Its random name.
    id: String,
    /// Its own account.
    odometer: Odometer,
    /// The answers that it holds, each with its spend; an odometer holds none, only what they have spent.
    answers: Vec<(AnswerName, Spend)>,
    /// The same as facts for an audit.
    facts: Vec<Fact>,
    /// What it states about who sees what.
    notes: Vec<String>,
}

/// Kinds of files that state spends, those first that are asked first: an odometer before the files that spend from it, a data holder
/// before the session that takes its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FileKind {
    Odometer,
    CuratedInputs,
    Releases,
    Session,
}

impl FileKind {
    fn name(self) -> &'static str {
        match self {
            Self::Odometer => "odometer",
            Self::CuratedInputs => "curated inputs",
            Self::Releases => "release state",
            Self::Session => "session",
        }
    }
}

/// What files state about their spends.
#[derive(Debug, Serialize)]
pub struct LedgerReport {
    /// Each file.
    pub files: Vec<FileLedger>,
    /// All files together, record by record; `None` for one file.
    pub together: Option<DeploymentLedger>,
}

/// What one file states about its spends.
#[derive(Debug, Serialize)]
pub struct FileLedger {
    /// The file.
    pub file: String,
    /// What kind of file it is, in words.
    pub kind: &'static str,
    /// What was spent.
    pub ledger: DeploymentLedger,
}

/// Returns the ledger of each file, and of all of them together.
///
/// * `filter` — how losses add up; that of the files if absent, or `sum` where they differ
///
/// # Errors
/// A file that states no spends, or is damaged; files about tables of different sizes.
pub fn ledger(paths: &[PathBuf], filter: Option<FilterKind>, note: Note<'_>) -> Result<LedgerReport, Error> {
    if paths.is_empty() {
        let expected = "sessions, release states, odometers or curated tables";
        return Err(Error::input(Diagnostic::new("no file is named").expected(expected)));
    }
    let files = read_all(paths, filter)?;
    let all = if files.len() == 1 { None } else { Some(together(&files, filter, note)?) };
    let each = files.into_iter().map(|file| {
        let mut ledger = file.odometer.ledger();
        ledger.notes.extend(file.notes);
        FileLedger { file: file.path.display().to_string(), kind: file.kind.name(), ledger }
    });
    Ok(LedgerReport { files: each.collect(), together: all.map(|all| all.ledger()) })
}

/// Reads files that state spends.
fn read_all(paths: &[PathBuf], stated: Option<FilterKind>) -> Result<Vec<SpendingFile>, Error> {
    let mut files: Vec<SpendingFile> = Vec::new();
    for path in paths {
        let file = read(path, stated)?;
        if files.iter().any(|known| known.path.canonicalize().ok() == path.canonicalize().ok()) {
            return Err(Error::input(
                Diagnostic::new(format!("`{}` is named twice", path.display())).hint("name each file once"),
            ));
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
                return Err(Error::input(
                    Diagnostic::new(format!(
                        "`{}` is about {known} records and `{}` about {here}",
                        other.display(),
                        file.path.display()
                    ))
                    .hint("files that are shown together are about the same records, row by row: show these apart"),
                ));
            }
            (None, Some(here)) => rows = Some((here, &file.path)),
            _ => {}
        }
    }
    let delta = files.iter().filter_map(|file| file.odometer.stated_delta()).max_by(|a, b| a.get().total_cmp(&b.get()));
    let all =
        Odometer::new(filter, None, rows.map(|(rows, _)| rows)).map_err(|why| Error::input(Diagnostic::new(why.to_string())))?;
    let mut all = all.read_at(delta);
    let mut ordered: Vec<&SpendingFile> = files.iter().collect();
    ordered.sort_by_key(|file| file.kind);
    for (at, file) in ordered.iter().enumerate() {
        for other in ordered[..at].iter().filter(|other| other.kind == file.kind && other.id == file.id) {
            refuse_copy(other, file, note)?;
        }
    }
    let mut add = |spend: &Spend| {
        if spend.cost(filter, &spend.loss.named()).is_none() {
            return Err(Error::input(
                Diagnostic::new(format!("filter `{filter}` has no bound for mechanism `{}`", spend.mechanism))
                    .hint("choose another `--filter`: `sum` takes every mechanism whose claim holds"),
            ));
        }
        all.add(spend);
        Ok(())
    };
    let holders = ordered.iter().filter(|file| file.kind == FileKind::Releases);
    let made: BTreeSet<&AnswerName> = holders.flat_map(|file| file.answers.iter().map(|(name, _)| name)).collect();
    let mut known = BTreeSet::new();
    for file in &ordered {
        if file.kind == FileKind::Odometer {
            file.odometer.spends().iter().try_for_each(&mut add)?;
            continue;
        }
        let mut is_counted = !file.answers.is_empty();
        for (name, spend) in &file.answers {
            if is_counted_elsewhere(&ordered, &made, file, (name, spend))? {
                continue;
            }
            // Sums over users of two copies are two streams: each is added as a whole.
            let is_new = known.insert((name, spend.records)) || spend.growth == Growth::OneStream;
            is_counted &= !is_new;
            if is_new {
                add(spend)?;
            }
        }
        if is_counted {
            note(&format!("the spends of `{}` are counted by another file that is shown, and not twice", file.path.display()));
        }
    }
    Ok(all)
}

/// Fails where one file is an older or unchanged copy of the other; of two that both went on, both count.
fn refuse_copy(one: &SpendingFile, other: &SpendingFile, note: Note<'_>) -> Result<(), Error> {
    let holds = |whole: &SpendingFile, part: &SpendingFile| {
        let spends = part.odometer.spends().iter().all(|spend| count_of(whole, spend) >= count_of(part, spend));
        spends && part.answers.iter().all(|(name, _)| whole.answers.iter().any(|(known, _)| known == name))
    };
    let (newer, older) = match (holds(one, other), holds(other, one)) {
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
            return Err(Error::input(
                Diagnostic::new(format!("`{}` is a copy of `{}`", other.path.display(), one.path.display()))
                    .hint("name one of the two"),
            ));
        }
        (true, false) => (one, other),
        (false, true) => (other, one),
    };
    Err(Error::input(
        Diagnostic::new(format!("`{}` is an older copy of `{}`", older.path.display(), newer.path.display()))
            .hint(format!("show `{}` alone: it counts what the older copy counts", newer.path.display())),
    ))
}

/// Releases of one session about the same records that a file counts, as those of this spend.
fn count_of(file: &SpendingFile, like: &Spend) -> u64 {
    let alike = file.odometer.spends().iter().filter(|spend| spend.session == like.session && spend.records == like.records);
    alike.map(|spend| spend.count).fold(0, u64::saturating_add)
}

/// Whether another file that is shown counts an answer.
/// * `made` — the answers of all release states that are shown
///
/// # Errors
/// A file that should count it and does not: an older copy, or a copy that went on in another way.
fn is_counted_elsewhere(
    files: &[&SpendingFile],
    made: &BTreeSet<&AnswerName>,
    file: &SpendingFile,
    (name, spend): (&AnswerName, &Spend),
) -> Result<bool, Error> {
    let older = |other: &SpendingFile, problem: String| {
        Err(Error::input(
            Diagnostic::new(format!("`{}` {problem}, and `{}` holds it", other.path.display(), file.path.display()))
                .hint("the first is an older copy, or a copy that went on elsewhere: show the file that made the answer"),
        ))
    };
    let record = match spend.records {
        SpentRecords::One { row } => format!("record {row}"),
        SpentRecords::All => "every record".to_owned(),
    };
    for odometer in files.iter().filter(|other| other.kind == FileKind::Odometer) {
        if odometer.odometer.mark(&name.source).is_some() {
            let (there, here) = (count_of(odometer, spend), count_of(file, spend));
            if there < here {
                return older(odometer, format!("counts {there} releases of session {} about {record}, not {here}", name.source));
            }
            return Ok(true);
        }
    }
    let Some(holder) =
        files.iter().find(|other| other.kind == FileKind::Releases && other.id == name.source && file.id != name.source)
    else {
        return Ok(false);
    };
    if made.contains(name) {
        return Ok(true);
    }
    older(holder, format!("does not know of an answer of its own about {record}"))
}

/// Reads any file that states spends.
fn read(path: &Path, stated: Option<FilterKind>) -> Result<SpendingFile, Error> {
    let corrupt = |problem: &str| Error::Corrupt {
        path: path.to_owned(),
        problem: problem.to_owned(),
        hint: "name a session, a release state, an odometer, or the `.ledger.json` of a curated table".to_owned(),
    };
    let account = |filter: FilterKind, budget, rows, spends: &[Spend]| {
        let mut odometer = Odometer::new(filter, budget, rows).map_err(|why| corrupt(&why.to_string()))?;
        spends.iter().for_each(|spend| odometer.add(spend));
        Ok::<Odometer, Error>(odometer)
    };
    let Some((kind, value)) = StateFile::peek(path)? else {
        let ledger = CuratedLedger::read(path)?;
        let spend = ledger.spend().ok_or_else(|| corrupt("states no loss that can be added up"))?;
        let filter = stated.unwrap_or(spend.natural_filter());
        let odometer = account(filter, None, Some(ledger.rows), std::slice::from_ref(&spend))?;
        let name = AnswerName { source: spend.session.clone(), name: ledger.sha256, column: String::new() };
        let facts = Fact::of_spend(&spend).collect();
        return Ok(SpendingFile {
            path: path.to_owned(),
            kind: FileKind::CuratedInputs,
            id: spend.session.clone(),
            odometer,
            answers: vec![(name, spend)],
            facts,
            notes: Vec::new(),
        });
    };
    if kind == StateKind::Odometer {
        let (id, odometer) = read_odometer(path, |key| value[key].clone())?;
        let (path, kind) = (path.to_owned(), FileKind::Odometer);
        return Ok(SpendingFile { path, kind, id, odometer, answers: Vec::new(), facts: Vec::new(), notes: Vec::new() });
    }
    let StatedAnswers { deployment, answers, ledger } = StatedAnswers::of(path, kind, &value)?;
    let mut notes = vec![deployment.form.words().to_owned(), deployment.about_copies()];
    if let Some(link) = &deployment.odometer {
        notes.push(format!("the odometer `{}` counts these releases too, and its budget stops them", link.path.display()));
    }
    let answers = answers.ok_or_else(|| {
        Error::input(
            Diagnostic::new(format!("the rewards of `{}` passed no mechanism: each spends an infinite epsilon", path.display()))
                .hint("a ledger adds up losses of mechanisms: leave this session out, and know that it protects nothing"),
        )
    })?;
    let kind = if kind == StateKind::Releases { FileKind::Releases } else { FileKind::Session };
    let filter = stated.or(deployment.filter).unwrap_or(FilterKind::Sum);
    let budget = deployment.budget.filter(|_| stated.is_none_or(|stated| Some(stated) == deployment.filter));
    let spends: Vec<Spend> = answers.iter().map(|(_, spend)| spend.clone()).collect();
    let odometer = account(filter, budget, value["spent"]["rows"].as_u64(), &spends)?;
    let fact = |(name, spend): &(AnswerName, Spend)| match spend.records {
        SpentRecords::One { row } => Some(Fact::of_answer(&ledger, &name.source, &name.column, row)),
        SpentRecords::All => None,
    };
    let facts = answers.iter().filter_map(fact).collect();
    Ok(SpendingFile { path: path.to_owned(), kind, id: deployment.id, odometer, answers, facts, notes })
}
