//! Computes recorded parts again, to find what was forged together with its digests.

use super::RunOptions;
use super::threads::thread_pool_with;
use crate::record::{self, FinishedPart, Manifest, PartId, PartRows};
use privateer_backend::Counters;
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::engine::{self, Observer, Options, Preparation, Stop, Trace, Unit};
use privateer_engine::registry::Registry;
use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Chooses `n_parts` of the finished parts at random, so that nobody can know the choice beforehand.
pub fn choose_parts(done: &BTreeSet<PartId>, n_parts: usize) -> BTreeSet<PartId> {
    let mut drawn: Vec<(u64, PartId)> = done.iter().map(|id| (RandomState::new().build_hasher().finish(), *id)).collect();
    drawn.sort_unstable();
    drawn.iter().take(n_parts).map(|(_, id)| *id).collect()
}

/// Computes the chosen parts of the folder `out` again from its recorded spec, and returns every difference as one sentence.
///
/// Calls `each` after every part, with the number of chosen ones.
///
/// # Errors
/// [`Error::Input`] if this version of the program reads the spec differently, [`Error::Io`] if a part cannot be read, and the first
/// failure of the simulation.
pub fn run_again(
    registry: &Registry,
    out: &Path,
    manifest: &Manifest,
    chosen: &BTreeSet<PartId>,
    options: &RunOptions,
    each: &(dyn Fn(u64) + Sync),
) -> Result<Vec<String>, Error> {
    let mut sweep = registry.parse("manifest.json", &manifest.spec_text, &[])?;
    if sweep.hash != manifest.spec_hash {
        let problem = "this version of the program reads the recorded spec differently";
        return Diagnostic::new(problem).hint(format!("use version {}", manifest.program_version)).refuse();
    }
    // As the folder states it: one that was begun before cells shared parts has a part for each.
    sweep.cells_a_part = manifest.cells_a_part;
    let preparation = Preparation::new(&sweep, &options.data, options.backend.as_ref());
    let mut problems = Vec::new();
    let pool = thread_pool_with(options.threads, &options.thread_setup)?;
    let cells = pool.install(|| preparation.cell_infos(&|_| ()))?;
    for (now, recorded) in cells.iter().zip(&manifest.cells).filter(|(now, recorded)| now != recorded) {
        problems.push(format!(
            "`manifest.json` has other facts or another ledger for cell {} (`{}`) than the spec gives{}",
            now.cell,
            recorded.label(),
            if sweep.cells[now.cell as usize].data_files().is_empty() {
                ""
            } else {
                " over the data found here; `--data DIR` names the folder of the run's"
            }
        ));
    }
    let is_chosen = |unit: &Unit| chosen.contains(&PartId { cell: unit.cell, block: unit.block });
    let others: BTreeSet<Unit> = engine::units(&sweep).into_iter().filter(|unit| !is_chosen(unit)).collect();
    let (open, each) = (PartRows::default(), &|| each(chosen.len() as u64));
    let comparison = Comparison { out, manifest, open, compared: AtomicUsize::new(0), problems: Mutex::default(), each };
    let engine_options = Options { batch: options.batch, verify: options.verify, share: engine::Share::All };
    pool.install(|| engine::run(&sweep, &preparation, engine_options, &others, &Stop::new(), &comparison))?;
    problems.extend(comparison.problems.into_inner().unwrap_or_else(PoisonError::into_inner));
    let n_compared = comparison.compared.into_inner();
    if n_compared != chosen.len() {
        problems.push(format!("{n_compared} of {} chosen parts are parts of the spec", chosen.len()));
    }
    Ok(problems)
}

/// Compares parts with those in a folder as they are computed.
struct Comparison<'a> {
    out: &'a Path,
    manifest: &'a Manifest,
    open: PartRows,
    compared: AtomicUsize,
    problems: Mutex<Vec<String>>,
    each: &'a (dyn Fn() + Sync),
}

impl Observer for Comparison<'_> {
    fn finished(&self, unit: Unit, rows: Trace, seconds: f64, counters: &Counters) -> Result<(), Error> {
        let part = self.open.add(self.manifest, (unit.cell, unit.block), rows, seconds, counters);
        let Some(FinishedPart { id, rows, .. }) = part else { return Ok(()) };
        let bytes = record::part_bytes(&self.manifest.spec_hash, id, self.manifest.cells_of(id), &rows)?;
        let path = id.path(self.out);
        let recorded = std::fs::read(&path).map_err(|source| Error::io("read the part", &path, source))?;
        if recorded != bytes {
            let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
            problems.push(format!("`{}` is not what its spec gives", id.listed_name()));
        }
        self.compared.fetch_add(1, Ordering::Relaxed);
        (self.each)();
        Ok(())
    }
}
