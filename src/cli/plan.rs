//! `privateer plan`: the units of a sweep, what they cost, and how to deal them to tasks.

use super::output::say;
use super::progress::metered;
use super::source::SpecArgs;
use crate::engine::Stop;
use crate::record::write_whole;
use crate::registry::Registry;
use crate::run::{Plan, PlannedTask, RunOptions};
use crate::spec::Sweep;
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Spec file (TOML)
    #[arg(value_name = "SPEC")]
    path: PathBuf,
    #[command(flatten)]
    spec: SpecArgs,
    /// Deal the units to this many tasks of about equal cost
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    tasks: Option<u32>,
    /// Write the units of each task to this file, a line each, for `privateer run SPEC --plan FILE --task I`
    #[arg(long, value_name = "FILE", requires = "tasks")]
    write: Option<PathBuf>,
    /// Every unit, and every task, as JSON
    #[arg(long)]
    json: bool,
}

/// Longest unit that a plan takes without advice, in seconds: what is under way when a node dies is lost.
const LONG: f64 = 300.0;

/// Least preparation that a plan mentions, in seconds.
const WORTH_SAYING: f64 = 1.0;

/// Reads a spec and tries its cells on the processor.
pub fn planned(registry: &Registry, spec: &SpecArgs, path: &std::path::Path) -> Result<(Sweep, Plan), Error> {
    let sweep = spec.read(registry, path)?;
    let options = RunOptions { data: spec.data(path), ..RunOptions::default() };
    let plan = metered("cells", |each| Plan::of(&sweep, &options, &Stop::new(), each))?;
    Ok((sweep, plan))
}

/// Most tasks that are printed.
const MOST_TASKS: usize = 25;

/// Longest list of units that is printed, in characters.
const LONGEST_LIST: usize = 60;

/// Returns the units of each task, a line each.
pub fn lists(tasks: &[PlannedTask]) -> String {
    tasks.iter().map(|task| format!("{}\n", task.units)).collect()
}

pub fn plan(registry: &Registry, args: &PlanArgs) -> Result<(), Error> {
    if let Some(file) = args.write.as_ref().filter(|file| file.symlink_metadata().is_ok()) {
        let problem = Diagnostic::new(format!("`{}` exists already", file.display()));
        return problem.expected("a new file").hint("name another one, or remove it").refuse();
    }
    let (sweep, plan) = planned(registry, &args.spec, &args.path)?;
    let tasks = args.tasks.map(|tasks| plan.deal(tasks as usize));
    if let (Some(file), Some(tasks)) = (&args.write, &tasks) {
        write_whole(file, lists(tasks).as_bytes(), "write the tasks")?;
    }
    if args.json {
        let units: Vec<_> = plan
            .units
            .iter()
            .enumerate()
            .map(|(number, planned)| {
                json!({
                    "unit": number, "cell": planned.unit.cell, "cells": sweep.cells_of_part(planned.unit.cell).len(),
                    "block": planned.unit.block, "trials": planned.trials,
                    "label": sweep.cells[planned.unit.cell as usize].label(), "cpu_seconds": planned.seconds,
                })
            })
            .collect();
        let tasks = tasks.map(|tasks| {
            let task = |task: &PlannedTask| json!({ "units": task.units.to_string(), "cpu_seconds": task.seconds });
            tasks.iter().map(task).collect::<Vec<_>>()
        });
        say(&json!({
            "spec_hash": sweep.hash, "units": units, "tasks": tasks, "cpu_seconds": plan.seconds(),
            "preparation_cpu_seconds": plan.preparation, "peak_bytes": plan.peak_bytes,
        })
        .to_string());
        return Ok(());
    }
    let longest = plan.units.iter().map(|unit| unit.seconds).fold(0.0, f64::max);
    say(&format!(
        "{} units ({} cells, blocks of {} trials): about {} on one thread of this machine, the longest {}",
        plan.units.len(),
        sweep.cells.len(),
        sweep.block,
        duration(plan.seconds()),
        duration(longest)
    ));
    if WORTH_SAYING < plan.preparation {
        say(&format!(
            "preparation: about {} before the first unit, in every task (`--rates DIR` takes learning rates that were chosen)",
            duration(plan.preparation)
        ));
    }
    if let Some(bytes) = plan.peak_bytes {
        say(&format!(
            "memory: about {:.0} MB with one thread, and the trials under way for each thread more",
            bytes as f64 / 1e6
        ));
    }
    // Cells of fewer trials than a block are not cut by a larger one.
    let trials = sweep.block.min(sweep.trials);
    if LONG < longest && 1 < trials {
        let block = ((trials as f64 * LONG / longest) as u64).max(1);
        say(&format!("advice: state `block = {block}` in the spec: what is under way when a machine dies is lost"));
    }
    let tasks = tasks.unwrap_or_default();
    let mut is_cut = false;
    for (number, task) in tasks.iter().enumerate().take(MOST_TASKS) {
        let list = task.units.to_string();
        let is_long = LONGEST_LIST < list.len();
        is_cut |= is_long;
        let units = if is_long { format!("{} units", task.units.len()) } else { format!("--units {list}") };
        say(&format!("task {number}: {}  {units}", duration(task.seconds)));
    }
    if MOST_TASKS < tasks.len() {
        say(&format!("and {} tasks more", tasks.len() - MOST_TASKS));
    }
    match &args.write {
        Some(file) => say(&format!("each task:  privateer run {} --plan {} --task I", args.path.display(), file.display())),
        None if is_cut || MOST_TASKS < tasks.len() => say("`--write FILE` writes every list of units, `--json` prints them"),
        None => {}
    }
    Ok(())
}

/// Writes seconds for people.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.095 => format!("{:.0} ms", 1e3 * s),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
