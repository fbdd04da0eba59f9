//! `privateer verify`: whether a results folder holds what was written, and on request whether computing it again gives the same bytes.

use super::commands::{note, say};
use super::recorded::{cell_infos, part_rows};
use super::threads;
use crate::engine::{self, Observer, Options, Preparation, Rows, Stop, Unit};
use crate::env::DataFolder;
use crate::record::{self, Manifest, PartId, Verification};
use crate::spec::Sweep;
use clap::Args;
use privateer_backend::{Counters, Cpu};
use privateer_config::error::{Diagnostic, Error};
use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Arguments of `privateer verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A results folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Also compute K randomly chosen parts again and compare their bytes: finds what was forged together with its digests
    #[arg(long, value_name = "K", default_value_t = 0)]
    rerun: usize,
    /// Folder that the spec's data files are relative to [default: $PRIVATEER_DATA, else the working folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// How many problems are shown.
const N_SHOWN: usize = 100;

/// Checks a folder.
///
/// # Errors
/// [`Error::CheckSaidNo`] with everything that is wrong, [`Error::Incomplete`] where parts are not there yet, and those of
/// [`record::verify`].
pub fn verify(args: &VerifyArgs) -> Result<(), Error> {
    let Verification { manifest, done, n_files, mut problems } = record::verify(&args.folder)?;
    let chosen = choose(&done, args.rerun);
    if !chosen.is_empty() {
        problems.extend(run_again(args, &manifest, &chosen)?);
    }
    if !problems.is_empty() {
        let shown = problems.iter().take(N_SHOWN).map(|problem| format!("\n  {problem}")).collect::<String>();
        let rest = problems.len().saturating_sub(N_SHOWN);
        let more = if rest == 0 { String::new() } else { format!("\n  and {rest} more") };
        return Err(Error::CheckSaidNo(format!("`{}` does not hold what was written:{shown}{more}", args.folder.display())));
    }
    if done.len() < manifest.n_parts() {
        return Err(Error::Incomplete {
            done: done.len(),
            total: manifest.n_parts(),
            reason: "what is there is intact".to_owned(),
            hint: "finish the run with the command that started it".to_owned(),
        });
    }
    say(&format!("{n_files} files are those that were written, {} parts among them", done.len()));
    if !chosen.is_empty() {
        say(&format!("{} parts were computed again, with the same bytes", chosen.len()));
    }
    Ok(())
}

/// Chooses this number of parts at random, so that nobody knows beforehand which.
fn choose(done: &BTreeSet<PartId>, n_parts: usize) -> BTreeSet<Unit> {
    let mut drawn: Vec<(u64, PartId)> = done.iter().map(|id| (RandomState::new().build_hasher().finish(), *id)).collect();
    drawn.sort_unstable();
    drawn.iter().take(n_parts).map(|(_, id)| Unit { cell: id.cell, block: id.block }).collect()
}

/// Computes parts again; returns what differs.
fn run_again(args: &VerifyArgs, manifest: &Manifest, chosen: &BTreeSet<Unit>) -> Result<Vec<String>, Error> {
    let sweep = Sweep::parse("manifest.json", &manifest.spec_text, &[])?;
    if sweep.hash != manifest.spec_hash {
        let problem = "this version of the program reads the recorded spec differently";
        return Err(Error::input(Diagnostic::new(problem).hint(format!("use version {}", manifest.program_version))));
    }
    let data = DataFolder::new(args.data.clone().or_else(|| std::env::var_os("PRIVATEER_DATA").map(PathBuf::from)));
    let backend = Cpu::default();
    let preparation = Preparation::new(&sweep, &data, &backend);
    let mut problems = Vec::new();
    let cells = cell_infos(&sweep, &preparation)?;
    for (now, recorded) in cells.iter().zip(&manifest.cells).filter(|(now, recorded)| now != recorded) {
        problems.push(format!(
            "`manifest.json` has other facts or another ledger for cell {} (`{}`) than the spec gives",
            now.cell, recorded.label
        ));
    }
    let others: BTreeSet<Unit> = engine::units(&sweep, None).into_iter().filter(|unit| !chosen.contains(unit)).collect();
    let comparison = Comparison { out: &args.folder, manifest, problems: Mutex::default() };
    note(&format!("computing {} parts again", chosen.len()));
    let pool = threads::pool(args.threads)?;
    pool.install(|| engine::run(&sweep, &preparation, Options::default(), &others, &Stop::new(), &comparison))?;
    problems.extend(comparison.problems.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(problems)
}

/// Compares parts with those in a folder as they are computed.
struct Comparison<'a> {
    out: &'a Path,
    manifest: &'a Manifest,
    problems: Mutex<Vec<String>>,
}

impl Observer for Comparison<'_> {
    fn progressed(&self, _trial_rounds: u64) {}

    fn finished(&self, unit: Unit, rows: Rows, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
        let id = PartId { cell: unit.cell, block: unit.block };
        let bytes = record::part_bytes(&self.manifest.spec_hash, id, &self.manifest.cells[unit.cell as usize], &part_rows(rows))?;
        let path = id.path(self.out);
        let recorded = std::fs::read(&path).map_err(|source| Error::io("read the part", &path, source))?;
        if recorded != bytes {
            let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
            problems.push(format!("`{}` is not what its spec gives", id.listed_name()));
        }
        Ok(())
    }
}
