//! Running a command with one fault at one operation, and what every such run must keep.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Every kind of fault; `torn` is a kill in the middle of a write.
pub const KINDS: [&str; 5] = ["kill", "torn", "EIO", "ENOSPC", "EMFILE"];

/// One case of this many is run of a large campaign where not all are asked for.
const SAMPLED: usize = 9;
/// Campaigns of at most this many cases always run whole.
const SMALL: usize = 60;

/// Whether every case is run.
pub fn is_complete() -> bool {
    std::env::var("PRIVATEER_FAULTS").is_ok_and(|which| which == "all")
}

/// A command whose file operations fail one by one.
pub struct Campaign {
    pub name: &'static str,
    /// Files before the command.
    pub before: TempDir,
    /// Where they were made: sessions read their points there.
    prepared: TempDir,
    /// The command.
    pub words: Vec<&'static str>,
    /// Whether SQLite's operations fail, and not the program's own.
    pub is_of_database: bool,
    /// A file outside of the copies that is put back before each run.
    pub put_back: Option<(PathBuf, Vec<u8>)>,
}

/// How a run with a fault ended.
pub struct Faulted {
    /// A copy of the files, after the run.
    pub folder: TempDir,
    pub output: Output,
    /// What to say where something is wrong.
    pub case: String,
}

impl Faulted {
    /// Whether the process was killed by the fault.
    pub fn killed(&self) -> bool {
        self.output.status.signal().is_some()
    }

    pub fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a command without faults, which must end with one of these codes.
    pub fn then(&self, words: &[&str], codes: &[i32]) -> Output {
        let output = privateer(self.folder.path(), words, None).output().expect("the program starts");
        assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{}: {words:?}: {}", self.case, said(&output));
        output
    }
}

impl Campaign {
    pub fn new(name: &'static str, words: &[&'static str], prepare: impl FnOnce(&Path)) -> Self {
        let prepared = tempfile::tempdir().expect("a folder");
        prepare(prepared.path());
        let before = copy(prepared.path());
        // Deployments know where they stand: a copy is taken for one that has moved once nothing stands there.
        for (name, bytes) in files(prepared.path()) {
            if bytes.starts_with(b"SQLite format 3") {
                fs::remove_file(prepared.path().join(name)).expect("removed");
            }
        }
        // The places are those of the copy from now on.
        Self { name, before, words: words.to_vec(), is_of_database: false, put_back: None, prepared }
    }

    /// The folder in which the files were made.
    pub fn prepared(&self) -> &Path {
        self.prepared.path()
    }

    /// The same command, whose operations on a database fail.
    pub fn on_database(self) -> Self {
        Self { is_of_database: true, ..self }
    }

    /// The command with a fault, or with a list of its operations.
    fn faulty(&self, folder: &Path, fault: Option<&str>, log: Option<&Path>) -> Command {
        if let Some((path, bytes)) = &self.put_back {
            fs::write(path, bytes).expect("written");
        }
        if !self.is_of_database {
            let mut command = privateer(folder, &self.words, fault);
            log.map(|log| command.env("PRIVATEER_FAULT_LOG", log));
            return command;
        }
        let mut command = privateer(folder, &self.words, None);
        command.env("LD_PRELOAD", super::shim::library());
        fault.map(|fault| command.env("SHIM_FAULT", fault));
        log.map(|log| command.env("SHIM_LOG", log));
        command
    }

    /// Files after the command without a fault.
    pub fn reference(&self) -> TempDir {
        let folder = copy(self.before.path());
        fine(folder.path(), &self.words);
        folder
    }

    /// Runs the command once for each sampled kind of fault and operation, and hands every outcome to `check`.
    pub fn run(&self, check: impl Fn(&Faulted)) {
        let counted = copy(self.before.path());
        let log = counted.path().join("operations.log");
        let output = self.faulty(counted.path(), None, Some(&log)).output().expect("started");
        assert!(output.status.success(), "{}: {}", self.name, said(&output));
        let operations = fs::read_to_string(&log).expect("operations");
        let operations: Vec<&str> = operations.lines().collect();
        let cases: Vec<(usize, &str)> = (1..=operations.len())
            .flat_map(|at| KINDS.map(|kind| (at, kind)))
            // A kill in the middle of what is no write is a plain kill.
            .filter(|(at, kind)| *kind != "torn" || operations[at - 1].contains(" Write "))
            .collect();
        let step = if is_complete() || cases.len() <= SMALL { 1 } else { SAMPLED };
        let mut n_run = 0;
        // A prime step meets every kind; each campaign begins elsewhere.
        for (at, kind) in cases.iter().copied().skip(self.name.len() % step).step_by(step) {
            let folder = copy(self.before.path());
            let fault = format!("{kind}@{at}");
            let output = self.faulty(folder.path(), Some(&fault), None).output().expect("started");
            let case = format!("{}: {fault} ({})", self.name, operations[at - 1]);
            let faulted = Faulted { folder, output, case };
            always(&faulted);
            check(&faulted);
            n_run += 1;
        }
        println!("{}: {} operations, {} cases, {n_run} run", self.name, operations.len(), cases.len());
    }
}

/// What holds after every fault.
fn always(faulted: &Faulted) {
    let text = said(&faulted.output);
    assert!(!text.contains("panicked"), "{}: {text}", faulted.case);
    // A refused operation is no mistake of the user and no corruption.
    assert!(faulted.killed() || [Some(0), Some(4)].contains(&faulted.code()), "{}: {text}", faulted.case);
    assert!(!text.contains("computed again") && !text.contains("not the file that was written"), "{}: {text}", faulted.case);
}

/// The program on one thread, so that operations come in one order.
pub fn privateer(folder: &Path, words: &[&str], fault: Option<&str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_privateer"));
    command.current_dir(folder).args(words).env("RAYON_NUM_THREADS", "1").env_remove("PRIVATEER_DATA");
    command.env_remove("PRIVATEER_FAULT").env_remove("PRIVATEER_FAULT_LOG");
    if let Some(fault) = fault {
        command.env("PRIVATEER_FAULT", fault);
    }
    command
}

pub fn fine(folder: &Path, words: &[&str]) -> Output {
    let output = privateer(folder, words, None).output().expect("the program starts");
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    output
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// All files below a folder, by their relative names.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                walk(root, &entry, found);
            } else {
                let name = entry.strip_prefix(root).expect("below").to_string_lossy().into_owned();
                found.insert(name, fs::read(&entry).expect("a file"));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, folder, &mut found);
    found
}

/// The first column of the first row of a deployment; 0 where there is none, or none that was begun.
pub fn counted(folder: &Path, name: &str, sql: &str) -> i64 {
    if !folder.join(name).exists() {
        return 0;
    }
    let database = rusqlite::Connection::open(folder.join(name)).expect("a file");
    let tables: i64 = database.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).expect("a database");
    if tables == 0 { 0 } else { database.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|why| panic!("{sql}: {why}")) }
}

/// Whether a command says that what was asked for is kept: the last step of a commit may fail after it.
pub fn says_kept(faulted: &Faulted) -> bool {
    faulted.code() == Some(0) || said(&faulted.output).contains("is kept, and counts")
}

/// Fails where a file of ours is left unfinished.
pub fn assert_tidy(faulted: &Faulted) {
    let names: Vec<String> = files(faulted.folder.path()).into_keys().collect();
    let left: Vec<&String> = names.iter().filter(|name| name.contains(".privateer-")).collect();
    assert!(left.is_empty(), "{}: {left:?}", faulted.case);
}

/// The outcome of a command without a fault, to plant something wrong in.
pub fn sound(campaign: &Campaign) -> Faulted {
    let folder = copy(campaign.before.path());
    let output = fine(folder.path(), &campaign.words);
    Faulted { folder, output, case: "planted".to_owned() }
}

fn copy(from: &Path) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files(from) {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, bytes).expect("copied");
    }
    folder
}
