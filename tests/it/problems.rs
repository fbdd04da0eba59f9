//! Problems that tests of the program share with those of its faults.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Everything in a folder, sorted.
pub fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    found.sort();
    found
}

/// All files below a folder, sorted; `enters` decides which of its folders are looked into.
pub fn walk(folder: &Path, enters: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let (folders, mut found): (Vec<PathBuf>, Vec<PathBuf>) = listed(folder).into_iter().partition(|path| path.is_dir());
    found.extend(folders.iter().filter(|path| enters(path)).flat_map(|path| walk(path, enters)));
    found.sort();
    found
}

/// Bytes of files by their names.
pub type Files = BTreeMap<String, Vec<u8>>;

/// All files below a folder, by their relative names.
pub fn files(folder: &Path) -> Files {
    let name = |path: &PathBuf| path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
    walk(folder, &|_| true).iter().map(|path| (name(path), fs::read(path).expect("a file"))).collect()
}

/// All files below a folder but the two that hold what the machine did.
pub fn results(folder: &Path) -> Files {
    let mut found = files(folder);
    found.retain(|name, _| !["run.json", "timings.csv"].iter().any(|file| Path::new(name).ends_with(file)));
    found
}

/// Fails unless the files of both have the same names and bytes.
pub fn assert_same_files(found: &Files, expected: &Files, case: &str) {
    assert!(found.keys().eq(expected.keys()), "{case}: {:?} and {:?}", found.keys(), expected.keys());
    let differing: Vec<_> = found.keys().filter(|name| found[*name] != expected[*name]).collect();
    assert!(differing.is_empty(), "{case}: {differing:?} differ");
}

/// The command that releases the inputs of `data.csv`.
pub static CURATE: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let line = "curate data.csv --columns x,y --epsilon 8 --delta 1e-6 --radius 0.2 --bound 2.5 -o released.csv";
    line.split(' ').collect()
});

/// Writes the modeler's spec over the released inputs.
pub fn spec(folder: &Path, privacy: &str, policy: &str) {
    let text = format!(
        "rounds = 8\n[environment]\nkind = \"points-table\"\nfile = \"released.csv\"\nreleased = \"released.csv.ledger.json\"\n\
         inputs = [\"x\", \"y\"]\nkernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\n\
         noise = {{ kind = \"gaussian\", sd = 0.05 }}\nbound = 1.0\n{privacy}\n[[policy]]\n{policy}\n"
    );
    fs::write(folder.join("modeler.toml"), text).expect("written");
}

pub const LAPLACE: &str = "[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [-1.0, 1.0]\n";

/// Writes three rows, so that any policy repeats one of them within four rounds, and the spec of a session over them.
pub fn three_rows(folder: &Path, rounds: u64, privacy: &str, policy: &str) {
    fs::write(folder.join("points.csv"), "x,y\n0.0,0.0\n1.0,0.5\n0.2,1.0\n").expect("written");
    let text = format!(
        "rounds = {rounds}\n[environment]\nkind = \"points-table\"\nfile = \"points.csv\"\ninputs = [\"x\", \"y\"]\nstandardise = false\n\
         kernel = {{ kind = \"squared-exponential\", lengthscale = 1.0 }}\nnoise = {{ kind = \"gaussian\", sd = 0.05 }}\nbound = 1.0\n\
         {privacy}\n[[policy]]\nkind = \"{policy}\"\n"
    );
    fs::write(folder.join("modeler.toml"), text).expect("written");
}

/// A sweep of four trials in two blocks, all rounds recorded, with released parameters; `more` may add policies and axes.
pub fn sweep_with_parameters(more: &str) -> String {
    let text = r#"
name = "small"
seed = 5
rounds = 12
trials = 4
block = 2
record = { rounds = "all", parameters = true }
[environment]
kind = "rkhs"
domain = { kind = "grid", dimension = 1, points = 20 }
kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }
noise = { kind = "uniform", bound = 1.0 }
[privacy]
epsilon = 4.0
delta = 1e-5
[[policy]]
kind = "jdp-gp-ucb"
features = { kind = "nystrom", size = 6 }
privacy = { mechanism = "tree" }
"#;
    format!("{text}{more}")
}
