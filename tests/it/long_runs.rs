//! Runs that are stopped, killed, sharded, squeezed or started twice end with the bytes of one that was left alone.
#![cfg(unix)]

use crate::program::{code, ends, folder, folder_with, privateer, run, stderr, stdout};
use privateer::record::read_part;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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

/// Longest that anything here may take before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Parts and summary: what must never differ.
type Bytes = BTreeMap<String, Vec<u8>>;

fn bytes(out: &Path) -> Bytes {
    let mut all = Bytes::new();
    for path in files(&out.join("cells")) {
        all.insert(path.file_name().unwrap_or_default().to_string_lossy().into_owned(), fs::read(&path).expect("a part"));
    }
    all.insert("summary.csv".to_owned(), fs::read(out.join("summary.csv")).expect("the summary"));
    all
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|entries| entries.map(|entry| entry.expect("an entry").path()).collect()).unwrap_or_default()
}

/// Parts under their final names.
fn parts(out: &Path) -> Vec<PathBuf> {
    files(&out.join("cells")).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "parquet")).collect()
}

/// What an undisturbed run leaves.
fn undisturbed(spec: &str) -> Bytes {
    let folder = folder_with(spec);
    ends(&run(&folder, &["run", "spec.toml", "--out", "out", "--quiet"]), 0, &[]);
    let reference = bytes(&folder.join("out"));
    assert_eq!(reference.len(), PARTS + 1);
    reference
}

static REFERENCE: LazyLock<Bytes> = LazyLock::new(|| undisturbed(SPEC));
static SLOW_REFERENCE: LazyLock<Bytes> = LazyLock::new(|| undisturbed(&SLOW_SPEC));

fn assert_same(out: &Path, reference: &Bytes) {
    let found = bytes(out);
    let names = |bytes: &Bytes| bytes.keys().cloned().collect::<Vec<String>>();
    assert_eq!(names(&found), names(reference));
    for (name, bytes) in &found {
        assert!(*bytes == reference[name], "{name} differs");
    }
}

/// Starts a slow run: one thread, one trial at a time.
fn start(folder: &Path) -> Child {
    privateer(folder)
        .args(["run", "spec.toml", "--out", "out", "--threads", "1", "--batch", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
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
fn only_whole_parts(out: &Path, reference: &Bytes) -> usize {
    let visible = parts(out);
    for path in &visible {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        assert!(fs::read(path).expect("a part") == reference[&name], "{name} is not whole");
    }
    visible.len()
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let folder = folder_with(&SLOW_SPEC);
    let out = folder.join("out");
    let mut finished = 0;
    for _ in 0..3 {
        let mut child = start(&folder);
        wait_for_parts(&out, finished);
        child.kill().expect("killed");
        let output = child.wait_with_output().expect("ended");
        assert_eq!(output.status.signal(), Some(9), "{}", stderr(&output));
        finished = only_whole_parts(&out, &SLOW_REFERENCE);
        assert!(0 < finished && finished < PARTS, "{finished} parts");
    }
    // What a kill in the middle of a write leaves.
    fs::write(out.join("cells/.privateer-0123456789abcdef-1-0123456789abcdef.tmp"), "half a part").expect("a left-over");
    let output = run(&folder, &["run", "spec.toml", "--out", "out"]);
    ends(&output, 0, &[]);
    // The parts of one group may be in place without their lines in the list of digests: they are computed again.
    let resumes = |n: usize| stderr(&output).contains(&format!("resuming: {n} of {PARTS} blocks are done"));
    assert!((1..=finished).any(resumes), "{}", stderr(&output));
    assert_same(&out, &SLOW_REFERENCE);
}

#[test]
fn a_stopped_run_says_how_to_resume() {
    let folder = folder_with(&SLOW_SPEC);
    let out = folder.join("out");
    let mut finished = 0;
    for signal in ["INT", "TERM"] {
        let child = start(&folder);
        wait_for_parts(&out, finished);
        let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().expect("kill starts");
        assert!(sent.success());
        let output = child.wait_with_output().expect("ended");
        let hint = "hint: the same command resumes; finished parts are in `out`";
        ends(&output, 4, &["stopping: finished blocks are kept", "of 24 blocks are done; the run was stopped", hint]);
        assert!(stdout(&output).is_empty() && !out.join("report.html").exists());
        finished = only_whole_parts(&out, &SLOW_REFERENCE);
        assert!(finished < PARTS && stderr(&output).contains(&format!("incomplete: {finished} of 24")), "{}", stderr(&output));
        assert!(files(&out.join("cells")).len() == finished, "something was left aside");
    }
    ends(&run(&folder, &["run", "spec.toml", "--out", "out", "--quiet"]), 0, &[]);
    assert_same(&out, &SLOW_REFERENCE);
}

#[test]
fn a_finished_folder_is_reported_again() {
    let folder = folder_with(SPEC);
    let out = folder.join("out");
    let command = ["run", "spec.toml", "--out", "out"];
    let first = run(&folder, &command);
    ends(&first, 0, &[]);
    let modified = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).expect("a time");
    let times: Vec<_> = parts(&out).iter().map(|path| modified(path)).collect();
    let page = fs::read(out.join("report.html")).expect("the page");
    let manifest = fs::read(out.join("manifest.json")).expect("the manifest");
    fs::remove_file(out.join("report.html")).expect("removed");
    fs::remove_file(out.join("summary.csv")).expect("removed");
    let again = run(&folder, &command);
    ends(&again, 0, &[]);
    assert_eq!(stdout(&again), stdout(&first));
    assert!(stderr(&again).contains("resuming: 24 of 24 blocks are done"), "{}", stderr(&again));
    assert_eq!(parts(&out).iter().map(|path| modified(path)).collect::<Vec<_>>(), times);
    assert!(fs::read(out.join("report.html")).expect("the page") == page);
    assert!(fs::read(out.join("manifest.json")).expect("the manifest") == manifest);
    assert_same(&out, &REFERENCE);
    // `report` alone says the same.
    let report = run(&folder, &["report", "out"]);
    ends(&report, 0, &[]);
    assert_eq!(stdout(&report), stdout(&first));
}

#[test]
fn folders_that_do_not_fit_are_refused() {
    let folder = folder_with(SPEC);
    let root = &folder;
    let tiny = |out: &str| run(root, &["run", "spec.toml", "--rounds", "2", "--trials", "1", "--out", out]);
    ends(&tiny("taken"), 0, &[]);
    let before = bytes(&root.join("taken"));
    let other = run(root, &["run", "spec.toml", "--rounds", "3", "--trials", "1", "--out", "taken"]);
    ends(&other, 2, &["`taken` holds results of another spec", "choose another folder with `--out DIR`, or delete this one"]);
    assert!(bytes(&root.join("taken")) == before);

    fs::create_dir(root.join("junk")).expect("a folder");
    fs::write(root.join("junk/thesis.tex"), "years of work").expect("a file");
    ends(&tiny("junk"), 2, &["`junk` is not a results folder", "choose a new or empty folder"]);
    assert_eq!(files(&root.join("junk")).len(), 1);

    fs::write(root.join("file"), "a letter").expect("a file");
    ends(&tiny("file"), 2, &["`file` is a file, not a folder", "`--out DIR`"]);
    ends(&tiny("file/below"), 2, &["`file/below` cannot be a folder: part of its path is a file", "`--out DIR`"]);
    assert_eq!(fs::read_to_string(root.join("file")).expect("kept"), "a letter");
    for command in [["report", "file"], ["report", "nowhere"], ["report", "junk"]] {
        ends(&run(root, &command), 2, &["give a folder that `privateer run` wrote"]);
    }

    fs::write(root.join("taken/manifest.json"), "{ half").expect("broken");
    ends(&tiny("taken"), 2, &["taken/manifest.json` is not valid JSON", "restore the file, or delete the folder"]);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let folder = folder_with(SPEC);
    if !Path::new("/proc/self").exists() {
        println!("skipped: there is no /proc to be refused by");
        return;
    }
    // Nobody may make folders there, whoever runs this test.
    let output = run(&folder, &["run", "spec.toml", "--rounds", "2", "--out", "/proc/privateer/out"]);
    ends(&output, 2, &["`/proc/privateer/out` cannot be", "choose another folder with `--out DIR`"]);
}

#[test]
fn a_full_disk_keeps_what_was_finished() {
    // Parts are larger than the manifest.
    let spec = SLOW_SPEC.replace("rounds = 4000", "rounds = 1500").replace("\n[[policy]]", "\n[[policy]]\nbeta = \"theory\"");
    let reference = undisturbed(&spec);
    let folder = folder_with(&spec);
    let out = folder.join("out");
    let program = env!("CARGO_BIN_EXE_privateer");
    // Files may grow to `limit` KiB: too little for the manifest, then for parts, then for the report.
    let (mut limit, mut failed_at) = (1, Vec::new());
    loop {
        let script = format!("ulimit -f {limit}; exec '{program}' run spec.toml --out out");
        let output = Command::new("bash").args(["-c", &script]).current_dir(&folder).output().expect("bash starts");
        if code(&output) == Some(0) {
            break;
        }
        let said = stderr(&output);
        ends(&output, 4, &["error: cannot write the ", "File too large", "hint: make room, then run the same command again"]);
        assert!(!said.contains("panicked"), "{said}");
        only_whole_parts(&out, &reference);
        assert!(files(&out).iter().chain(&files(&out.join("cells"))).all(|path| path.extension().is_none_or(|e| e != "tmp")));
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
    let folder = folder_with(SPEC);
    let program = env!("CARGO_BIN_EXE_privateer");
    let mut n_refused = 0;
    // A development build with its database takes 75 MB of addresses before it can say anything.
    for kib in [90_000, 120_000, 200_000, 400_000, 3_000_000] {
        let set = "--set environment.domain.points=200000 --threads 2 --backend cpu";
        let script = format!("ulimit -v {kib}; exec '{program}' run spec.toml --rounds 50 --out out-{kib} {set}");
        let output = Command::new("bash").args(["-c", &script]).current_dir(&folder).output().expect("bash starts");
        match code(&output) {
            Some(0) => {}
            // Refused before anything was computed.
            Some(2) => {
                assert!(stderr(&output).contains("would need") && stderr(&output).contains("ulimit -v"), "{}", stderr(&output))
            }
            Some(4) => n_refused += usize::from(stderr(&output).contains("memory") || stderr(&output).contains("threads")),
            other => panic!("{kib} KiB: {other:?}: {}", stderr(&output)),
        }
    }
    assert!(0 < n_refused);
}

#[test]
fn damaged_parts_are_computed_again() {
    let folder = folder_with(SPEC);
    let out = folder.join("out");
    let command = ["run", "spec.toml", "--out", "out"];
    ends(&run(&folder, &command), 0, &[]);
    let (cut, junk, gone) =
        (out.join("cells/c0000-b0001.parquet"), out.join("cells/c0001-b0000.parquet"), out.join("cells/c0002-b0005.parquet"));
    let whole = fs::read(&cut).expect("a part");
    fs::write(&cut, &whole[..whole.len() / 2]).expect("cut");
    fs::write(&junk, "").expect("emptied");
    fs::remove_file(&gone).expect("removed");
    let again = run(&folder, &command);
    ends(&again, 0, &[]);
    let said = stderr(&again);
    assert_eq!(said.matches("warning: `out/cells/").count(), 2, "{said}");
    for text in
        ["warning: `out/cells/c0000-b0001.parquet`", "warning: `out/cells/c0001-b0000.parquet`", "computed again", "21 of 24"]
    {
        assert!(said.contains(text), "no `{text}` in: {said}");
    }
    assert_same(&out, &REFERENCE);
}

#[test]
fn shards_merge_to_the_same_bytes() {
    let folder = folder_with(SPEC);
    let root = &folder;
    let shard = |which: &str| run(root, &["run", "spec.toml", "--shard", which, "--out", "shards"]);
    let first = shard("1/2");
    ends(&first, 0, &[]);
    assert!(stderr(&first).contains("when all shards are done: privateer merge shards --out DIR"), "{}", stderr(&first));
    assert!(stdout(&first).contains("shard 1/2 is done: shards/shard-1-of-2"));
    let early = run(root, &["merge", "shards", "--out", "all"]);
    ends(
        &early,
        4,
        &["12 of 24 blocks are done", "cell 0 block 1", "and 4 more are in no folder", "name the folders of all shards"],
    );
    assert!(!root.join("all").exists());
    let (a, b) = ("shards/shard-1-of-2", "shards/shard-2-of-2");
    ends(&run(root, &["report", a]), 4, &["12 of 24"]);
    let status = run(root, &["status", "shards"]);
    ends(&status, 0, &[]);
    assert_eq!(stdout(&status), "12 of 24 units are done\ntasks: 1 done, 0 under way, 1 waiting, 0 failed\n");
    ends(&shard("2/2"), 0, &[]);
    assert!(stdout(&run(root, &["status", "shards"])).starts_with("24 of 24 units are done\ntasks: 2 done"));
    // Clocks of nodes may differ by an hour.
    let list = fs::File::options().append(true).open(root.join(b).join("SHA256SUMS")).expect("the list");
    list.set_modified(std::time::SystemTime::now() + Duration::from_secs(3600)).expect("a time");
    assert!(stdout(&run(root, &["status", "shards"])).starts_with("24 of 24 units are done\ntasks: 2 done"));
    let merged = run(root, &["merge", "shards", "--out", "all"]);
    ends(&merged, 0, &[]);
    assert_same(&root.join("all"), &REFERENCE);
    // Again, folder by folder in another order, into the same place; then as one run of that folder.
    ends(&run(root, &["merge", b, a, "--out", "all"]), 0, &[]);
    let resumed = run(root, &["run", "spec.toml", "--out", "all"]);
    ends(&resumed, 0, &[]);
    assert_eq!(stdout(&resumed), stdout(&merged));
    assert_same(&root.join("all"), &REFERENCE);

    ends(&run(root, &["run", "spec.toml", "--rounds", "2", "--trials", "1", "--out", "other"]), 0, &[]);
    ends(&run(root, &["merge", a, "other", "--out", "mixed"]), 2, &["`other` is of another spec"]);
    // The folder that a shard has made is its own also by name; what it is, others say.
    ends(&run(root, &["run", "spec.toml", "--shard", "1/2", "--out", a]), 0, &[]);
    ends(&run(root, &["run", "spec.toml", "--shard", "2/2", "--out", a]), 2, &["another share of a sweep, 1/2"]);
    ends(&run(root, &["report", "shards"]), 2, &["`shards` holds 2 shards", "privateer merge DIR --out ALL"]);
    // Nothing of a shard is written among the results of a whole run.
    let among = run(root, &["run", "spec.toml", "--shard", "1/2", "--out", "all"]);
    ends(&among, 2, &["`all` holds the results of a run that is not divided into shards"]);
    assert_same(&root.join("all"), &REFERENCE);
}

/// Both write below one folder at the same time, as the jobs of an array do.
#[test]
fn shards_of_one_folder_run_beside_each_other() {
    let folder = folder_with(SPEC);
    let root = &folder;
    let runs: Vec<_> = ["1/3", "2/3", "3/3"]
        .into_iter()
        .map(|which| {
            let words = ["run", "spec.toml", "--shard", which, "--out", "shards", "--quiet"];
            privateer(root).args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
        })
        .collect();
    for run in runs {
        ends(&run.wait_with_output().expect("ended"), 0, &[]);
    }
    ends(&run(root, &["merge", "shards", "--out", "all"]), 0, &[]);
    assert_same(&root.join("all"), &REFERENCE);
}

#[test]
fn two_runs_cannot_share_a_folder() {
    let folder = folder_with(&SLOW_SPEC);
    let out = folder.join("out");
    let mut first = start(&folder);
    wait_for_parts(&out, 0);
    let second = run(&folder, &["run", "spec.toml", "--out", "out"]);
    ends(&second, 5, &["`out` is in use by another run", "wait for it to end, or choose another folder", "`--wait SECONDS`"]);
    assert_eq!(first.try_wait().expect("known"), None, "the first run was over too early for this test");
    // Its shares are there when the wait ends: nothing is computed twice.
    let third = run(&folder, &["run", "spec.toml", "--out", "out", "--wait", "600"]);
    let said = stderr(&third);
    let resumed =
        said.lines().find_map(|line| line.strip_prefix("resuming: ")?.strip_suffix(" blocks are done")?.split_once(" of "));
    assert!(resumed.is_some_and(|(done, all)| done == all), "{said}");
    ends(&third, 0, &[]);
    ends(&first.wait_with_output().expect("ended"), 0, &[]);
    assert_same(&out, &SLOW_REFERENCE);
}

#[test]
fn threads_and_batches_and_shards_change_no_byte() {
    let folder = folder_with(SPEC);
    let root = &folder;
    for threads in ["1", "2"] {
        for batch in ["1", "3", "64"] {
            for shards in [1, 2] {
                let how = format!("{threads}-{batch}-{shards}");
                let mut merge = vec!["merge".to_owned(), "--quiet".to_owned(), "--out".to_owned(), how.clone()];
                for shard in 1..=shards {
                    let out = if shards == 1 { how.clone() } else { format!("{how}-shards") };
                    let which = format!("{shard}/{shards}");
                    let mut words = vec!["run", "spec.toml", "--quiet", "--threads", threads, "--batch", batch, "--out", &out];
                    if 1 < shards {
                        words.extend(["--shard", &which]);
                    }
                    ends(&run(root, &words), 0, &[]);
                    if shard == 1 {
                        merge.push(out);
                    }
                }
                if 1 < shards {
                    ends(&run(root, &merge.iter().map(String::as_str).collect::<Vec<&str>>()), 0, &[]);
                }
                assert_same(&root.join(&how), &REFERENCE);
            }
        }
    }
}

/// A folder begun over one data set is not continued over another, though the spec is the same.
#[test]
fn other_data_is_another_run() {
    let folder = folder();
    let spec = "rounds = 5\ntrials = 2\nblock = 1\n[environment]\nkind = \"arms-table\"\ntrain = \"t.csv\"\ntest = \"t.csv\"\n[[policy]]\nkind = \"igp-ucb\"\n";
    fs::write(folder.join("spec.toml"), spec).expect("a spec");
    for (name, table) in [("a", "1,2\n2,1\n3,5\n"), ("b", "1,2\n2,1\n3,4\n")] {
        fs::create_dir(folder.join(name)).expect("a folder");
        fs::write(folder.join(name).join("t.csv"), table).expect("a table");
    }
    let over = |data: &str| run(&folder, &["run", "spec.toml", "--out", "out", "--data", data]);
    ends(&over("a"), 0, &[]);
    let out = folder.join("out");
    fs::remove_file(&parts(&out)[1]).expect("a part");
    ends(&over("b"), 2, &["the same spec over other data", "--data DIR"]);
    ends(&over("a"), 0, &[]);
}

/// Values of mean 10 and standard deviation 2: a clip in units of the file is the same run as the converted one.
#[test]
fn clips_and_bounds_count_in_units_of_the_file_where_that_is_stated() {
    let folder = folder();
    let root = &folder;
    fs::write(root.join("t.csv"), "x,lux\n0,8\n1,12\n2,8\n3,12\n").expect("a table");
    let spec = |goal: &str, units: &str, bound: &str, clip: &str| {
        format!(
            "rounds = 30\ntrials = 2\n[environment]\nkind = \"points-table\"\nfile = \"t.csv\"\ninputs = [\"x\"]\nvalue = \"lux\"\n\
             standardise = true\ngoal = \"{goal}\"\nunits = \"{units}\"\nbound = {bound}\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\nnoise = {{ kind = \"gaussian\", sd = 0.1 }}\n\
             [privacy]\nmechanism = \"hybrid\"\nepsilon = 2.0\nclip = {clip}\n[[policy]]\nkind = \"tgp-ucb\"\n"
        )
    };
    let cells = |name: &str, spec: &str| {
        fs::write(root.join("spec.toml"), spec).expect("a spec");
        let output = run(root, &["run", "spec.toml", "--out", name]);
        ends(&output, 0, &[]);
        let rows: Vec<_> = parts(&root.join(name)).iter().map(|path| read_part(path, 60).expect("a part").1).collect();
        assert!(!rows.is_empty());
        (stderr(&output), rows)
    };
    // (4 - 10) / 2 = -3 and (18 - 10) / 2 = 4; the bound is that of the farther end, (-20 - 10) / 2.
    let (_, data) = cells("data", &spec("maximise", "data", "20", "[4, 18]"));
    let (_, rewards) = cells("rewards", &spec("maximise", "rewards", "15", "[-3, 4]"));
    assert_eq!(data, rewards);
    let (_, data) = cells("less", &spec("minimise", "data", "20", "[4, 18]"));
    let (_, rewards) = cells("least", &spec("minimise", "rewards", "15", "[-4, 3]"));
    assert_eq!(data, rewards);
    // The same for sums of rewards, and for an attack on either.
    let sums = |spec: String| {
        spec.replace("\"hybrid\"", "\"tree\"\ndelta = 1e-3")
            .replace("\"tgp-ucb\"", "\"jdp-gp-ucb\"\nfeatures = { kind = \"nystrom\", size = 3 }")
    };
    let (_, data) = cells("data sums", &sums(spec("maximise", "data", "20", "[4, 18]")));
    let (_, rewards) = cells("rewards sums", &sums(spec("maximise", "rewards", "15", "[-3, 4]")));
    assert_eq!(data, rewards);
    let audited = |spec: String| {
        fs::write(root.join("spec.toml"), spec.replace("\"hybrid\"", "\"laplace\"")).expect("a spec");
        let output = run(root, &["audit", "spec.toml", "--samples", "400"]);
        ends(&output, 0, &[]);
        stdout(&output)
    };
    let (data, rewards) =
        (audited(spec("maximise", "data", "20", "[4, 18]")), audited(spec("maximise", "rewards", "15", "[-3, 4]")));
    assert_eq!(data, rewards);
    // What is said of a clip that cuts off is in the same units.
    let generated = spec("maximise", "data", "20", "[4, 11]").replace("bound = 20\n", "public = [\"range\"]\n");
    let (said, _) = cells("cut", &generated);
    assert!(said.contains("rewards are clipped to [4, 11]") && said.contains("(it covers [8, 12])"), "{said}");
    assert!(said.contains("units of the file"), "{said}");
}
