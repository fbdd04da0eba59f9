//! Fuzz targets of everything that privateer reads: a target takes bytes, edits a seed of its corpus with them, and reads the result.
//!
//! A target fails where a reader panics, where it takes more memory than `MOST_BYTES`, or where it believes what it must not.
//! `cargo test -p privateer-fuzz` runs each for as long as `PRIVATEER_FUZZ_MS` says; see `docs/files.md`.

use cap::Cap;
use privateer::deploy::{self, BudgetOptions, RecordValue, ReleaseOptions};
use privateer::env::CuratedLedger;
use privateer::env::csv_table::{CsvOptions, read_table};
use privateer::record::{DigestList, Manifest};
use privateer::spec::Sweep;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// Most memory that all targets of a process may hold at once.
const MOST_BYTES: usize = 1 << 30;

#[global_allocator]
static MEMORY: Cap<std::alloc::System> = Cap::new(std::alloc::System, MOST_BYTES);

/// Does work while all of the process may hold no more memory than this; a reader that takes more ends it.
pub fn with_at_most(bytes: usize, work: impl FnOnce()) {
    MEMORY.set_limit(bytes).expect("the process holds more already");
    work();
    MEMORY.set_limit(MOST_BYTES).expect("more than before");
}

/// Returns the corpus of a target.
#[must_use]
pub fn seeds(name: &str) -> Vec<Vec<u8>> {
    if name == "deployment" {
        return vec![made()];
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("corpus").join(name)];
    if name == "spec" {
        folders.push(root.join("../examples"));
    }
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a corpus"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.is_file() && (name != "spec" || path.extension().is_some_and(|ending| ending == "toml")));
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).expect("a seed")).collect();
    assert!(!seeds.is_empty(), "no corpus for {name}");
    seeds
}

/// A target: its name, which is that of its corpus, and what it does with an edited seed.
pub struct Target {
    name: &'static str,
    seeds: Vec<Vec<u8>>,
    read: fn(&[u8]),
    executions: AtomicU64,
}

impl Target {
    /// Loads the corpus.
    #[must_use]
    pub fn new(name: &'static str, read: fn(&[u8])) -> Self {
        let seeds = seeds(name);
        seeds.iter().for_each(|seed| read(seed));
        Self { name, seeds, read, executions: AtomicU64::new(0) }
    }

    /// One execution.
    pub fn execute(&self, script: &[u8]) {
        self.executions.fetch_add(1, Ordering::Relaxed);
        (self.read)(&edited(&self.seeds, script));
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        println!("{}: {} executions", self.name, self.executions.load(Ordering::Relaxed));
    }
}

/// What is put into seeds: words that readers know, and counts that they should not believe.
pub const WORDS: [&[u8]; 24] = [
    b"[sweep.product]\n",
    b"[[policy]]\n",
    b"kind = \"",
    b"\"privacy.epsilon\" = [",
    b"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.",
    b"1e308",
    b"-1",
    b"18446744073709551616",
    b"4294967295",
    b"220382436",
    b"nan",
    b"null",
    b"{\"",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"\"\"\"",
    b"\x1b]0;x\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\x7f",
    b"\xf5\xff\xff\xff\xff\x07",
    b"\x1c\x1c\x1c\x1c\x1c\x1c\x1c\x1c",
    b"PAR1",
    b"\x1f\x8b\x08\x00",
    b"\r\n",
    b",",
];

/// A seed with the edits that the script names; without a script the first seed.
fn edited(seeds: &[Vec<u8>], script: &[u8]) -> Vec<u8> {
    let mut script = script.iter().copied();
    let mut next = || script.next().map(usize::from);
    let mut bytes = seeds[next().unwrap_or(0) % seeds.len()].clone();
    while let Some(operation) = next() {
        let (high, low, what) = (next().unwrap_or(0), next().unwrap_or(0), next().unwrap_or(0));
        let at = ((high << 8 | low) * (bytes.len() + 1)) >> 16;
        let end = (at + 1 + what).min(bytes.len());
        match operation % 8 {
            0 if at < bytes.len() => bytes[at] ^= 1 << (what % 8),
            1 if at < bytes.len() => bytes[at] = what as u8,
            2 => drop(bytes.splice(at..at, WORDS[what % WORDS.len()].iter().copied())),
            3 => {
                let word = WORDS[what % WORDS.len()];
                let end = (at + word.len()).min(bytes.len());
                drop(bytes.splice(at..end, word.iter().copied()));
            }
            4 if at < end => drop(bytes.drain(at..end)),
            5 if at < end => {
                let again: Vec<u8> = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, again));
            }
            6 if what < 16 => bytes.truncate(at),
            7 => {
                // Part of another seed.
                let other = &seeds[what % seeds.len()];
                let from = at.min(other.len());
                let piece = other[from..(from + 64).min(other.len())].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            _ => {}
        }
        if bytes.len() > 1 << 18 {
            break;
        }
    }
    bytes
}

/// A file that a target writes what it reads to, in memory where the machine has such a folder.
fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Reads bytes through a function that takes a path.
fn through_file(name: &str, bytes: &[u8], read: impl FnOnce(&Path)) {
    thread_local! { static FOLDER: TempDir = scratch(); }
    FOLDER.with(|folder| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("written");
        read(folder.path());
        fs::remove_file(&path).expect("removed");
    });
}

/// A whole spec.
pub fn spec(bytes: &[u8]) {
    if let Err(error) = Sweep::parse("spec.toml", &String::from_utf8_lossy(bytes), &[]) {
        assert!(!error.to_string().is_empty());
    }
}

const BASE: &str = include_str!("../corpus/spec/base.toml");

/// Changes of a spec on the command line: `PATH=VALUE`, one a line.
pub fn set(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let changes: Vec<(String, String, String)> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(path, value)| (format!("--set {path}="), path.trim().to_owned(), value.trim().to_owned()))
        .collect();
    if let Err(error) = Sweep::parse("spec.toml", BASE, &changes) {
        assert!(!error.to_string().is_empty());
    }
}

/// A table of numbers.
pub fn csv(bytes: &[u8]) {
    through_file("t.csv", bytes, |folder| {
        if let Ok(table) = read_table(&folder.join("t.csv"), &CsvOptions::default()) {
            assert_eq!(table.values.len(), table.rows * table.columns);
            assert!(table.values.iter().all(|value| value.is_finite()));
        }
    });
}

/// Makes a deployment with two answers, the seed of its target: names in it are random, so that no file of it is kept.
fn made() -> Vec<u8> {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("d");
    let options = ReleaseOptions {
        mechanism: Some("laplace".to_owned()),
        epsilon: Some(1.0),
        clip: Some((0.0, 1.0)),
        budget: BudgetOptions { budget: Some("epsilon=4".parse().expect("a budget")), ..BudgetOptions::default() },
        ..ReleaseOptions::default()
    };
    for round in 1..=2 {
        let record = RecordValue { record: "7".to_owned(), round, value: 0.5, yes: false };
        deploy::release(&path, &record, &options, &|_| ()).expect("released");
    }
    fs::read(path).expect("a file")
}

/// A deployment: what its ledger says is what was spent, or it says nothing.
pub fn deployment(bytes: &[u8]) {
    through_file("d", bytes, |folder| {
        if let Ok(found) = deploy::ledger(&[folder.join("d")], None, None, &|_| ()) {
            let total = found.files[0].ledger.total.as_ref().expect("two answers");
            assert_eq!((total.of_one, total.largest.epsilon), (2, 2.0));
        }
    });
}

/// The ledger of a release: as it is, and with a digest that fits.
pub fn ledger(bytes: &[u8]) {
    let sealed = serde_json::from_slice::<CuratedLedger>(bytes).ok().map(|ledger| serde_json::json!(ledger.sealed()).to_string());
    for bytes in [Some(bytes.to_vec()), sealed.map(String::into_bytes)].into_iter().flatten() {
        through_file("l.json", &bytes, |folder| {
            if let Ok(ledger) = CuratedLedger::read(&folder.join("l.json")) {
                let released_inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/released.csv");
                let _ = ledger.noise_variance(Path::new("l.json"), &released_inputs, &["x".to_owned(), "y".to_owned()]);
            }
        });
    }
}

/// A manifest: as it is, and with a digest that fits.
pub fn manifest(bytes: &[u8]) {
    through_file("manifest.json", bytes, |folder| {
        let _ = Manifest::load(folder);
        if let Ok(manifest) = serde_json::from_slice::<Manifest>(bytes) {
            manifest.save(folder).expect("saved");
            if let Ok(manifest) = Manifest::load(folder) {
                assert!(manifest.parts().take(1000).all(|id| manifest.has(id)));
            }
        }
    });
}

/// A list of digests.
pub fn list(bytes: &[u8]) {
    through_file("SHA256SUMS", bytes, |folder| {
        let list = DigestList::load(folder).expect("readable");
        for name in list.names() {
            assert!(list.state(folder, name).is_ok() || name.contains('/') || name.starts_with('.'));
        }
    });
}
