//! `privateer plan`, `run --units`, `slurm` and `status` from outside; the scripts run in a shell that stands for Slurm's.

use crate::program::{code, ends, run, stderr, stdout};
use privateer::record::{Folder, PartId};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const SPEC: &str = "seed = 3\nreferences = false\nrounds = 40\ntrials = 4\nblock = 2\n[environment]\nkind = \"rkhs\"\n\
    domain = { kind = \"grid\", points = 20 }\nkernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\n\
    noise = { kind = \"uniform\", bound = 1.0 }\n[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\n\
    [[policy]]\nkind = \"igp-ucb\"\n[[policy]]\nkind = \"uniform\"\n[sweep.product]\n\"privacy.epsilon\" = [0.5, 1.0, 2.0]\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("spec.toml"), SPEC).expect("a spec");
    folder
}

fn said(folder: &Path, words: &[&str]) -> String {
    let output = run(folder, words);
    assert_eq!(code(&output), Some(0), "{words:?}: {}", stderr(&output));
    stdout(&output)
}

/// Returns the bytes of every part.
fn parts(out: &Path) -> Vec<(PartId, Vec<u8>)> {
    let (manifest, done) = Folder::existing(out).expect("a results folder");
    assert_eq!(done.len(), manifest.cells.len() * manifest.n_blocks as usize);
    done.into_iter().map(|id| (id, fs::read(id.path(out)).expect("a part"))).collect()
}

/// Tasks of a plan hold every unit once; run one by one and merged they are the run.
#[test]
fn tasks_of_a_plan_merge_to_the_run() {
    let folder = folder();
    let folder = folder.path();
    let plan: Value = serde_json::from_str(&said(folder, &["plan", "spec.toml", "--tasks", "3", "--json"])).expect("JSON");
    let units = plan["units"].as_array().expect("units");
    assert_eq!(units.len(), 12);
    assert!(units.iter().all(|unit| unit["cpu_seconds"].as_f64().is_some_and(|seconds| 0.0 < seconds)));
    let tasks: Vec<String> = (0..3).map(|task| plan["tasks"][task]["units"].as_str().expect("a list").to_owned()).collect();
    let mut words = vec!["merge".to_owned()];
    for (task, units) in tasks.iter().enumerate() {
        let out = format!("task-{task}");
        let line = said(folder, &["run", "spec.toml", "--units", units, "--out", &out]);
        assert!(line.contains(&format!("units {units} is done")) || line.contains("done"), "{line}");
        words.push(out);
    }
    words.extend(["--out".to_owned(), "all".to_owned()]);
    said(folder, &words.iter().map(String::as_str).collect::<Vec<_>>());
    said(folder, &["run", "spec.toml", "--out", "whole", "--quiet"]);
    assert_eq!(parts(&folder.join("all")), parts(&folder.join("whole")));
    // The same from a file, which no system's limit on arguments cuts.
    let text = said(folder, &["plan", "spec.toml", "--tasks", "3", "--write", "tasks.txt"]);
    assert!(text.contains("privateer run spec.toml --plan tasks.txt --task I"), "{text}");
    let lists = fs::read_to_string(folder.join("tasks.txt")).expect("the lists");
    let named: Vec<u64> = lists.split([',', '\n']).filter(|part| !part.is_empty()).flat_map(numbers).collect();
    assert_eq!((lists.lines().count(), named.len(), named.iter().collect::<BTreeSet<_>>().len()), (3, 12, 12), "{lists}");
    for task in ["0", "1", "2"] {
        said(folder, &["run", "spec.toml", "--plan", "tasks.txt", "--task", task, "--out", "by-file", "--quiet"]);
    }
    assert_eq!(parts(&folder.join("by-file")), parts(&folder.join("whole")));
    let text = said(folder, &["plan", "spec.toml"]);
    assert!(text.starts_with("12 units (6 cells, blocks of 2 trials): about "), "{text}");
}

/// Returns the numbers of `a` or `a-b`.
fn numbers(part: &str) -> std::ops::RangeInclusive<u64> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    first.parse().expect("a number")..=last.parse().expect("a number")
}

#[test]
fn units_that_are_not_there_are_refused() {
    let folder = folder();
    for (units, part) in [("12", "names unit 12"), ("3-1", "is no list of units"), ("a", "as in `0-9,12`")] {
        let output = run(folder.path(), &["run", "spec.toml", "--units", units, "--out", "out"]);
        assert_eq!(code(&output), Some(2), "{units}");
        assert!(stderr(&output).contains(part), "{units}: {}", stderr(&output));
        assert!(!folder.path().join("out").exists(), "a refused list leaves no folder");
    }
    let output = run(folder.path(), &["run", "spec.toml", "--units", "1", "--shard", "1/2"]);
    assert_eq!(code(&output), Some(2));
    fs::write(folder.path().join("tasks.txt"), "0-5\n6-x\n").expect("written");
    let cases: [(&[&str], &str); 5] = [
        (&["--plan", "tasks.txt", "--task", "2"], "has no task 2"),
        (&["--plan", "tasks.txt", "--task", "1"], "line 2 of `tasks.txt` is no list of units"),
        (&["--plan", "none.txt", "--task", "0"], "none.txt"),
        (&["--plan", "tasks.txt"], "--task"),
        (&["--plan", "tasks.txt", "--task", "0", "--units", "1"], "cannot be used with"),
    ];
    for (words, part) in cases {
        let output = run(folder.path(), &[&["run", "spec.toml", "--out", "out"], words].concat());
        assert_eq!(code(&output), Some(2), "{words:?}");
        assert!(stderr(&output).contains(part), "{words:?}: {}", stderr(&output));
    }
    ends(&run(folder.path(), &["plan", "spec.toml", "--tasks", "2", "--write", "spec.toml"]), 2, &["exists already"]);
    assert_eq!(fs::read_to_string(folder.path().join("spec.toml")).expect("the spec"), SPEC);
}

/// Runs a task's script as Slurm would, with `scontrol` replaced by a program that writes its words down.
/// Data that lies beside the spec is found by the tasks too, which run a copy of the spec from another folder.
#[test]
fn tasks_read_data_beside_the_spec() {
    let folder = tempfile::tempdir().expect("a folder");
    let (specs, work) = (folder.path().join("specs"), folder.path().join("work"));
    fs::create_dir_all(&specs).expect("a folder");
    fs::create_dir_all(&work).expect("a folder");
    fs::write(specs.join("points.csv"), "x,y\n0,0.1\n0.5,0.9\n1,0.4\n0.2,0.3\n").expect("data");
    let file = specs.join("points.csv");
    let spec = SPEC.replace(
        "kind = \"rkhs\"\ndomain = { kind = \"grid\", points = 20 }\n",
        &format!(
            "kind = \"points-table\"\nfile = {:?}\ninputs = [\"x\"]\nvalue = \"y\"\nstandardise = false\n",
            file.display().to_string()
        ),
    );
    fs::write(specs.join("spec.toml"), spec).expect("a spec");
    said(&work, &["slurm", "../specs/spec.toml", "--tasks", "1", "--out", "job"]);
    let output = script(&work.join("job"), 0).output().expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn script(out: &Path, task: u32) -> Command {
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
    let folder = folder();
    let folder = folder.path();
    let text = said(folder, &["slurm", "spec.toml", "--tasks", "2", "--out", "array", "--partition", "short"]);
    assert!(text.contains("sbatch --dependency=afterok:$job"), "{text}");
    let out = folder.join("array").canonicalize().expect("the folder");
    let array = fs::read_to_string(out.join("array.sh")).expect("the job");
    assert!(array.contains("--plan tasks.txt --task \"$task\"") && !array.contains("--units"), "{array}");
    for line in ["#SBATCH --array=0-1", "#SBATCH --requeue", "#SBATCH --signal=B:TERM@60", "#SBATCH --partition=short"] {
        assert!(array.contains(line), "{line}: {array}");
    }
    assert!(said(folder, &["status", "array"]).contains("0 of 12 units are done"));
    assert!(script(&out, 0).status().expect("a shell").success());
    let state: Value = serde_json::from_str(&said(folder, &["status", "array", "--json"])).expect("JSON");
    let states: Vec<&str> = (0..2).map(|task| state["tasks"][task]["state"].as_str().expect("a state")).collect();
    assert_eq!((states, &state["merged"]), (vec!["done", "waiting"], &false.into()));
    assert!(script(&out, 1).status().expect("a shell").success());
    assert!(Command::new("sh").arg(out.join("merge.sh")).output().expect("a shell").status.success());
    assert!(said(folder, &["status", "array"]).contains("report.html"));
    said(folder, &["run", "spec.toml", "--out", "whole", "--quiet"]);
    assert_eq!(parts(&out.join("all")), parts(&folder.join("whole")));
    // Data files are found from there as from here.
    fs::create_dir(folder.join("data")).expect("a folder");
    said(folder, &["slurm", "spec.toml", "--tasks", "1", "--data", "data", "--out", "c"]);
    let data = folder.join("data").canonicalize().expect("the folder").display().to_string();
    assert!(fs::read_to_string(folder.join("c/array.sh")).expect("the job").contains(&format!("'--data' '{data}'")));
    // A name that a shell would read is refused before anything is written.
    let output = run(folder, &["slurm", "spec.toml", "--tasks", "1", "--out", "a b"]);
    assert!(code(&output) == Some(2) && !folder.join("a b").exists());
    // A folder that exists is not written to.
    let output = run(folder, &["slurm", "spec.toml", "--tasks", "2", "--out", "array"]);
    assert_eq!(code(&output), Some(2));
    let output = run(folder, &["slurm", "spec.toml", "--tasks", "2", "--out", "b", "--partition", "a b; rm"]);
    assert!(code(&output) == Some(2) && !folder.join("b").exists());
    // A task that fails is named with its exit code.
    fs::write(out.join("spec.toml"), "nonsense = 1\n").expect("a spec");
    assert!(!script(&out, 1).output().expect("a shell").status.success());
    fs::remove_dir_all(out.join("task-1")).expect("removed");
    assert!(said(folder, &["status", "array"]).contains("task-1 failed with exit code 2"));
}

/// The signal before a time limit ends a task between two rounds; it queues itself again, and resumes.
#[cfg(unix)]
#[test]
fn a_warned_task_queues_itself_again() {
    let folder = folder();
    let folder = folder.path();
    said(folder, &["slurm", "spec.toml", "--rounds", "400000", "--tasks", "1", "--out", "array"]);
    let out = folder.join("array").canonicalize().expect("the folder");
    let mut task = script(&out, 0).spawn().expect("a shell");
    let begun = std::time::Instant::now();
    while !out.join("task-0/manifest.json").exists() && begun.elapsed().as_secs() < 30 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(Command::new("kill").args(["-TERM", &task.id().to_string()]).status().expect("kill").success());
    assert!(task.wait().expect("the script ends").success());
    assert_eq!(fs::read_to_string(out.join("requeued")).expect("requeued"), "requeue 7_0\n");
    assert!(!out.join("exit-0").exists());
    let names: BTreeSet<String> = fs::read_dir(out.join("task-0"))
        .expect("a folder")
        .map(|e| e.expect("an entry").file_name().to_string_lossy().into())
        .collect();
    assert!(names.contains("manifest.json"), "{names:?}");
}
