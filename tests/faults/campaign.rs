//! Running a command with one fault at one operation, and what every such run must keep.

use super::problems::files;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Every kind of fault; `torn` is a kill in the middle of a write.
const KINDS: [&str; 5] = ["kill", "torn", "EIO", "ENOSPC", "EMFILE"];

/// One case of this many is run of a large campaign where not all are asked for.
const SAMPLED: usize = 9;
/// Campaigns of at most this many cases always run whole.
const SMALL: usize = 60;

pub fn is_complete() -> bool {
    std::env::var("PRIVATEER_FAULTS").is_ok_and(|which| which == "all")
}

/// A command whose file operations fail one by one.
pub struct Campaign {
    name: &'static str,
    pub before: TempDir,
    /// Where they were made: sessions read their points there.
    pub prepared: TempDir,
    pub words: Vec<&'static str>,
    /// Whether SQLite's operations fail, and not the program's own.
    is_of_database: bool,
    /// A file outside of the copies that is put back before each run.
    pub put_back: Option<(PathBuf, Vec<u8>)>,
}

/// How a run with a fault ended.
pub struct Faulted {
    /// A copy of the files, after the run.
    pub folder: TempDir,
    pub output: Output,
}

impl Faulted {
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
        let output = privateer(self.folder.path(), words).output().expect("the program starts");
        println!("{words:?}: {}", said(&output));
        assert!(output.status.code().is_some_and(|code| codes.contains(&code)));
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

    pub fn on_database(self) -> Self {
        Self { is_of_database: true, ..self }
    }

    /// The command with a fault, or with a list of its operations.
    fn faulty(&self, folder: &Path, fault: Option<&str>, log: Option<&Path>) -> Command {
        if let Some((path, bytes)) = &self.put_back {
            fs::write(path, bytes).expect("written");
        }
        let mut command = privateer(folder, &self.words);
        let (of_fault, of_log) = if self.is_of_database {
            command.env("LD_PRELOAD", super::shim::library());
            ("SHIM_FAULT", "SHIM_LOG")
        } else {
            ("PRIVATEER_FAULT", "PRIVATEER_FAULT_LOG")
        };
        fault.map(|fault| command.env(of_fault, fault));
        log.map(|log| command.env(of_log, log));
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
            // Where a check fails, the last of these lines name the case.
            println!("{}: {fault} ({}): {}", self.name, operations[at - 1], said(&output));
            let faulted = Faulted { folder, output };
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
    assert!(!text.contains("panicked"), "{text}");
    // A refused operation is no mistake of the user and no corruption.
    assert!(faulted.killed() || [Some(0), Some(4)].contains(&faulted.code()), "{text}");
    assert!(!text.contains("computed again") && !text.contains("not the file that was written"), "{text}");
}

/// The program on one thread, so that operations come in one order.
pub fn privateer(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_privateer"));
    command.current_dir(folder).args(words).env("RAYON_NUM_THREADS", "1").env_remove("PRIVATEER_DATA");
    command.env_remove("PRIVATEER_FAULT").env_remove("PRIVATEER_FAULT_LOG");
    command
}

pub fn fine(folder: &Path, words: &[&str]) -> Output {
    let output = privateer(folder, words).output().expect("the program starts");
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    output
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The row that the session `state` asks for.
pub fn ask(folder: &Path) -> String {
    String::from_utf8_lossy(&fine(folder, &["ask", "state"]).stdout).trim().to_owned()
}

/// A row of the session in the first of these files is told once, whatever fails, and spends from the odometer in the second, if there is one;
/// `told` says after each command whether it was told.
pub fn tells(name: &'static str, files: &[&'static str], prepare: impl FnOnce(&Path), told: impl Fn(&Faulted) -> bool) {
    let more: Vec<&str> = files[1..].iter().flat_map(|&odometer| ["--odometer", odometer]).collect();
    let mut row = String::new();
    let mut campaign = Campaign::new(name, &[], |folder| {
        prepare(folder);
        row = ask(folder);
    })
    .on_database();
    let row: &'static str = row.leak();
    campaign.words = [&["tell", "state", row, "0.125"], &more[..]].concat();
    campaign.run(|faulted| {
        let taken = told(faulted);
        assert!(faulted.killed() || taken == says_kept(faulted));
        let asked = faulted.then(&[&["ask", "state"], &more[..]].concat(), &[0]);
        assert_tidy(faulted);
        if !taken {
            assert_eq!(String::from_utf8_lossy(&asked.stdout).trim(), row);
            faulted.then(&campaign.words, &[0]);
            assert!(told(faulted));
        }
        faulted.then(&[&["ledger"], files].concat(), &[0]);
    });
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

pub fn assert_tidy(faulted: &Faulted) {
    let names: Vec<String> = files(faulted.folder.path()).into_keys().collect();
    let left: Vec<&String> = names.iter().filter(|name| name.contains(".privateer-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The outcome of a command without a fault, to plant something wrong in.
pub fn sound(campaign: &Campaign) -> Faulted {
    let folder = copy(campaign.before.path());
    let output = fine(folder.path(), &campaign.words);
    Faulted { folder, output }
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
