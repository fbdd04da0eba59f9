//! Runs a sweep into a results folder.

use super::manifest::{manifest, run_record};
use super::observer::{Notice, ReleaseSummary, RunObserver};
use super::recorder::Recorder;
use super::threads::thread_pool_with;
use super::{RunOptions, notices};
use crate::audit::{self, AuditFile, RunsAudit, Settings};
use crate::record::{self, Count, DigestList, Folder, Manifest, RunRecord};
use crate::report::{self, Outcome};
use privateer_config::error::Error;
use privateer_engine::engine::{self, Options, Preparation, Stop, Unit};
use privateer_engine::spec::Sweep;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A results folder after a run.
#[derive(Debug)]
#[must_use]
#[non_exhaustive]
pub struct RunFolder {
    /// The folder.
    pub path: PathBuf,
    /// The report; `None` if this run was a shard and the folder lacks the parts of others.
    pub report: Option<Outcome>,
    /// Why the audit that the spec asks for could not be made; results and report are complete without it.
    pub audit_error: Option<Error>,
}

/// Runs a sweep into the folder `out`, which may hold parts of the same sweep: these are not computed again.
///
/// A complete folder is audited, if the spec asks for that, and reported.
///
/// # Errors
/// [`Error::Input`] if settings mislead and the options are strict; [`Error::Incomplete`] after a request to `stop`; [`Error::Folder`] if `out` cannot be used; the first failure of the simulation
/// or of the disk. Finished parts are kept, except after [`Error::Untrusted`].
pub fn run_to_folder(
    sweep: &Sweep,
    out: &Path,
    options: &RunOptions,
    stop: &Stop,
    observer: &dyn RunObserver,
) -> Result<RunFolder, Error> {
    if let Some(n_blocks) = left_as_it_is(sweep, out, options, FEWEST_LEFT) {
        observer.notice(Notice::Whole { n_blocks });
        return Ok(RunFolder { path: out.to_owned(), report: None, audit_error: None });
    }
    let backend = options.backend.as_ref();
    let pool = thread_pool_with(options.threads, &options.thread_setup)?;
    let preparation = Preparation::new(sweep, &options.data, backend);
    take_rates(sweep, &preparation, out, options)?;
    let cells = pool.install(|| preparation.cell_infos(&|factors| observer.tuned(factors)))?;
    notices::before(sweep, &cells, options, observer)?;
    let units = options.share.of(engine::units(sweep))?;
    let mut manifest = manifest(sweep, cells);
    manifest.tuned_rates = preparation.tuned_rates();
    let opened = record::once_free(Duration::ZERO, || Folder::open(out, &manifest))?;
    let mut record = run_record(backend, pool.current_num_threads(), &options.share);
    record.backend_reason.clone_from(&options.backend_reason);
    if let Some(earlier) = RunRecord::of(out) {
        record.counters = earlier.counters;
    }
    record.save(out)?;
    let done: BTreeSet<Unit> = opened.done.iter().map(|id| Unit { cell: id.cell, block: id.block }).collect();
    let open: Vec<&Unit> = units.iter().filter(|unit| !done.contains(unit)).collect();
    let trial_rounds = open.iter().map(|unit| rounds(sweep, **unit)).fold(0, u64::saturating_add);
    let n_done = units.len() - open.len();
    observer.notice(Notice::Opened { folder: &opened, n_done, n_blocks: units.len(), trial_rounds });

    let recorder = Recorder::new(out, &manifest, sweep, observer);
    let engine_options = Options { batch: options.batch, verify: options.verify, share: options.share.clone() };
    let tally = pool.install(|| engine::run(sweep, &preparation, engine_options, &done, stop, &recorder));
    let written = recorder.finish();
    observer.notice(Notice::Simulated);
    if matches!(tally, Err(Error::Untrusted { .. })) {
        observer.notice(Notice::Withdrawn { n_blocks: recorder.remove_written()? });
    }
    let tally = tally?;
    written?;
    let n_written = recorder.n_written();
    notices::after(&tally.counters, record.adapter.is_some() && 0 < tally.finished, observer);
    let (released, written) = recorder.into_results();
    let label = |(&cell, summary): (&u32, &ReleaseSummary)| (sweep.cells[cell as usize].label(), summary.clone());
    observer.notice(Notice::Released { cells: &released.iter().map(label).collect::<Vec<_>>() });
    if 0 < tally.finished {
        let sums = Count::named(released.iter().map(|(cell, summary)| (cell.to_string(), summary.count())));
        let screens = tally.counters.named().into_iter().map(|(name, count)| (name, Count::Number(count)));
        record.counters.add(Count::named(screens.chain([("private_sums", sums)])));
        record.save(out)?;
    }
    DigestList::sort(out)?;
    if tally.stopped {
        return Err(Error::Incomplete {
            done: n_done + n_written,
            total: units.len(),
            reason: "the run was stopped".to_owned(),
            hint: format!("the same command resumes; finished parts are in `{}`", out.display()),
        });
    }
    // The last of several shards run into one folder completes it.
    let path = out.to_owned();
    if !engine::units(sweep).iter().all(|unit| done.contains(unit) || units.contains(unit)) {
        return Ok(RunFolder { path, report: None, audit_error: None });
    }
    if record.shard.take().is_some() {
        record.save(out)?;
    }
    let audited = sweep.audit.map(|samples| pool.install(|| audit(sweep, samples, options, out)));
    DigestList::sort(out)?;
    // The report reads the manifest again: with many cells two of them fill memory.
    drop((manifest, preparation));
    // Threads that end give back the memory that is free in them.
    drop(pool);
    let report = report::write_report_of(out, written, &|_| ())?;
    Ok(RunFolder { path, report: Some(report), audit_error: audited.and_then(Result::err) })
}

/// Fewest parts of a complete folder that a further run leaves as it is: to describe its cells and make its report again would take seconds.
const FEWEST_LEFT: usize = 10_000;

/// Returns the number of parts of a folder in which nothing is to be done.
///
/// * `fewest` — number of parts of a folder that may be left
///
/// The results of a spec that reads data, or that asks for an audit, depend on more than its text.
fn left_as_it_is(sweep: &Sweep, out: &Path, options: &RunOptions, fewest: usize) -> Option<usize> {
    let asks_for_more = options.strict || options.verify || options.rates.is_some() || sweep.audit.is_some();
    let is_small = sweep.cells.len().saturating_mul(sweep.trials.div_ceil(sweep.block) as usize) < fewest;
    if asks_for_more || options.share != engine::Share::All || is_small || !report::exists(out) {
        return None;
    }
    let reads_data = sweep.cells.iter().any(|cell| !cell.data_files().is_empty());
    if reads_data { None } else { Folder::n_whole_parts(out, &sweep.hash) }
}

/// Takes the learning rates that an earlier run or another shard has tuned: tuning runs every candidate to its end.
fn take_rates(sweep: &Sweep, preparation: &Preparation<'_>, out: &Path, options: &RunOptions) -> Result<(), Error> {
    let fits = |manifest: &Manifest| manifest.spec_hash == sweep.hash && manifest.program_version == env!("CARGO_PKG_VERSION");
    if let Some(folder) = &options.rates {
        let manifest = Folder::manifest(folder)?;
        if !fits(&manifest) {
            let problem = "holds learning rates of another spec or another version of the program";
            return Err(Error::folder(folder, problem, "name a results folder of this spec, or run without `--rates`"));
        }
        preparation.set_tuned_rates(&manifest.tuned_rates);
    } else if preparation.tunes_rates() && Manifest::path(out).exists() {
        // Whatever is wrong with the folder is said where it is opened.
        if let Ok(manifest) = Folder::manifest(out)
            && fits(&manifest)
        {
            preparation.set_tuned_rates(&manifest.tuned_rates);
        }
    }
    Ok(())
}

fn rounds(sweep: &Sweep, unit: Unit) -> u64 {
    let first = u64::from(unit.block) * sweep.block;
    let rounds: u64 = sweep.cells_of_part(unit.cell).iter().map(|cell| cell.rounds).sum();
    rounds * sweep.block.min(sweep.trials - first)
}

/// Attacks every policy of the sweep and stores the findings beside the parts.
fn audit(sweep: &Sweep, samples: u64, options: &RunOptions, out: &Path) -> Result<(), Error> {
    let settings = Settings { samples, seed: sweep.seed, ..Settings::default() };
    let RunsAudit { findings, passed_over } = audit::of_runs(sweep, &options.data, options.backend.as_ref(), settings, &|_| ())?;
    let file = AuditFile { confidence: settings.confidence, seed: settings.seed, findings, passed_over };
    let text = serde_json::to_string_pretty(&file)
        .map_err(|error| Error::failed(format!("the audit: {error}"), "please report this"))?;
    record::rewrite_listed(out, AuditFile::NAME, text.as_bytes(), "write the audit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

    const SPEC: &str = "references = false\nrounds = 40\ntrials = 2\nblock = 1\n[problem]\nkind = \"linear-regression\"\ndimension = 3\nset = { kind = \"lp-ball\", p = 1.5 }\n[privacy]\nepsilon = 1.0\n\
        [[learner]]\nkind = \"dp-tofw\"\nlearning_rates = [0.1, 1.0]\nvalidation_trials = 2\n";

    /// A complete folder is left as it is, unless something of it is missing or altered, or the spec or the options ask for more.
    #[test]
    fn a_whole_folder_is_left_as_it_is() {
        let root = tempfile::tempdir().expect("a folder");
        let (out, options) = (root.path().join("a"), RunOptions::default());
        let sweep = Sweep::parse("small.toml", SPEC, &[]).expect("a spec");
        assert_eq!(left_as_it_is(&sweep, &out, &options, 1), None, "nothing is there");
        let _ = run_to_folder(&sweep, &out, &options, &Stop::new(), &()).expect("a run");
        assert_eq!(left_as_it_is(&sweep, &out, &options, 1), Some(2));
        assert_eq!(left_as_it_is(&sweep, &out, &options, 3), None, "few parts");
        assert_eq!(left_as_it_is(&sweep, &out, &RunOptions { strict: true, ..options.clone() }, 1), None);
        let other = Sweep::parse("small.toml", &SPEC.replace("rounds = 40", "rounds = 41"), &[]).expect("a spec");
        assert_eq!(left_as_it_is(&other, &out, &options, 1), None, "another spec");
        let files = ["cells/c0000-b0001.parquet", "summary.csv", "report.html", "manifest.json"];
        for file in files.map(|file| out.join(file)) {
            let whole = fs::read(&file).expect("a file");
            fs::remove_file(&file).expect("removed");
            assert_eq!(left_as_it_is(&sweep, &out, &options, 1), None, "without {}", file.display());
            fs::write(&file, &whole).expect("restored");
        }
        let part = out.join(files[0]);
        let mut altered = fs::read(&part).expect("a part");
        altered[9] ^= 1;
        fs::write(&part, altered).expect("written");
        assert_eq!(left_as_it_is(&sweep, &out, &options, 1), None, "altered");
    }

    /// A second run, and a run that is told of the folder, take the rates and give the same bytes.
    #[test]
    fn tuned_rates_are_read_again() {
        let root = tempfile::tempdir().expect("a folder");
        let sweep = Sweep::parse("small.toml", SPEC, &[]).expect("a spec");
        let run = |name: &str, rates: Option<&str>| {
            let options = RunOptions { rates: rates.map(|rates| root.path().join(rates)), ..RunOptions::default() };
            let out = root.path().join(name);
            run_to_folder(&sweep, &out, &options, &Stop::new(), &()).map(|_| ()).map(|()| {
                let manifest = Manifest::load(&out).expect("a manifest");
                let parts: Vec<_> = manifest.parts().map(|id| fs::read(id.path(&out)).expect("a part")).collect();
                (manifest, parts)
            })
        };
        let (first, parts) = run("a", None).expect("a run");
        assert_eq!(first.tuned_rates.len(), 1);
        let (other, other_parts) = run("b", Some("a")).expect("a run");
        assert_eq!((&other.cells, &other.tuned_rates, other_parts), (&first.cells, &first.tuned_rates, parts));
        // The other candidate, planted, is believed; what is no candidate is not.
        let rate = first.tuned_rates[&0];
        let candidate = if rate < 0.5 { 1.0 } else { 0.1 };
        for (planted, taken) in [(candidate, candidate), (7.0, rate)] {
            let _ = fs::remove_dir_all(root.path().join("c"));
            Manifest { tuned_rates: BTreeMap::from([(0, planted)]), ..first.clone() }
                .save(&root.path().join("a"))
                .expect("saved");
            assert_eq!(run("c", Some("a")).expect("a run").0.tuned_rates[&0], taken);
        }
        // Another spec's folder is refused.
        Manifest { spec_hash: "other".to_owned(), ..first }.save(&root.path().join("a")).expect("saved");
        assert!(matches!(run("d", Some("a")), Err(Error::Folder { .. })));
    }
}
