//! Runs that are stopped, killed, sharded, squeezed or started twice end with the bytes of one that was left alone.
#![cfg(unix)]

use crate::program::*;
use privateer::record::read_part;
use std::os::unix::process::ExitStatusExt;
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Two policies, two mechanisms, blocks of three trials, the last block short: 24 parts.
const SPEC: &str = r#"
name = "long runs"
seed = 11
references = false
rounds = 150
trials = 16
block = 3
record = { rounds = "all" }
[environment]
kind = "rkhs"
domain = { kind = "grid", dimension = 1, points = 60 }
kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }
noise = { kind = "uniform", bound = 1.0 }
[privacy]
epsilon = 1.0
[[policy]]
kind = "tgp-ucb"
[[policy]]
kind = "igp-ucb"
[sweep.product]
"privacy.mechanism" = ["laplace", "hybrid"]
"#;
const PARTS: usize = 24;

/// The same with more and longer trials, for runs that something must happen to before they end.
static SLOW_SPEC: LazyLock<String> = LazyLock::new(|| {
    SPEC.replace("rounds = 150", "rounds = 4000").replace("trials = 16", "trials = 23").replace("block = 3", "block = 4")
});

const LOUD: [&str; 4] = ["run", "spec.toml", "--out", "out"];

/// Longest that anything here may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Parts and summary: what must never differ.
fn bytes(out: &Path) -> Files {
    let mut all = files(out);
    all.retain(|name, _| name.starts_with("cells/") || name == "summary.csv");
    all
}

fn parts(out: &Path) -> Vec<PathBuf> {
    let all = if out.join("cells").exists() { listed(&out.join("cells")) } else { Vec::new() };
    all.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "parquet")).collect()
}

/// What an undisturbed run leaves.
fn undisturbed(spec: &str) -> Files {
    let folder = folder_with(spec);
    folder.fine(&LOUD);
    let reference = bytes(&folder.join("out"));
    assert_eq!(reference.len(), PARTS + 1);
    reference
}

static REFERENCE: LazyLock<Files> = LazyLock::new(|| undisturbed(SPEC));
static SLOW_REFERENCE: LazyLock<Files> = LazyLock::new(|| undisturbed(&SLOW_SPEC));

fn assert_same(out: &Path, reference: &Files) {
    assert_same_files(&bytes(out), reference, &out.display().to_string());
}

/// Starts a slow run: one thread, one trial at a time.
fn start(folder: &Folder) -> Child {
    folder.start(&[&LOUD[..], &["--threads", "1", "--batch", "1"]].concat())
}

/// Waits until a run has finished more than `n` parts.
fn wait_for_parts(out: &Path, n: usize) {
    let started = Instant::now();
    while parts(out).len() <= n {
        assert!(started.elapsed() < PATIENCE, "no part appeared");
        sleep(Duration::from_millis(1));
    }
}

/// Every part that is visible is one of the reference, whole.
fn only_whole_parts(out: &Path, reference: &Files) -> usize {
    let visible = parts(out);
    for path in &visible {
        let name = path.strip_prefix(out).expect("below").to_string_lossy();
        assert!(fs::read(path).expect("a part") == reference[&*name], "{name} is not whole");
    }
    visible.len()
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let here = &folder_with(&SLOW_SPEC);
    let out = here.join("out");
    let mut finished = 0;
    for _ in 0..3 {
        let mut child = start(here);
        wait_for_parts(&out, finished);
        child.kill().expect("killed");
        let output = child.wait_with_output().expect("ended");
        assert_eq!(output.status.signal(), Some(9), "{}", stderr(&output));
        finished = only_whole_parts(&out, &SLOW_REFERENCE);
        assert!(0 < finished && finished < PARTS, "{finished} parts");
    }
    // What a kill in the middle of a write leaves.
    here.write("out/cells/.privateer-0123456789abcdef-1-0123456789abcdef.tmp", "half a part");
    let output = here.ends(&LOUD, 0, &[]);
    // The parts of one group may be in place without their lines in the list of digests: they are computed again.
    let resumes = |n: usize| stderr(&output).contains(&format!("resuming: {n} of {PARTS} blocks are done"));
    assert!((1..=finished).any(resumes), "{}", stderr(&output));
    assert_same(&out, &SLOW_REFERENCE);
}

#[test]
fn a_stopped_run_says_how_to_resume() {
    let here = &folder_with(&SLOW_SPEC);
    let out = here.join("out");
    let mut finished = 0;
    for name in ["INT", "TERM"] {
        let child = start(here);
        wait_for_parts(&out, finished);
        signal(&child, name);
        let output = child.wait_with_output().expect("ended");
        let hint = "hint: the same command resumes; finished parts are in `out`";
        ends(&output, 4, &["stopping: finished blocks are kept", "of 24 blocks are done; the run was stopped", hint]);
        assert!(stdout(&output).is_empty() && !out.join("report.html").exists());
        finished = only_whole_parts(&out, &SLOW_REFERENCE);
        assert!(finished < PARTS && stderr(&output).contains(&format!("incomplete: {finished} of 24")), "{}", stderr(&output));
        assert!(listed(&out.join("cells")).len() == finished, "something was left aside");
    }
    here.fine(&LOUD);
    assert_same(&out, &SLOW_REFERENCE);
}

#[test]
fn a_finished_folder_is_reported_again() {
    let here = &folder_with(SPEC);
    let out = here.join("out");
    let first = here.fine(&LOUD);
    let times = || -> Vec<_> {
        let modified = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).expect("a time");
        parts(&out).iter().map(modified).collect()
    };
    let before = (times(), here.bytes("out/report.html"), here.bytes("out/manifest.json"));
    here.remove("out/report.html");
    here.remove("out/summary.csv");
    let again = here.ends(&LOUD, 0, &["resuming: 24 of 24 blocks are done"]);
    assert_eq!(stdout(&again), first);
    assert!((times(), here.bytes("out/report.html"), here.bytes("out/manifest.json")) == before);
    assert_same(&out, &REFERENCE);
    // `report` alone says the same.
    assert_eq!(here.fine(&["report", "out"]), first);
}

#[test]
fn folders_that_do_not_fit_are_refused() {
    let here = &folder_with(SPEC);
    let tiny = |out: &str| here.run(&["run", "spec.toml", "--rounds", "2", "--trials", "1", "--out", out]);
    ends(&tiny("taken"), 0, &[]);
    let before = bytes(&here.join("taken"));
    let texts = ["`taken` holds results of another spec", "choose another folder with `--out DIR`, or delete this one"];
    here.ends(&["run", "spec.toml", "--rounds", "3", "--trials", "1", "--out", "taken"], 2, &texts);
    assert!(bytes(&here.join("taken")) == before);

    here.write("junk/thesis.tex", "years of work");
    ends(&tiny("junk"), 2, &["`junk` is not a results folder", "choose a new or empty folder"]);
    assert_eq!(listed(&here.join("junk")).len(), 1);

    here.write("file", "a letter");
    ends(&tiny("file"), 2, &["`file` is a file, not a folder", "`--out DIR`"]);
    ends(&tiny("file/below"), 2, &["`file/below` cannot be a folder: part of its path is a file", "`--out DIR`"]);
    assert_eq!(here.text("file"), "a letter");
    for command in [["report", "file"], ["report", "nowhere"], ["report", "junk"]] {
        here.ends(&command, 2, &["give a folder that `privateer run` wrote"]);
    }

    here.write("taken/manifest.json", "{ half");
    ends(&tiny("taken"), 2, &["taken/manifest.json` is not valid JSON", "restore the file, or delete the folder"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let here = &folder_with(SPEC);
    if !Path::new("/proc/self").exists() {
        println!("skipped: there is no /proc to be refused by");
        return;
    }
    // Nobody may make folders there, whoever runs this test.
    let run = ["run", "spec.toml", "--rounds", "2", "--out", "/proc/privateer/out"];
    here.ends(&run, 2, &["`/proc/privateer/out` cannot be", "choose another folder with `--out DIR`"]);
}

#[test]
fn a_full_disk_keeps_what_was_finished() {
    // Parts are larger than the manifest.
    let spec = SLOW_SPEC.replace("rounds = 4000", "rounds = 1500").replace("\n[[policy]]", "\n[[policy]]\nbeta = \"theory\"");
    let reference = undisturbed(&spec);
    let here = &folder_with(&spec);
    let out = here.join("out");
    // Files may grow to `limit` KiB: too little for the manifest, then for parts, then for the report.
    let (mut limit, mut failed_at) = (1, Vec::new());
    loop {
        let output = here.shell(&format!("ulimit -f {limit}; exec privateer run spec.toml --out out"));
        if code(&output) == Some(0) {
            break;
        }
        let said = stderr(&output);
        ends(&output, 4, &["error: cannot write the ", "File too large", "hint: make room, then run the same command again"]);
        assert!(!said.contains("panicked"), "{said}");
        only_whole_parts(&out, &reference);
        assert!(files(&out).keys().all(|name| !name.ends_with(".tmp")));
        let what = said.lines().find_map(|line| line.strip_prefix("error: cannot write the ")).unwrap_or_default();
        let what = what.split(' ').next().unwrap_or_default().to_owned();
        limit = if what == "manifest" { limit + 1 } else { 2 * limit };
        assert!(limit < 10_000, "{what}");
        if failed_at.last() != Some(&what) {
            failed_at.push(what);
        }
    }
    assert!(failed_at.starts_with(&["manifest".to_owned(), "part".to_owned()]) && 2 < failed_at.len(), "{failed_at:?}");
    assert_same(&out, &reference);
}

/// Whatever size the system refuses, the program says so and ends with exit code 4.
#[test]
#[cfg(target_os = "linux")]
fn low_memory_is_said_and_is_exit_code_4() {
    let here = &folder_with(SPEC);
    let mut n_refused = 0;
    // A development build with its database takes 75 MB of addresses before it can say anything.
    for kib in [90_000, 120_000, 200_000, 400_000, 3_000_000] {
        let set = "--set environment.domain.points=200000 --threads 2 --backend cpu";
        let output = here.shell(&format!("ulimit -v {kib}; exec privateer run spec.toml --rounds 5 --out out-{kib} {set}"));
        match code(&output) {
            Some(0) => {}
            // Refused before anything was computed.
            Some(2) => ends(&output, 2, &["would need", "ulimit -v"]),
            Some(4) => n_refused += usize::from(stderr(&output).contains("memory") || stderr(&output).contains("threads")),
            other => panic!("{kib} KiB: {other:?}: {}", stderr(&output)),
        }
    }
    assert!(0 < n_refused);
}

#[test]
fn damaged_parts_are_computed_again() {
    let here = &folder_with(SPEC);
    here.fine(&LOUD);
    let [cut, junk, gone] = ["c0000-b0001", "c0001-b0000", "c0002-b0005"].map(|name| format!("out/cells/{name}.parquet"));
    let whole = here.bytes(&cut);
    here.write(&cut, &whole[..whole.len() / 2]);
    here.write(&junk, "");
    here.remove(&gone);
    let warnings = [&cut, &junk].map(|path| format!("warning: `{path}`"));
    let said = stderr(&here.ends(&LOUD, 0, &[&warnings[0], &warnings[1], "computed again", "21 of 24"]));
    assert_eq!(said.matches("warning: `out/cells/").count(), 2, "{said}");
    assert_same(&here.join("out"), &REFERENCE);
}

#[test]
fn shards_merge_to_the_same_bytes() {
    let here = &folder_with(SPEC);
    let shard = |which: &str, texts: &[&str]| here.ends(&["run", "spec.toml", "--shard", which, "--out", "shards"], 0, texts);
    let first = shard("1/2", &["when all shards are done: privateer merge shards --out DIR"]);
    assert!(stdout(&first).contains("shard 1/2 is done: shards/shard-1-of-2"));
    let missing = ["12 of 24 blocks are done", "cell 0 block 1", "and 4 more are in no folder", "name the folders of all shards"];
    here.ends(&["merge", "shards", "--out", "all"], 4, &missing);
    assert!(!here.holds("all"));
    let (a, b) = ("shards/shard-1-of-2", "shards/shard-2-of-2");
    here.ends(&["report", a], 4, &["12 of 24"]);
    let status = || here.fine(&["status", "shards"]);
    assert_eq!(status(), "12 of 24 units are done\ntasks: 1 done, 0 under way, 1 waiting, 0 failed\n");
    shard("2/2", &[]);
    assert!(status().starts_with("24 of 24 units are done\ntasks: 2 done"));
    // Clocks of nodes may differ by an hour.
    let list = fs::File::options().append(true).open(here.join(b).join("SHA256SUMS")).expect("the list");
    list.set_modified(std::time::SystemTime::now() + Duration::from_secs(3600)).expect("a time");
    assert!(status().starts_with("24 of 24 units are done\ntasks: 2 done"));
    let merged = here.fine(&["merge", "shards", "--out", "all"]);
    assert_same(&here.join("all"), &REFERENCE);
    // Again, folder by folder in another order, into the same place; then as one run of that folder.
    here.ends(&["merge", b, a, "--out", "all"], 0, &[]);
    assert_eq!(here.fine(&["run", "spec.toml", "--out", "all"]), merged);
    assert_same(&here.join("all"), &REFERENCE);

    here.ends(&["run", "spec.toml", "--rounds", "2", "--trials", "1", "--out", "other"], 0, &[]);
    here.ends(&["merge", a, "other", "--out", "mixed"], 2, &["`other` is of another spec"]);
    // The folder that a shard has made is its own also by name; what it is, others say.
    here.ends(&["run", "spec.toml", "--shard", "1/2", "--out", a], 0, &[]);
    here.ends(&["run", "spec.toml", "--shard", "2/2", "--out", a], 2, &["another share of a sweep, 1/2"]);
    here.ends(&["report", "shards"], 2, &["`shards` holds 2 shards", "privateer merge DIR --out ALL"]);
    // Nothing of a shard is written among the results of a whole run.
    let among = ["run", "spec.toml", "--shard", "1/2", "--out", "all"];
    here.ends(&among, 2, &["`all` holds the results of a run that is not divided into shards"]);
    assert_same(&here.join("all"), &REFERENCE);
}

/// Both write below one folder at the same time, as the jobs of an array do.
#[test]
fn shards_of_one_folder_run_beside_each_other() {
    let here = &folder_with(SPEC);
    let shard = |which| here.start(&["run", "spec.toml", "--shard", which, "--out", "shards", "--quiet"]);
    for run in ["1/3", "2/3", "3/3"].map(shard) {
        ends(&run.wait_with_output().expect("ended"), 0, &[]);
    }
    here.ends(&["merge", "shards", "--out", "all"], 0, &[]);
    assert_same(&here.join("all"), &REFERENCE);
}

#[test]
fn two_runs_cannot_share_a_folder() {
    let here = &folder_with(&SLOW_SPEC);
    let out = here.join("out");
    let mut first = start(here);
    wait_for_parts(&out, 0);
    here.ends(&LOUD, 5, &["`out` is in use by another run", "wait for it to end, or choose another folder", "`--wait SECONDS`"]);
    assert_eq!(first.try_wait().expect("known"), None, "the first run was over too early for this test");
    // Its shares are there when the wait ends: nothing is computed twice.
    let said = stderr(&here.ends(&[&LOUD[..], &["--wait", "600"]].concat(), 0, &[]));
    let resumed =
        said.lines().find_map(|line| line.strip_prefix("resuming: ")?.strip_suffix(" blocks are done")?.split_once(" of "));
    assert!(resumed.is_some_and(|(done, all)| done == all), "{said}");
    ends(&first.wait_with_output().expect("ended"), 0, &[]);
    assert_same(&out, &SLOW_REFERENCE);
}

#[test]
fn threads_and_batches_and_shards_change_no_byte() {
    let here = &folder_with(SPEC);
    for threads in ["1", "2"] {
        for batch in ["1", "3", "64"] {
            for shards in [1, 2] {
                let how = format!("{threads}-{batch}-{shards}");
                let out = if shards == 1 { how.clone() } else { format!("{how}-shards") };
                let run = ["run", "spec.toml", "--quiet", "--threads", threads, "--batch", batch, "--out", &out];
                if shards == 1 {
                    here.fine(&run);
                } else {
                    ["1/2", "2/2"].iter().for_each(|which| drop(here.fine(&[&run[..], &["--shard", which]].concat())));
                    here.fine(&["merge", "--quiet", "--out", &how, &out]);
                }
                assert_same(&here.join(&how), &REFERENCE);
            }
        }
    }
}

/// A folder begun over one data set is not continued over another, though the spec is the same.
#[test]
fn other_data_is_another_run() {
    let here = &folder();
    let spec = "rounds = 5\ntrials = 2\nblock = 1\n[environment]\nkind = \"arms-table\"\ntrain = \"t.csv\"\ntest = \"t.csv\"\n[[policy]]\nkind = \"igp-ucb\"\n";
    here.write("spec.toml", spec);
    here.write("a/t.csv", "1,2\n2,1\n3,5\n");
    here.write("b/t.csv", "1,2\n2,1\n3,4\n");
    let over = |data: &str| here.run(&["run", "spec.toml", "--out", "out", "--data", data]);
    ends(&over("a"), 0, &[]);
    fs::remove_file(&parts(&here.join("out"))[1]).expect("a part");
    ends(&over("b"), 2, &["the same spec over other data", "--data DIR"]);
    ends(&over("a"), 0, &[]);
}

/// Values of mean 10 and standard deviation 2: a clip in units of the file is the same run as the converted one.
#[test]
fn clips_and_bounds_count_in_units_of_the_file_where_that_is_stated() {
    let here = &folder();
    here.write("t.csv", "x,lux\n0,8\n1,12\n2,8\n3,12\n");
    let spec = |goal: &str, units: &str, bound: &str, clip: &str| {
        format!(
            "rounds = 30\ntrials = 2\n[environment]\nkind = \"points-table\"\nfile = \"t.csv\"\ninputs = [\"x\"]\nvalue = \"lux\"\n\
             standardise = true\ngoal = \"{goal}\"\nunits = \"{units}\"\nbound = {bound}\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\nnoise = {{ kind = \"gaussian\", sd = 0.1 }}\n\
             [privacy]\nmechanism = \"hybrid\"\nepsilon = 2.0\nclip = {clip}\n[[policy]]\nkind = \"tgp-ucb\"\n"
        )
    };
    let cells = |name: &str, spec: String| {
        here.write("spec.toml", spec);
        let output = here.ends(&["run", "spec.toml", "--out", name], 0, &[]);
        let rows: Vec<_> = parts(&here.join(name)).iter().map(|path| read_part(path, 60).expect("a part").1).collect();
        assert!(!rows.is_empty());
        (stderr(&output), rows)
    };
    // (4 - 10) / 2 = -3 and (18 - 10) / 2 = 4; the bound is that of the farther end, (-20 - 10) / 2.
    let data = || spec("maximise", "data", "20", "[4, 18]");
    let rewards = || spec("maximise", "rewards", "15", "[-3, 4]");
    let least = spec("minimise", "data", "20", "[4, 18]");
    assert_eq!(cells("data", data()).1, cells("rewards", rewards()).1);
    assert_eq!(cells("less", least).1, cells("least", spec("minimise", "rewards", "15", "[-4, 3]")).1);
    // The same for sums of rewards, and for an attack on either.
    let sums = |spec: String| {
        spec.replace("\"hybrid\"", "\"tree\"\ndelta = 1e-3")
            .replace("\"tgp-ucb\"", "\"jdp-gp-ucb\"\nfeatures = { kind = \"nystrom\", size = 3 }")
    };
    assert_eq!(cells("data sums", sums(data())).1, cells("rewards sums", sums(rewards())).1);
    let audited = |spec: String| {
        here.write("spec.toml", spec.replace("\"hybrid\"", "\"laplace\""));
        here.fine(&["audit", "spec.toml", "--samples", "400"])
    };
    assert_eq!(audited(data()), audited(rewards()));
    // What is said of a clip that cuts off is in the same units.
    let generated = spec("maximise", "data", "20", "[4, 11]").replace("bound = 20\n", "public = [\"range\"]\n");
    let (said, _) = cells("cut", generated);
    assert!(said.contains("rewards are clipped to [4, 11]") && said.contains("(it covers [8, 12])"), "{said}");
    assert!(said.contains("units of the file"), "{said}");
}
