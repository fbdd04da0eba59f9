//! `privateer run`: reads specs, runs each into its folder and shows progress, notices and results.

use super::output::{note, say, say_report};
use super::progress::{Meter, Progress};
use super::share_arguments::{self, units_of_task};
use super::source::{SpecArgs, folder_name};
use super::stores;
use super::wait::WaitArgs;
use crate::deploy::say_removed;
use crate::engine::{Shard, Share, Stop, UnitList, units};
use crate::env::DataFolder;
use crate::registry::Registry;
use crate::run::{
    BACKEND_NAMES, Notice, ReleaseSummary, RunFolder, RunObserver, RunOptions, check_threads, dense_backend, open_backend,
    prefer_adapter,
};
use crate::spec::Sweep;
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Spec files (TOML)
    #[arg(required = true, value_name = "SPEC")]
    specs: Vec<PathBuf>,
    /// Results folder, or `s3://BUCKET/PREFIX`; one with parts of the same spec resumes. A shard writes into DIR/shard-I-of-N
    /// [default: out/SPEC-NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    spec: SpecArgs,
    /// Who scores: `auto` takes a GPU where `privateer devices --for SPEC --measure` found it to be faster
    #[arg(long, value_name = "BACKEND", default_value = "auto", value_parser = BACKEND_NAMES)]
    backend: String,
    /// Which adapter a GPU is, of those that `privateer devices` lists [default: the first that suits; shards take equal cards in turn]
    #[arg(long, value_name = "NAME|INDEX")]
    adapter: Option<String>,
    /// Worker threads, at most 16 for each core [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Trials in lockstep [default: the backend's choice]
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// Run the I-th of N shares of the work; join them with `merge`
    #[arg(long, value_name = "I/N", value_parser = share_arguments::share::<Shard>)]
    shard: Option<Shard>,
    /// Run these units alone, as in `0-9,12`; `privateer plan` lists them
    #[arg(long, value_name = "LIST", value_parser = share_arguments::share::<UnitList>, conflicts_with = "shard")]
    units: Option<UnitList>,
    /// Run the units of one line of this file, as `privateer plan --write` and `privateer slurm` make it
    #[arg(long, value_name = "FILE", requires = "task", conflicts_with_all = ["shard", "units"])]
    plan: Option<PathBuf>,
    /// Number of the line, from 0
    #[arg(long, value_name = "I", requires = "plan")]
    task: Option<u64>,
    /// Take the learning rates that another results folder of this spec has tuned, as that of another shard
    #[arg(long, value_name = "DIR")]
    rates: Option<PathBuf>,
    /// Score every point in every round on the CPU, without pruning or pivots: the same results, for comparison
    #[arg(long)]
    dense: bool,
    /// Compare every choice with the best of all points in f64: takes as long as a dense run, or longer
    #[arg(long)]
    verify: bool,
    /// Refuse specs with settings that mislead, such as a clip that cuts the function off
    #[arg(long)]
    strict: bool,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

/// Longest that a stopped run may take to end by itself.
const GRACE: Duration = Duration::from_millis(800);

static STOP: Stop = Stop::new();
static HANDLER: Once = Once::new();

/// Runs every spec, in order.
pub fn run(registry: &Registry, args: &RunArgs) -> Result<(), Error> {
    check_threads(args.threads)?;
    if args.batch == Some(0) {
        return Diagnostic::new("`--batch 0` runs nothing").expected("a whole number >= 1").refuse();
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
    prefer_adapter(args.adapter.as_deref(), args.shard)?;
    // All specs are read before any is run: a mistake in the last costs no time.
    let sweeps = args.specs.iter().map(|path| args.spec.read(registry, path)).collect::<Result<Vec<Sweep>, Error>>()?;
    let mut folders = BTreeSet::new();
    for path in &args.specs {
        let out = folder(args, path)?;
        stores::check(&out)?;
        if !folders.insert(out.clone()) {
            let diagnostic = Diagnostic::new(format!("two specs would write to `{}`", out.display()));
            return diagnostic.hint("run them one by one with `--out DIR`, or rename one").refuse();
        }
    }
    for (path, sweep) in args.specs.iter().zip(&sweeps) {
        one(args, &folder(args, path)?, sweep, args.spec.data(path))?;
    }
    Ok(())
}

/// Returns the results folder of a spec. Shards that are told the same place get a folder each in it.
fn folder(args: &RunArgs, path: &Path) -> Result<PathBuf, Error> {
    let out = match (&args.out, args.specs.len()) {
        (Some(out), 1) => out.clone(),
        (out, _) => out.as_deref().unwrap_or(Path::new("out")).join(folder_name(path)?),
    };
    args.shard.map_or_else(|| Ok(out.clone()), |shard| stores::place_of_shard(&out, shard))
}

/// Longest list of units that is printed, in characters.
const MOST_SHOWN: usize = 100;

/// Returns the part of the work that the arguments ask for.
fn share(args: &RunArgs) -> Result<Share, Error> {
    Ok(match (&args.shard, &args.units, &args.plan) {
        (Some(shard), ..) => Share::Shard(*shard),
        (None, Some(units), _) => Share::Units(units.clone()),
        (None, None, Some(file)) => Share::Units(units_of_task(file, args.task.unwrap_or(0))?),
        (None, None, None) => Share::All,
    })
}

fn one(args: &RunArgs, out: &Path, sweep: &Sweep, data: DataFolder) -> Result<(), Error> {
    let share = share(args)?;
    let opened = if args.dense {
        dense_backend(&args.backend)?
    } else {
        let all = units(sweep);
        let n_units = all.len().max(1) as f64;
        let part = share.of(all)?.len() as f64 / n_units;
        open_backend(&args.backend, sweep, &data, (part, args.threads), args.quiet, note)?
    };
    let options = RunOptions {
        data,
        backend: opened.backend,
        backend_reason: opened.reason,
        threads: args.threads,
        batch: args.batch,
        verify: args.verify,
        share: share.clone(),
        rates: args.rates.clone(),
        strict: args.strict,
        ..RunOptions::default()
    };
    let messages = RunMessages::new(args.quiet);
    let RunFolder { path, report, audit_error, .. } = stores::run_into(out, sweep, &options, &STOP, &messages)?;
    if !args.quiet {
        if let Some(report) = report {
            say_report(&report, false);
        } else if share == Share::All {
            say(&format!("report: {}", path.join("report.html").display()));
        } else {
            let what = match &args.shard {
                Some(shard) => format!("shard {}/{}", shard.index + 1, shard.count),
                None => match &share {
                    Share::Units(list) if MOST_SHOWN < list.to_string().len() => format!("a share of {} units", list.len()),
                    share => share.to_string(),
                },
            };
            say(&format!("{what} is done: {}", path.display()));
            note(&format!("when all shards are done: {}", stores::merge_command(&path, args.shard.is_some())));
        }
    }
    let wrong = messages.wrong.into_inner();
    if 0 < wrong {
        return Err(Error::CheckSaidNo(format!("{wrong} choices are not the best of all points in f64: please report this")));
    }
    audit_error.map_or(Ok(()), Err)
}

/// Shows what a run reports.
pub(super) struct RunMessages {
    quiet: bool,
    pilots: Meter,
    progress: OnceLock<Progress>,
    /// Choices that were not the best.
    wrong: AtomicU64,
}

impl RunMessages {
    pub(super) fn new(quiet: bool) -> Self {
        Self { quiet, pilots: Meter::new("factors in pilot trials", quiet), progress: OnceLock::new(), wrong: AtomicU64::new(0) }
    }
}

impl RunObserver for RunMessages {
    fn progressed(&self, trial_rounds: u64) {
        if let Some(progress) = self.progress.get() {
            progress.add(trial_rounds);
        }
    }

    fn tuned(&self, factors: u64) {
        self.pilots.each(factors);
    }

    fn notice(&self, notice: Notice<'_>) {
        match notice {
            Notice::Opened { folder, n_done, n_blocks, trial_rounds } => {
                self.pilots.clear();
                // Said also where only errors are asked for: somebody or something wrote into the folder.
                folder.altered.iter().for_each(|altered| note(&format!("warning: {altered}")));
                if !self.quiet {
                    say_removed(folder.removed, &note);
                    folder.warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
                    if 0 < n_done {
                        note(&format!("resuming: {n_done} of {n_blocks} blocks are done"));
                    }
                }
                self.progress.get_or_init(|| Progress::new(trial_rounds, "trial-rounds", self.quiet));
            }
            Notice::Whole { n_blocks } if !self.quiet => note(&format!(
                "nothing to do: all {n_blocks} blocks are done, and as they were written; `privateer report DIR` makes the report again"
            )),
            Notice::Misleading { lines } if !self.quiet => lines.iter().for_each(|line| note(&format!("warning: {line}"))),
            Notice::Simulated => {
                if let Some(progress) = self.progress.get() {
                    progress.finish();
                }
            }
            Notice::Withdrawn { n_blocks } => {
                note(&format!("removed the {n_blocks} blocks that this run had finished on the device"));
            }
            Notice::DeviceUnused if !self.quiet => {
                note(
                    "the graphics adapter screened no round of this run: small domains and policies that score no points need no screen",
                );
            }
            Notice::BandViolations { n_points } => note(&format!(
                "warning: {n_points} points left their error band; the results may differ from other backends' in ties. Please report \
                 this with the spec"
            )),
            Notice::Verified { choices, wrong, ties } => {
                self.wrong.fetch_add(wrong, Ordering::Relaxed);
                if !self.quiet {
                    let right = choices - wrong;
                    note(&format!(
                        "verified: {right} of {choices} screened choices are the best of all points in f64; {ties} had ties"
                    ));
                }
            }
            Notice::Released { cells } if !self.quiet => advice(cells).iter().for_each(|line| note(line)),
            _ => {}
        }
    }
}

/// A share of a cell's releases, the limit above which it is mentioned, its name and advice.
type Advice = (fn(&ReleaseSummary) -> f64, f64, &'static str, &'static str);

/// Returns what a user should look at in the releases of all cells, a line each.
fn advice(cells: &[(String, ReleaseSummary)]) -> Vec<String> {
    // A few repaired rounds are what the default shift is chosen for.
    let kinds: [Advice; 2] = [
        (ReleaseSummary::clipped_share, 0.0, "of the rewards were outside of the clip range", "a bias, and no loss of privacy"),
        (
            ReleaseSummary::repaired_share,
            0.05,
            "of the releases left an indefinite matrix that was repaired",
            "raise `repair.multiple`",
        ),
    ];
    let line = |(share, limit, what, hint): Advice| {
        let mut found: Vec<(f64, &str)> = cells.iter().map(|(label, summary)| (share(summary), label.as_str())).collect();
        found.retain(|(share, _)| limit < *share);
        found.sort_by(|left, right| left.0.total_cmp(&right.0));
        let (least, (most, label)) = (100.0 * found.first()?.0, *found.last()?);
        let most = 100.0 * most;
        Some(match found.len() {
            1 => format!("{label}: {most:.2} % {what} ({hint})"),
            n => format!("{n} cells: {least:.2} to {most:.2} % {what}, most in {label} ({hint})"),
        })
    };
    kinds.into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_privacy::ReleaseCounts;

    #[test]
    fn cells_are_advised_together() {
        let cell = |(name, clipped, repaired): (&str, u64, u64)| {
            let counts = ReleaseCounts { rewards: 1000, clipped, releases: 100, ..ReleaseCounts::default() };
            (name.to_owned(), ReleaseSummary { counts, repaired })
        };
        let advised = |cells: &[(&str, u64, u64)]| advice(&cells.iter().copied().map(cell).collect::<Vec<_>>());
        assert_eq!(advised(&[("a", 0, 5), ("b", 0, 0)]), [""; 0]);
        assert_eq!(
            advised(&[("a", 25, 6), ("b", 0, 0)]),
            [
                "a: 2.50 % of the rewards were outside of the clip range (a bias, and no loss of privacy)",
                "a: 6.00 % of the releases left an indefinite matrix that was repaired (raise `repair.multiple`)",
            ]
        );
        let said =
            "3 cells: 0.10 to 4.00 % of the rewards were outside of the clip range, most in b (a bias, and no loss of privacy)";
        assert_eq!(advised(&[("a", 1, 0), ("b", 40, 0), ("c", 2, 5)]), [said]);
    }
}
