//! `privateer status`: what of a run is done, from its folder alone.

use super::output::{note, say};
use super::plan::duration;
use super::stores;
use crate::engine::{Shard, Share, Unit, UnitList};
use crate::record::{DigestList, Folder, Manifest, PartId, RunRecord, SPEC_NAME};
use clap::Args;
use privateer_config::error::Error;
use privateer_config::input::Input;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// A results folder, the folder that shards ran into, the folder of an array job that `privateer slurm` wrote, or
    /// `s3://BUCKET/PREFIX`
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// What one folder of results holds.
struct TaskStatus {
    name: String,
    done: u64,
    total: u64,
    /// Exit code of the task, where its script wrote one.
    exit: Option<i64>,
    /// Seconds between its first and its newest part, by the file system's clock.
    span: f64,
    /// Seconds since the newest part.
    quiet: Option<f64>,
}

impl TaskStatus {
    fn state(&self) -> &'static str {
        match (self.done, self.exit) {
            (done, _) if self.total <= done => "done",
            (_, Some(code)) if code != 0 => "failed",
            (0, _) => "waiting",
            _ => "under way",
        }
    }

    /// Counts the listed parts of a folder.
    fn of(name: String, out: &Path, total: u64, exit: Option<i64>, counts: impl Fn(&str) -> bool) -> Result<Self, Error> {
        let digests = DigestList::load(out)?;
        let done = digests.names().filter(|name| counts(name)).count() as u64;
        let time = |path: PathBuf| path.metadata().and_then(|found| found.modified()).ok();
        let (first, last) = (time(out.join(SPEC_NAME)), time(DigestList::path(out)));
        let span = match (first, last) {
            (Some(first), Some(last)) => last.duration_since(first).map_or(0.0, |span| span.as_secs_f64()),
            _ => 0.0,
        };
        // Clocks of nodes and of the file system may differ: a part from the future is a new one.
        let quiet = last.map(|last| SystemTime::now().duration_since(last).map_or(0.0, |span| span.as_secs_f64()));
        Ok(Self { name, done, total, exit, span, quiet })
    }
}

pub fn status(args: &StatusArgs) -> Result<(), Error> {
    let out = &args.folder;
    let list = out.join("tasks.txt");
    let tasks = if let Some((done, total)) = stores::progress(out)? {
        vec![TaskStatus { name: out.display().to_string(), done, total, exit: None, span: 0.0, quiet: None }]
    } else if list.is_file() {
        array(out, &list)?
    } else {
        shares(out)?
    };
    let all = out.join("all");
    let joined = if list.is_file() && all.is_dir() { Some(single(&all, &Folder::manifest(&all)?)?) } else { None };
    if args.json {
        let task = |task: &TaskStatus| {
            json!({
                "task": task.name, "state": task.state(), "done": task.done, "units": task.total, "exit": task.exit,
                "seconds_since_last_part": task.quiet,
            })
        };
        let joined = joined.as_ref().is_some_and(|all| all.total <= all.done);
        say(&json!({ "tasks": tasks.iter().map(task).collect::<Vec<_>>(), "merged": joined }).to_string());
        return Ok(());
    }
    let (done, total) = tasks.iter().fold((0, 0), |sum, task| (sum.0 + task.done, sum.1 + task.total));
    let of = |state: &str| tasks.iter().filter(|task| task.state() == state).count();
    say(&format!("{done} of {total} units are done"));
    if 1 < tasks.len() {
        let states = ["done", "under way", "waiting", "failed"].map(|state| format!("{} {state}", of(state)));
        say(&format!("tasks: {}", states.join(", ")));
    }
    for task in tasks.iter().filter(|task| task.state() == "failed") {
        say(&format!(
            "{} failed with exit code {}: see its log; submit the array again to resume",
            task.name,
            task.exit.unwrap_or(-1)
        ));
    }
    for task in tasks.iter().filter(|task| task.state() == "under way") {
        let quiet = task.quiet.map_or_else(String::new, |quiet| format!(", the newest {} ago", duration(quiet)));
        say(&format!("{}: {} of {} units{quiet}", task.name, task.done, task.total));
    }
    // The pace of what is done, by the slowest task under way.
    let left = tasks.iter().filter(|task| task.state() == "under way" && 0.0 < task.span);
    let left = left.map(|task| task.span / task.done as f64 * (task.total - task.done) as f64).fold(0.0, f64::max);
    if 0.0 < left {
        say(&format!("about {} left for the tasks under way, at their pace so far", duration(left)));
    }
    if let Some(all) = joined.filter(|all| all.total <= all.done) {
        say(&format!("merged: {}", out.join(all.name).join("report.html").display()));
    }
    Ok(())
}

/// Reads a results folder, or the folder that shards ran into; shards that have not begun are waiting.
fn shares(out: &Path) -> Result<Vec<TaskStatus>, Error> {
    let folders = stores::results_in(out);
    if folders[0] == out {
        return Ok(vec![single(out, &Folder::manifest(out)?)?]);
    }
    let first = Folder::manifest(&folders[0])?;
    let count = shard_of(&folders[0]).map(|shard| shard.count);
    let mut found = Vec::new();
    for folder in &folders {
        let manifest = Folder::manifest(folder)?;
        if manifest.spec_hash == first.spec_hash && shard_of(folder).map(|shard| shard.count) == count {
            found.push(single(folder, &manifest)?);
        } else {
            note(&format!(
                "warning: `{}` is not counted: it is of another spec, or of another number of shards, than `{}`",
                folder.display(),
                folders[0].display()
            ));
        }
    }
    let n_units = first.parts().len() as u64;
    for index in 0..count.unwrap_or(0).min(n_units) {
        let shard = Shard { index, count: count.unwrap_or(1) };
        let name = format!("shard-{}-of-{}", index + 1, shard.count);
        if found.iter().all(|task| task.name != name) {
            found.push(TaskStatus { name, done: 0, total: shard.size(n_units), exit: None, span: 0.0, quiet: None });
        }
    }
    Ok(found)
}

/// Returns which shard a folder is of; `None` for other shares and whole runs.
fn shard_of(out: &Path) -> Option<Shard> {
    RunRecord::of(out)?.shard?.parse().ok()
}

/// Reads one results folder. Of the folder of a share, parts and total are those of the share that was run last.
fn single(out: &Path, manifest: &Manifest) -> Result<TaskStatus, Error> {
    let named = RunRecord::of(out).and_then(|record| record.shard);
    let share: Share = match (shard_of(out), named.as_deref()) {
        (Some(shard), _) => Share::Shard(shard),
        (None, Some(text)) => text.trim_start_matches("units ").parse().map_or(Share::All, Share::Units),
        (None, None) => Share::All,
    };
    let all = manifest.parts().map(|PartId { cell, block }| Unit { cell, block }).collect();
    let share: BTreeSet<String> =
        share.of(all)?.into_iter().map(|Unit { cell, block }| PartId { cell, block }.listed_name()).collect();
    let name = out.file_name().map_or_else(|| ".".to_owned(), |name| name.to_string_lossy().into_owned());
    TaskStatus::of(name, out, share.len() as u64, None, |part| share.contains(part))
}

/// Reads the folder of an array job.
fn array(out: &Path, list: &Path) -> Result<Vec<TaskStatus>, Error> {
    let text = Input { most_bytes: 1 << 28, ..Input::small("list of tasks", "the file that `privateer slurm` wrote") }
        .read_text(list)?;
    let hint = "it is the file that `privateer slurm` wrote, a list of units in each line";
    let corrupt = |line: &str| Error::corrupt(list, format!("holds `{line}`, which is no list of units"), hint);
    text.lines()
        .enumerate()
        .map(|(number, line)| {
            let units: UnitList = line.parse().map_err(|_| corrupt(line))?;
            let exit = Input::small("exit code", "a number").read_text(&out.join(format!("exit-{number}"))).ok();
            let exit = exit.and_then(|text| text.trim().parse().ok());
            TaskStatus::of(format!("task-{number}"), &out.join(format!("task-{number}")), units.len(), exit, |part| {
                part.starts_with("cells/")
            })
        })
        .collect()
}
