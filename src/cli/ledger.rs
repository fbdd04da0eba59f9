//! `privateer ledger`: what sessions, releases, curated tables and odometers have spent, one by one and together.

use super::commands::{note, say};
use super::deployment::{Deployment, filter, read_odometer};
use super::release::spends_of;
use crate::env::CuratedLedger;
use crate::record::{StateFile, StateKind};
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::Ledger;
use privateer_privacy::odometer::{FilterKind, Odometer, Spend};
use std::path::{Path, PathBuf};

/// Arguments of `privateer ledger`.
#[derive(Debug, Args)]
pub struct LedgerArgs {
    /// Sessions, release states, odometers, ledgers of curated tables: all about the same records, row by row
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How losses add up: sum (of epsilon), zcdp, gaussian-dp [default: that of the files, or `sum` where they differ]
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Holds the spends that one file states.
struct SpendingFile {
    path: PathBuf,
    /// What kind of file it is.
    kind: &'static str,
    /// How close it is to the spends: an odometer is asked before the files that spend from it, a data holder before a session.
    rank: u8,
    /// The sessions that it accounts for.
    sessions: Vec<String>,
    /// Its own account.
    odometer: Odometer,
    /// What it states about who sees what.
    notes: Vec<String>,
}

/// Shows each file, and all of them together.
///
/// # Errors
/// A file that states no spends, or is damaged; files about tables of different sizes.
pub fn ledger(args: &LedgerArgs) -> Result<(), Error> {
    let stated = filter(args.filter.as_deref())?;
    let mut files: Vec<SpendingFile> = Vec::new();
    for path in &args.files {
        let file = read(path, stated)?;
        if files.iter().any(|known| known.path.canonicalize().ok() == path.canonicalize().ok()) {
            return Err(Error::input(
                Diagnostic::new(format!("`{}` is named twice", path.display())).hint("name each file once"),
            ));
        }
        files.push(file);
    }
    let all = if files.len() == 1 { None } else { Some(together(&files, stated)?) };
    if args.json {
        let each: Vec<serde_json::Value> = files
            .iter()
            .map(|file| {
                let mut ledger = file.odometer.ledger();
                ledger.notes.extend(file.notes.clone());
                serde_json::json!({ "file": file.path.display().to_string(), "kind": file.kind, "ledger": ledger })
            })
            .collect();
        say(&serde_json::json!({ "files": each, "together": all.map(|all| all.ledger()) }).to_string());
        return Ok(());
    }
    for file in &files {
        say(&format!("{} ({})", file.path.display(), file.kind));
        let mut ledger = file.odometer.ledger();
        ledger.notes.extend(file.notes.clone());
        say(&ledger.page());
    }
    if let Some(all) = all {
        say("together, record by record");
        say(&all.ledger().page());
    }
    Ok(())
}

/// Returns the spends of all files in one account; a session that an odometer counts is counted once.
fn together(files: &[SpendingFile], stated: Option<FilterKind>) -> Result<Odometer, Error> {
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
    let mut all =
        Odometer::new(filter, None, rows.map(|(rows, _)| rows)).map_err(|why| Error::input(Diagnostic::new(why.to_string())))?;
    let mut ordered: Vec<&SpendingFile> = files.iter().collect();
    ordered.sort_by_key(|file| file.rank);
    let releases_of = |file: &SpendingFile, session: &String| -> u64 {
        let own = file.odometer.spends().iter().filter(|spend| spend.session == *session);
        own.map(|spend| spend.count).fold(0, u64::saturating_add)
    };
    let mut seen: Vec<(&String, u8, u64, &Path)> = Vec::new();
    for file in ordered {
        let is_counted = |session: &String| seen.iter().any(|(known, rank, ..)| *known == session && *rank < file.rank);
        for (session, _, count, other) in &seen {
            let here = releases_of(file, session);
            if file.sessions.contains(session) && *count < here {
                return Err(Error::input(
                    Diagnostic::new(format!(
                        "`{}` counts {count} releases of session {session}, and `{}` counts {here}",
                        other.display(),
                        file.path.display()
                    ))
                    .hint("the first is an older copy: show the newest of the files"),
                ));
            }
        }
        if !file.sessions.is_empty() && file.sessions.iter().all(is_counted) {
            note(&format!("the spends of `{}` are counted by another file that is shown, and not twice", file.path.display()));
            continue;
        }
        if let Some(copy) = file.sessions.iter().find(|session| seen.iter().any(|(known, ..)| known == session)) {
            note(&format!(
                "warning: `{}` is a copy of a session that is shown already ({copy}): answers of both are added, those before the copy twice",
                file.path.display()
            ));
        }
        seen.extend(file.sessions.iter().map(|session| (session, file.rank, releases_of(file, session), file.path.as_path())));
        for spend in file.odometer.spends() {
            if spend.cost(filter).is_none() {
                return Err(Error::input(
                    Diagnostic::new(format!("filter `{filter}` has no bound for mechanism `{}`", spend.mechanism))
                        .hint("choose another `--filter`: `sum` takes every mechanism whose claim holds"),
                ));
            }
            all.add(spend);
        }
    }
    Ok(all)
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
        let filter = stated.unwrap_or(FilterKind::natural(&spend.loss));
        let rows = Some(ledger.rows);
        let odometer = account(filter, None, rows, std::slice::from_ref(&spend))?;
        let sessions = vec![spend.session];
        return Ok(SpendingFile {
            path: path.to_owned(),
            kind: "curated inputs",
            rank: 1,
            sessions,
            odometer,
            notes: Vec::new(),
        });
    };
    if kind == StateKind::Odometer {
        let (_, odometer) = read_odometer(path, |key| value[key].clone())?;
        let sessions = odometer.sessions();
        return Ok(SpendingFile { path: path.to_owned(), kind: "odometer", rank: 0, sessions, odometer, notes: Vec::new() });
    }
    let deployment: Deployment =
        serde_json::from_value(value["deployment"].clone()).map_err(|_| corrupt("does not say who it is"))?;
    let mut notes = vec![deployment.form.words().to_owned(), deployment.about_copies()];
    if let Some(link) = &deployment.odometer {
        notes.push(format!("the odometer `{}` counts these releases too, and its budget stops them", link.path.display()));
    }
    let (kind, rank, rows, spends) = match kind {
        StateKind::Releases => {
            ("release state", 1, None, spends_of(&value).ok_or_else(|| corrupt("does not say what it has released"))?)
        }
        StateKind::Session | StateKind::Odometer => {
            let ledger: Ledger =
                serde_json::from_value(value["ledger"].clone()).map_err(|_| corrupt("has no ledger that can be read"))?;
            let told = value["session"]["told"].as_array().cloned().unwrap_or_default();
            let rows: Vec<u64> = told.iter().filter_map(|told| told["row"].as_u64()).collect();
            let spend = |row: &u64| Spend::of_answer(&ledger, &deployment.id, &deployment.column, *row);
            let spends: Option<Vec<Spend>> = rows.iter().map(spend).collect();
            let spends = spends.ok_or_else(|| {
                Error::input(
                    Diagnostic::new(format!(
                        "the rewards of `{}` passed no mechanism: each spends an infinite epsilon",
                        path.display()
                    ))
                    .hint("a ledger adds up losses of mechanisms: leave this session out, and know that it protects nothing"),
                )
            })?;
            let rows = value["spent"]["rows"].as_u64();
            ("session", 2, rows, spends)
        }
    };
    let filter = stated.or(deployment.filter).unwrap_or(FilterKind::Sum);
    let budget = deployment.budget.filter(|_| stated.is_none_or(|stated| Some(stated) == deployment.filter));
    let odometer = account(filter, budget, rows, &spends)?;
    // Values of a data holder are spent by the state that released them.
    let sessions = if deployment.sources.is_empty() { vec![deployment.id] } else { deployment.sources };
    Ok(SpendingFile { path: path.to_owned(), kind, rank, sessions, odometer, notes })
}
