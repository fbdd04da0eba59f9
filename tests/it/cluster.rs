//! `privateer plan`, `run --units`, `slurm` and `status` from outside; the scripts run in a shell that stands for Slurm's.

use crate::program::*;
use privateer::record::{self, PartId};

const SPEC: &str = "seed = 3\nreferences = false\nrounds = 40\ntrials = 4\nblock = 2\n[environment]\nkind = \"rkhs\"\n\
    domain = { kind = \"grid\", points = 20 }\nkernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\n\
    noise = { kind = \"uniform\", bound = 1.0 }\n[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\n\
    [[policy]]\nkind = \"igp-ucb\"\n[[policy]]\nkind = \"uniform\"\n[sweep.product]\n\"privacy.epsilon\" = [0.5, 1.0, 2.0]\n";

fn parts(out: &Path) -> Vec<(PartId, Vec<u8>)> {
    let (manifest, done) = record::Folder::existing(out).expect("a results folder");
    assert_eq!(done.len(), manifest.cells.len() * manifest.n_blocks as usize);
    done.into_iter().map(|id| (id, fs::read(id.path(out)).expect("a part"))).collect()
}

/// Tasks of a plan hold every unit once; run one by one and merged they are the run.
#[test]
fn tasks_of_a_plan_merge_to_the_run() {
    let here = &folder_with(SPEC);
    let plan = here.fine_json(&["plan", "spec.toml", "--tasks", "3", "--json"]);
    let units = plan["units"].as_array().expect("units");
    assert_eq!(units.len(), 12);
    assert!(units.iter().all(|unit| unit["cpu_seconds"].as_f64().is_some_and(|seconds| 0.0 < seconds)));
    for (task, out) in ["task-0", "task-1", "task-2"].into_iter().enumerate() {
        let units = plan["tasks"][task]["units"].as_str().expect("a list");
        let line = here.fine(&["run", "spec.toml", "--units", units, "--out", out]);
        assert!(line.contains("done"), "{line}");
    }
    here.fine(&["merge", "task-0", "task-1", "task-2", "--out", "all"]);
    here.fine(&["run", "spec.toml", "--out", "whole", "--quiet"]);
    assert_eq!(parts(&here.join("all")), parts(&here.join("whole")));
    // The same from a file, which no system's limit on arguments cuts.
    let text = here.fine(&["plan", "spec.toml", "--tasks", "3", "--write", "tasks.txt"]);
    assert!(text.contains("privateer run spec.toml --plan tasks.txt --task I"), "{text}");
    let lists = here.text("tasks.txt");
    let named: Vec<u64> = lists.split([',', '\n']).filter(|part| !part.is_empty()).flat_map(numbers).collect();
    assert_eq!((lists.lines().count(), named.len(), named.iter().collect::<BTreeSet<_>>().len()), (3, 12, 12), "{lists}");
    for task in ["0", "1", "2"] {
        here.fine(&["run", "spec.toml", "--plan", "tasks.txt", "--task", task, "--out", "by-file", "--quiet"]);
    }
    assert_eq!(parts(&here.join("by-file")), parts(&here.join("whole")));
    let text = here.fine(&["plan", "spec.toml"]);
    assert!(text.starts_with("12 units (6 cells, blocks of 2 trials): about "), "{text}");
}

fn numbers(part: &str) -> std::ops::RangeInclusive<u64> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    first.parse().expect("a number")..=last.parse().expect("a number")
}

#[test]
fn units_that_are_not_there_are_refused() {
    let here = &folder_with(SPEC);
    here.write("tasks.txt", "0-5\n6-x\n");
    for (options, part) in [
        ("--units 12", "names unit 12"),
        ("--units 3-1", "is no list of units"),
        ("--units a", "as in `0-9,12`"),
        ("--units 1,,2", "is no list of units"),
        ("--units=-1", "is no list of units"),
        ("--units=", "is no list of units"),
        ("--units 1 --shard 1/2", ""),
        ("--plan tasks.txt --task 2", "has no task 2"),
        ("--plan tasks.txt --task 1", "line 2 of `tasks.txt` is no list of units"),
        ("--plan none.txt --task 0", "none.txt"),
        ("--plan tasks.txt", "--task"),
        ("--plan tasks.txt --task 0 --units 1", "cannot be used with"),
    ] {
        here.ends(&words(&format!("run spec.toml --out out {options}")), 2, &[part]);
        assert!(!here.holds("out"), "a refused list leaves no folder");
    }
    here.ends(&["plan", "spec.toml", "--tasks", "2", "--write", "spec.toml"], 2, &["exists already"]);
    assert_eq!(here.text("spec.toml"), SPEC);
}

/// Data that lies beside the spec is found by the tasks too, which run a copy of the spec from another folder.
#[test]
fn tasks_read_data_beside_the_spec() {
    let here = &folder();
    let work = here.join("work");
    fs::create_dir(&work).expect("a folder");
    here.write("specs/points.csv", "x,y\n0,0.1\n0.5,0.9\n1,0.4\n0.2,0.3\n");
    let file = here.join("specs/points.csv").display().to_string();
    let points = format!("kind = \"points-table\"\nfile = {file:?}\ninputs = [\"x\"]\nvalue = \"y\"\nstandardise = false\n");
    let spec = SPEC.replace("kind = \"rkhs\"\ndomain = { kind = \"grid\", points = 20 }\n", &points);
    here.write("specs/spec.toml", spec);
    ends(&run(&work, &["slurm", "../specs/spec.toml", "--tasks", "1", "--out", "job"]), 0, &[]);
    ends(&script(&work.join("job"), 0).output().expect("a shell"), 0, &[]);
}

/// Runs a task's script as Slurm would, with `scontrol` replaced by a program that writes its words down.
pub(crate) fn script(out: &Path, task: u32) -> Command {
    let tools = out.join("tools");
    fs::create_dir_all(&tools).expect("a folder");
    let scontrol = tools.join("scontrol");
    fs::write(&scontrol, format!("#!/bin/sh\necho \"$@\" >> {}/requeued\n", out.display())).expect("a program");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&scontrol, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.arg(out.join("array.sh")).env("PATH", path).env("SLURM_ARRAY_JOB_ID", "7");
    command.env("SLURM_ARRAY_TASK_ID", task.to_string());
    command
}

#[test]
fn an_array_runs_resumes_and_says_where_it_is() {
    let here = &folder_with(SPEC);
    let text = here.fine(&["slurm", "spec.toml", "--tasks", "2", "--out", "array", "--partition", "short"]);
    assert!(text.contains("sbatch --dependency=afterok:$job"), "{text}");
    let out = here.join("array").canonicalize().expect("the folder");
    let array = fs::read_to_string(out.join("array.sh")).expect("the job");
    assert!(array.contains("--plan tasks.txt --task \"$task\"") && !array.contains("--units"), "{array}");
    for line in ["#SBATCH --array=0-1", "#SBATCH --requeue", "#SBATCH --signal=B:USR1@60", "#SBATCH --partition=short"] {
        assert!(array.contains(line), "{line}: {array}");
    }
    assert!(here.fine(&["status", "array"]).contains("0 of 12 units are done"));
    assert!(script(&out, 0).status().expect("a shell").success());
    let state = here.fine_json(&["status", "array", "--json"]);
    let states: Vec<&str> = (0..2).map(|task| state["tasks"][task]["state"].as_str().expect("a state")).collect();
    assert_eq!((states, &state["merged"]), (vec!["done", "waiting"], &false.into()));
    assert!(script(&out, 1).status().expect("a shell").success());
    assert!(Command::new("sh").arg(out.join("merge.sh")).output().expect("a shell").status.success());
    assert!(here.fine(&["status", "array"]).contains("report.html"));
    here.fine(&["run", "spec.toml", "--out", "whole", "--quiet"]);
    assert_eq!(parts(&out.join("all")), parts(&here.join("whole")));
    // Data files are found from there as from here.
    fs::create_dir(here.join("data")).expect("a folder");
    here.fine(&["slurm", "spec.toml", "--tasks", "1", "--data", "data", "--out", "c"]);
    let data = here.join("data").canonicalize().expect("the folder").display().to_string();
    assert!(here.text("c/array.sh").contains(&format!("'--data' '{data}'")));
    // A name that a shell would read is refused before anything is written; a folder that exists is not written to.
    for more in [&["a b"][..], &["array"], &["b", "--partition", "a b; rm"]] {
        here.ends(&[&["slurm", "spec.toml", "--tasks", "2", "--out"], more].concat(), 2, &[]);
    }
    assert!(!here.holds("a b") && !here.holds("b"));
    // A task that fails is named with its exit code.
    fs::write(out.join("spec.toml"), "nonsense = 1\n").expect("a spec");
    assert!(!script(&out, 1).output().expect("a shell").status.success());
    fs::remove_dir_all(out.join("task-1")).expect("removed");
    assert!(here.fine(&["status", "array"]).contains("task-1 failed with exit code 2"));
}

/// The signal before a time limit ends a task between two rounds; it queues itself again, and resumes, also where the limit's own
/// signal comes before it has ended. That of `scancel` alone ends it for good.
#[cfg(unix)]
#[test]
fn a_warned_task_queues_itself_again_and_a_cancelled_one_ends() {
    for (names, is_queued) in [(&["USR1"][..], true), (&["TERM"], false), (&["USR1", "TERM"], true)] {
        let here = &folder_with(SPEC);
        here.fine(&["slurm", "spec.toml", "--rounds", "400000", "--tasks", "1", "--out", "array"]);
        let out = here.join("array").canonicalize().expect("the folder");
        let mut task = script(&out, 0).spawn().expect("a shell");
        let begun = std::time::Instant::now();
        while !out.join("task-0/manifest.json").exists() && begun.elapsed().as_secs() < 30 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        names.iter().for_each(|name| signal(&task, name));
        assert_eq!(task.wait().expect("the script ends").code(), Some(if is_queued { 0 } else { 4 }), "{names:?}");
        let queued = fs::read_to_string(out.join("requeued")).ok();
        assert_eq!(queued.as_deref(), is_queued.then_some("requeue 7_0\n"), "{names:?}");
        assert_eq!(out.join("exit-0").exists(), !is_queued, "{names:?}");
        assert!(out.join("task-0/manifest.json").exists(), "{names:?}");
    }
}
