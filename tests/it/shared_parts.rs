//! Files that many tiny cells share: equal results, whatever runs them, and what an altered or missing one leads to.

use crate::program::*;
use crate::support::{ran_of, sweep};
use privateer::engine::{Stop, Unit};
use privateer::record::{Folder as ResultsFolder, Manifest, PartId, Quantity, part_bytes, rewrite_listed, verify};
use privateer::run::{RunObserver, RunOptions, run_to_folder};
use privateer_config::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

/// Cells of 2 trials of 3 rounds: 50 policies for each of `n` environments.
fn spec(n: usize) -> String {
    let values = |n: usize| (1..=n).map(|i| format!("{}", 0.1 + 0.01 * i as f64)).collect::<Vec<_>>().join(", ");
    format!(
        "references = false\nrounds = 3\ntrials = 2\n[environment]\nkind = \"rkhs\"\ndomain = {{ kind = \"grid\", points = 5 }}\n\
         kernel = {{ kind = \"squared-exponential\", lengthscale = 0.2 }}\nnoise = {{ kind = \"uniform\", bound = 1.0 }}\n\
         [privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\n[[policy]]\nkind = \"igp-ucb\"\n[sweep.product]\n\
         \"environment.noise.bound\" = [{}]\n\"policy.*.ridge\" = [{}]\n",
        values(n),
        values(50)
    )
}

#[test]
fn shared_files_are_equal_whatever_runs_them() {
    for (n, n_files) in [(11, 275), (22, 367)] {
        let here = &folder_with(&spec(n));
        here.fine(&["run", "spec.toml", "--quiet", "--threads", "1", "--out", "one"]);
        let found = fs::read_dir(here.join("one/cells")).expect("a folder").count();
        assert_eq!(found, n_files, "{} cells", 50 * n);
        here.fine(&["run", "spec.toml", "--quiet", "--threads", "2", "--batch", "1", "--out", "two"]);
        for which in ["2/3", "3/3", "1/3"] {
            here.fine(&["run", "spec.toml", "--quiet", "--shard", which, "--out", "shards"]);
        }
        here.fine(&["merge", "shards", "--out", "merged", "--quiet"]);
        here.fine(&["plan", "spec.toml", "--tasks", "2", "--write", "tasks.txt"]);
        for task in ["1", "0"] {
            here.fine(&["run", "spec.toml", "--plan", "tasks.txt", "--task", task, "--out", "tasks", "--quiet"]);
        }
        for other in ["two", "merged", "tasks"] {
            assert_same_files(&results(&here.join("one")), &results(&here.join(other)), &format!("one and {other}"));
        }
        let status = here.fine(&["status", "shards"]);
        assert!(status.starts_with(&format!("{n_files} of {n_files} units are done")), "{status}");
        here.ends(&["verify", "one", "--rerun", "3"], 0, &[]);
        // The numbers are those of runs that write a file for each cell, and those in memory.
        let (mut apart, out) = (sweep(&spec(n)), here.join("one"));
        let manifest = Manifest::load(&out).expect("a manifest");
        let ran = ran_of(&apart);
        for id in manifest.parts() {
            for (cell, rows) in (id.cell..).zip(manifest.read_part(&out, id).expect("a part")) {
                assert_eq!(rows, ran.rows[&Unit { cell, block: 0 }], "cell {cell}");
            }
        }
        apart.cells_a_part = 1;
        let _ = run_to_folder(&apart, &here.join("apart"), &RunOptions::default(), &Stop::new(), &()).expect("a run");
        assert_eq!(fs::read_dir(here.join("apart/cells")).expect("a folder").count(), 50 * n);
        here.ends(&["verify", "apart", "--rerun", "7"], 0, &["computing 7 parts again"]);
        assert_eq!(here.text("apart/summary.csv"), here.text("one/summary.csv"));
        assert_eq!(here.text("apart/report.html"), here.text("one/report.html"));
    }
}

/// Asks for a stop after some trial-rounds.
struct Stopping {
    left: AtomicU64,
    stop: Stop,
}

impl RunObserver for Stopping {
    fn progressed(&self, trial_rounds: u64) {
        if self.left.fetch_sub(trial_rounds, Ordering::Relaxed) <= trial_rounds {
            self.stop.ask();
            self.left.store(u64::MAX, Ordering::Relaxed);
        }
    }
}

/// Each stop leaves whole files, which further runs do not touch, and loses the cells of files under way.
#[test]
fn a_stopped_run_goes_on_after_its_last_whole_file() {
    let here = &folder_with(&spec(11));
    here.fine(&["run", "spec.toml", "--quiet", "--out", "whole"]);
    let (sweep, out) = (sweep(&spec(11)), here.join("out"));
    let (mut done, mut n_stops) = (BTreeMap::new(), 0);
    loop {
        let observer = Stopping { left: AtomicU64::new(6 * 101), stop: Stop::new() };
        let options = RunOptions { threads: Some(1), ..RunOptions::default() };
        let run = run_to_folder(&sweep, &out, &options, &observer.stop, &observer);
        let entries = fs::read_dir(out.join("cells")).expect("a folder").map(|entry| entry.expect("an entry"));
        let now: BTreeMap<_, _> = entries
            .map(|entry| (entry.file_name(), entry.metadata().and_then(|found| found.modified()).expect("a time")))
            .collect();
        assert!(done.iter().all(|(name, time)| now.get(name) == Some(time)), "a finished file was written again");
        assert!(done.len() + 49 <= now.len() || run.is_ok(), "{} files, then {}", done.len(), now.len());
        done = now;
        match run {
            Ok(_) => break,
            Err(Error::Incomplete { done: n_done, total, .. }) => assert_eq!((n_done, total), (done.len(), 275)),
            Err(error) => panic!("{error}"),
        }
        n_stops += 1;
    }
    assert!(3 < n_stops, "{n_stops} stops");
    assert_same_files(&results(&here.join("whole")), &results(&out), "whole and out");
}

#[test]
fn altered_and_forged_shared_files_are_refused() {
    let here = &folder_with(&spec(11));
    here.fine(&["run", "spec.toml", "--quiet", "--out", "out"]);
    let out = here.join("out");
    let manifest = Manifest::load(&out).expect("a manifest");
    for (at, id) in manifest.parts().enumerate().step_by(13) {
        let whole = fs::read(id.path(&out)).expect("a part");
        let mut flipped = whole.clone();
        flipped[(at * 31) % whole.len()] ^= 1;
        fs::write(id.path(&out), flipped).expect("written");
        let found = verify(&out, &|_| ()).expect("readable");
        assert!(found.problems.len() == 1 && found.problems[0].contains(&id.file_name()), "{:?}", found.problems);
        fs::write(id.path(&out), whole).expect("restored");
    }
    // Sound files, listed with their digests, that hold other cells than their place.
    let id = PartId { cell: 4, block: 0 };
    let rows: Vec<_> =
        [4, 6].into_iter().flat_map(|cell| manifest.read_part(&out, PartId { cell, block: 0 }).expect("a part")).collect();
    let whole = fs::read(id.path(&out)).expect("a part");
    let forged = |id, cells: std::ops::Range<usize>, rows| part_bytes(&manifest.spec_hash, id, &manifest.cells[cells], rows);
    // `merge` opens the files of its inputs before it reads their rows.
    for (bytes, said, opened) in [
        (forged(id, 4..5, &rows[..1]), "holds 1 cells in place of 2", "holds 1 cells in place of 2"),
        (forged(id, 4..7, &rows[..3]), "claims 18 rows, and the specification gives at most 12", "holds 3 cells in place of 2"),
        (forged(PartId { cell: 6, block: 0 }, 6..8, &rows[2..]), "cell 6 block 0", "holds cell 6 block 0"),
        (part_bytes("other", id, &manifest.cells[4..6], &rows[..2]), "spec", "is of another spec"),
    ] {
        rewrite_listed(&out, &id.listed_name(), &bytes.expect("encoded"), "write").expect("listed");
        here.ends(&["verify", "out"], 1, &["c0004-b0000.parquet", said]);
        here.ends(&["report", "out"], 2, &["c0004-b0000.parquet", said, "hint: "]);
        here.ends(&["merge", "out", "--out", "all"], 2, &["c0004-b0000.parquet", opened, "hint: "]);
    }
    here.ends(&RUN, 0, &["warning: ", "c0004-b0000.parquet", "it will be computed again"]);
    assert!(fs::read(id.path(&out)).expect("a part") == whole);
    // Other rows are found by computing them again.
    let mut other = rows[..2].to_vec();
    other[1][Quantity::Regret][0] += 1.0;
    let bytes = forged(id, 4..6, &other).expect("encoded");
    rewrite_listed(&out, &id.listed_name(), &bytes, "write").expect("listed");
    here.ends(&["verify", "out", "--rerun", "275"], 1, &["`cells/c0004-b0000.parquet` is not what its spec gives"]);
    fs::remove_file(id.path(&out)).expect("removed");
    here.ends(&["report", "out"], 4, &["274 of 275 blocks are done", "cell 4 block 0"]);
    assert_eq!(ResultsFolder::existing(&out).expect("a folder").1.len(), 274);
}
