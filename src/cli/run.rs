//! `privateer run`: read, open the folder, simulate, record, report.

use super::backends;
use super::commands::{note, say, say_removed, shard};
use super::progress::Progress;
use super::recorded::{cell_infos, part_rows};
use super::source::SpecArgs;
use super::threads::{self, MOST_THREADS};
use crate::audit::{self, AuditFile, RunsAudit, Settings};
use crate::engine::{self, Observer, Options, Preparation, Rows, Shard, Stop, TrialEnd, Unit};
use crate::env::DataFolder;
use crate::record::{self, CellInfo, Folder, Manifest, Parameters, PartId, TrialParameters};
use crate::report;
use crate::spec::{Recorded, Sweep};
use clap::Args;
use privateer_backend::{Backend, Counters};
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::ReleaseCounts;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

/// Arguments of `privateer run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Spec files (TOML)
    #[arg(required = true, value_name = "SPEC")]
    specs: Vec<PathBuf>,
    /// Results folder; a folder with parts of the same spec resumes [default: out/SPEC-NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    spec: SpecArgs,
    /// Who scores: `auto` takes a real GPU where there is one
    #[arg(long, value_name = "BACKEND", default_value = "auto", value_parser = backends::NAMES)]
    backend: String,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Trials in lockstep [default: the backend's choice]
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Run the I-th of N shares of the work; join them with `merge`
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<Shard>,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
}

/// Longest that a stopped run may take to end by itself.
const GRACE: Duration = Duration::from_millis(800);

static STOP: Stop = Stop::new();
static HANDLER: Once = Once::new();

/// Runs every spec, in order.
///
/// # Errors
/// The first failure.
pub fn run(args: &RunArgs) -> Result<(), Error> {
    for (name, value) in [("threads", args.threads), ("batch", args.batch)] {
        if value == Some(0) {
            return Err(Error::input(Diagnostic::new(format!("`--{name} 0` runs nothing")).expected("a whole number >= 1")));
        }
    }
    if let Some(threads) = args.threads.filter(|&threads| MOST_THREADS < threads) {
        let diagnostic = Diagnostic::new(format!("`--threads {threads}` is more than any machine has"));
        return Err(Error::input(diagnostic.expected(format!("a whole number from 1 to {MOST_THREADS}"))));
    }
    HANDLER.call_once(|| {
        let installed = ctrlc::set_handler(|| {
            STOP.ask();
            note("stopping: finished blocks are kept");
            // A run between two rounds ends by itself; one that prepares a cell or starts threads is left: files are whole or absent.
            std::thread::sleep(GRACE);
            note("incomplete: the run was stopped\nhint: the same command resumes");
            std::process::exit(privateer_config::error::ExitCode::Incomplete as i32);
        });
        if let Err(problem) = installed {
            note(&format!("warning: Ctrl-C will not stop cleanly: {problem}"));
        }
    });
    // All specs are read before any is run: a mistake in the last costs no time.
    let sweeps = args.specs.iter().map(|path| args.spec.read(path)).collect::<Result<Vec<Sweep>, Error>>()?;
    let mut folders = BTreeSet::new();
    for path in &args.specs {
        let out = folder(args, path)?;
        if !folders.insert(out.clone()) {
            let diagnostic = Diagnostic::new(format!("two specs would write to `{}`", out.display()));
            return Err(Error::input(diagnostic.hint("run them one by one with `--out DIR`, or rename one")));
        }
    }
    for (path, sweep) in args.specs.iter().zip(&sweeps) {
        one(args, &folder(args, path)?, sweep)?;
    }
    Ok(())
}

/// The results folder of a spec.
fn folder(args: &RunArgs, path: &Path) -> Result<PathBuf, Error> {
    if let (Some(out), 1) = (&args.out, args.specs.len()) {
        return Ok(out.clone());
    }
    let stem = path.file_stem().map_or_else(|| "run".into(), |stem| stem.to_string_lossy().into_owned());
    if stem.chars().all(|c| c == '.') {
        let diagnostic = Diagnostic::new(format!("the spec `{}` has no name that a folder could have", path.display()));
        return Err(Error::input(diagnostic.expected("a file such as `study.toml`").hint("name the folder with `--out DIR`")));
    }
    Ok(args.out.as_deref().unwrap_or(Path::new("out")).join(stem))
}

/// Vector instructions of this processor, for the manifest: they change speed, never a recorded byte.
fn cpu_features() -> Vec<String> {
    #[cfg(target_arch = "x86_64")]
    let known = [
        ("sse4.2", std::is_x86_feature_detected!("sse4.2")),
        ("avx", std::is_x86_feature_detected!("avx")),
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("fma", std::is_x86_feature_detected!("fma")),
        ("avx512f", std::is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let known: [(&str, bool); 0] = [];
    known.into_iter().filter(|(_, has)| *has).map(|(name, _)| name.to_owned()).collect()
}

fn one(args: &RunArgs, out: &Path, sweep: &Sweep) -> Result<(), Error> {
    let backend = backends::open(&args.backend, None, args.quiet)?.backend;
    let data = args.spec.data();
    let pool = threads::pool(args.threads)?;
    let preparation = Preparation::new(sweep, &data, backend.as_ref());
    let cells = cell_infos(sweep, &preparation)?;
    let mut manifest = manifest(sweep, cells, backend.as_ref(), pool.current_num_threads(), args.shard);
    let opened = Folder::open(out, &manifest)?;
    let units = engine::units(sweep, args.shard);
    let done: BTreeSet<Unit> = opened.done.iter().map(|id| Unit { cell: id.cell, block: id.block }).collect();
    let before = units.iter().filter(|unit| done.contains(unit)).count();
    // Said also where only errors are asked for: somebody or something wrote into the folder.
    for altered in &opened.altered {
        note(&format!("warning: {altered}"));
    }
    if !args.quiet {
        say_removed(opened.removed);
        for warning in &opened.warnings {
            note(&format!("warning: {warning}"));
        }
        if 0 < before {
            note(&format!("resuming: {before} of {} blocks are done", units.len()));
        }
    }
    let rounds_of = |unit: &&Unit| {
        let first = u64::from(unit.block) * sweep.block;
        sweep.cells[unit.cell as usize].rounds * (sweep.block.min(sweep.trials - first))
    };
    let total = units.iter().filter(|unit| !done.contains(unit)).map(|unit| rounds_of(&unit)).fold(0, u64::saturating_add);
    let progress = Progress::new(total, args.quiet);
    let recorder =
        Recorder { out, manifest: &manifest, sweep, progress: &progress, met: Mutex::default(), written: Mutex::default() };
    let options = Options { batch: args.batch, shard: args.shard };
    let tally = pool.install(|| engine::run(sweep, &preparation, options, &done, &STOP, &recorder));
    progress.finish();
    if matches!(tally, Err(Error::Untrusted { .. })) {
        recorder.remove_written()?;
    }
    let tally = tally?;
    if 0 < tally.counters.violations {
        note(&format!(
            "warning: {} points left their error band; the results may differ from other backends' in ties. Please report this with the spec",
            tally.counters.violations
        ));
    }
    let met = recorder.met.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !args.quiet {
        met.iter().filter_map(|(&cell, met)| met.warning(&sweep.cells[cell as usize].label())).for_each(|line| note(&line));
    }
    if 0 < tally.finished {
        let mut counters = counters_json(&tally.counters);
        counters["private_sums"] =
            met.iter().map(|(cell, met)| (cell.to_string(), met.json())).collect::<serde_json::Map<_, _>>().into();
        manifest.counters = added(opened.counters.clone(), &counters);
        manifest.save(out)?;
    }
    if tally.stopped {
        return Err(Error::Incomplete {
            done: tally.finished + tally.skipped,
            total: units.len(),
            reason: "the run was stopped".to_owned(),
            hint: format!("the same command resumes; finished parts are in `{}`", out.display()),
        });
    }
    // The last of several shards run into one folder completes it.
    let is_whole = engine::units(sweep, None).iter().all(|unit| done.contains(unit) || units.contains(unit));
    if let Some(shard) = args.shard.filter(|_| !is_whole) {
        if !args.quiet {
            say(&format!("shard {}/{} is done: {}", shard.index + 1, shard.count, out.display()));
            note("when all shards are done: privateer merge DIR… --out DIR");
        }
        return Ok(());
    }
    if manifest.shard.take().is_some() {
        manifest.save(out)?;
    }
    // A refused audit keeps nobody from the results.
    let audit = sweep.audit.map_or(Ok(()), |samples| audited(sweep, samples, &data, backend.as_ref(), &pool, out));
    let outcome = report::write_report(out)?;
    if !args.quiet {
        say(&outcome.table);
        say(&format!("report: {}", outcome.report_path.display()));
    }
    audit
}

/// Attacks every policy of the sweep and keeps what was found beside the parts.
fn audited(
    sweep: &Sweep,
    samples: u64,
    data: &DataFolder,
    backend: &dyn Backend,
    pool: &rayon::ThreadPool,
    out: &Path,
) -> Result<(), Error> {
    let settings = Settings { samples, seed: sweep.seed, ..Settings::default() };
    let RunsAudit { findings, passed_over } = pool.install(|| audit::of_runs(sweep, data, backend, settings))?;
    let file = AuditFile { confidence: settings.confidence, seed: settings.seed, findings, passed_over };
    let text = serde_json::to_string_pretty(&file)
        .map_err(|error| Error::Failed { problem: format!("the audit: {error}"), hint: "please report this".to_owned() })?;
    record::rewrite_listed(out, AuditFile::NAME, text.as_bytes(), "write the audit")
}

fn manifest(sweep: &Sweep, cells: Vec<CellInfo>, backend: &dyn Backend, threads: usize, shard: Option<Shard>) -> Manifest {
    let environments: BTreeSet<&str> = cells.iter().map(|cell| cell.environment.as_str()).collect();
    Manifest {
        schema_version: record::FOLDER_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        spec_hash: sweep.hash.clone(),
        spec_name: sweep.name.clone(),
        seed: sweep.seed.to_string(),
        environment_summary: environments.into_iter().collect::<Vec<_>>().join(", "),
        trials: sweep.trials as u32,
        rounds: sweep.cells.iter().map(|cell| cell.rounds).max().unwrap_or(0) as u32,
        block: sweep.block as u32,
        n_blocks: sweep.trials.div_ceil(sweep.block) as u32,
        recorded: match sweep.recorded {
            Recorded::All => "every round".to_owned(),
            Recorded::Log { per_decade } => format!("about {per_decade} rounds for each factor of ten"),
        },
        backend: backend.name().to_owned(),
        adapter: backend.adapter(),
        cpu_features: cpu_features(),
        threads,
        shard: shard.map(|shard| format!("{}/{}", shard.index + 1, shard.count)),
        spec_text: sweep.resolved.clone(),
        cells,
        counters: serde_json::json!({}),
    }
}

fn counters_json(counters: &Counters) -> serde_json::Value {
    serde_json::json!({
        "rounds_screened": counters.rounds,
        "candidates": counters.candidates,
        "rounds_with_several_candidates": counters.ambiguous,
        "rounds_interpolated": counters.interpolated,
        "rounds_pruned": counters.pruned,
        "blocks_scored": counters.blocks,
        "screens_rebuilt": counters.rebuilds,
        "scans_in_f64": counters.scans,
        "screens_that_went_on_in_f64": counters.doubled,
        "bytes_sent_to_a_device": counters.sent,
        "screens_given_to_the_cpu": counters.fallbacks,
        "band_violations": counters.violations,
    })
}

/// Counters of earlier runs in the same folder with those of this one added.
fn added(mut earlier: serde_json::Value, now: &serde_json::Value) -> serde_json::Value {
    if !earlier.is_object() {
        earlier = serde_json::json!({});
    }
    for (name, count) in now.as_object().into_iter().flatten() {
        if count.is_object() {
            earlier[name.as_str()] = added(earlier[name.as_str()].take(), count);
            continue;
        }
        let before = earlier[name.as_str()].as_u64().unwrap_or(0);
        earlier[name.as_str()] = before.saturating_add(count.as_u64().unwrap_or(0)).into();
    }
    earlier
}

/// What privatizers of sums and their servers met in a cell, in this run.
#[derive(Default)]
struct Met {
    counts: ReleaseCounts,
    repaired: u64,
}

impl Met {
    fn json(&self) -> serde_json::Value {
        let ReleaseCounts { rewards, clipped, shortened, releases } = self.counts;
        serde_json::json!({
            "rewards": rewards,
            "rewards_clipped": clipped,
            "features_shortened": shortened,
            "releases": releases,
            "rounds_repaired": self.repaired,
        })
    }

    /// What a user should look at, if anything.
    fn warning(&self, label: &str) -> Option<String> {
        let share = |count: u64, of: u64| 100.0 * count as f64 / of.max(1) as f64;
        let (clipped, repaired) = (share(self.counts.clipped, self.counts.rewards), share(self.repaired, self.counts.releases));
        let mut said = Vec::new();
        if 0.0 < clipped {
            said.push(format!("{clipped:.2} % of the rewards were outside of the clip range (a bias, and no loss of privacy)"));
        }
        // A few rounds are what the default shift is chosen for.
        if 5.0 < repaired {
            said.push(format!(
                "{repaired:.1} % of the releases left an indefinite matrix that was repaired (raise `repair.multiple`)"
            ));
        }
        (!said.is_empty()).then(|| format!("{label}: {}", said.join("; ")))
    }
}

/// Stores what the engine finishes.
struct Recorder<'a> {
    out: &'a Path,
    manifest: &'a Manifest,
    sweep: &'a Sweep,
    progress: &'a Progress,
    met: Mutex<BTreeMap<u32, Met>>,
    /// Parts of this run.
    written: Mutex<Vec<PartId>>,
}

impl Recorder<'_> {
    /// Removes the parts of this run: a device that gave a wrong answer may have given others before.
    fn remove_written(&self) -> Result<(), Error> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for &id in written.iter() {
            record::remove_part(self.out, id)?;
            Parameters::remove(self.out, id)?;
        }
        note(&format!("removed the {} blocks that this run had finished on the device", written.len()));
        Ok(())
    }
}

impl Observer for Recorder<'_> {
    fn progressed(&self, trial_rounds: u64) {
        self.progress.add(trial_rounds);
    }

    fn ended(&self, unit: Unit, trials: &[TrialEnd]) -> Result<(), Error> {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        for trial in trials.iter().filter(|trial| 0 < trial.counts.rewards) {
            let met = met.entry(unit.cell).or_default();
            met.counts.add(&trial.counts);
            met.repaired += trial.repaired;
        }
        drop(met);
        let kept =
            trials.iter().filter_map(|trial| Some(TrialParameters { trial: trial.trial, parameters: trial.parameters.clone()? }));
        let kept: Vec<TrialParameters> = kept.collect();
        if kept.is_empty() {
            return Ok(());
        }
        let (text, label) = (self.sweep.resolved.clone(), self.sweep.cells[unit.cell as usize].label());
        Parameters::new(text, unit.cell, label, kept).save(self.out, PartId { cell: unit.cell, block: unit.block })
    }

    fn finished(&self, unit: Unit, rows: Rows, seconds: f64, _counters: &Counters) -> Result<(), Error> {
        let id = PartId { cell: unit.cell, block: unit.block };
        let cell = &self.manifest.cells[unit.cell as usize];
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        record::write_part(self.out, &self.sweep.hash, id, cell, &part_rows(rows))?;
        let first = u64::from(unit.block) * self.sweep.block;
        let trials = self.sweep.block.min(self.sweep.trials - first);
        record::append_timing(self.out, id, seconds, trials as u32, self.sweep.cells[unit.cell as usize].rounds as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_backend::Cpu;

    /// After a wrong answer of a device nothing of the run may stay.
    #[test]
    fn the_parts_of_a_run_can_be_removed() {
        let text = "rounds = 5\ntrials = 4\nblock = 2\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", points = 9 }\n\
            kernel = { kind = \"squared-exponential\", lengthscale = 0.2 }\nnoise = { kind = \"gaussian\", sd = 0.1 }\n[[policy]]\nkind = \"uniform\"\n";
        let sweep = Sweep::parse("small.toml", text, &[]).expect("a spec");
        let (data, backend, folder) = (DataFolder::default(), Cpu::default(), tempfile::tempdir().expect("a folder"));
        let preparation = Preparation::new(&sweep, &data, &backend);
        let cells = cell_infos(&sweep, &preparation).expect("cells");
        let manifest = manifest(&sweep, cells, &backend, 1, None);
        let out = folder.path().join("out");
        Folder::open(&out, &manifest).expect("a new folder");
        let progress = Progress::new(1, true);
        let recorder = Recorder {
            out: &out,
            manifest: &manifest,
            sweep: &sweep,
            progress: &progress,
            met: Mutex::default(),
            written: Mutex::default(),
        };
        engine::run(&sweep, &preparation, Options::default(), &BTreeSet::new(), &Stop::new(), &recorder).expect("a run");
        assert_eq!(Folder::open(&out, &manifest).expect("the folder").done.len(), 2);
        recorder.remove_written().expect("removed");
        assert_eq!(Folder::open(&out, &manifest).expect("the folder").done.len(), 0);
    }
}
