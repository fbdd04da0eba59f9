//! Running the real program, and comparing what it says with stored texts.

pub use crate::problems::{CURATE, Files, LAPLACE, assert_same_files, files, listed, results, spec, walk};
use privateer::env::DataFolder;
use rusqlite::Connection;
use rusqlite::types::FromSql;
pub use rusqlite::types::Value as Cell;
pub use serde_json::Value;
pub use std::collections::{BTreeMap, BTreeSet};
pub use std::fs;
use std::io::Write;
pub use std::path::{Path, PathBuf};
use std::process::Stdio;
pub use std::process::{Child, Command, Output};

/// Set to `1`, stored texts are written anew instead of compared.
const UPDATE: &str = "PRIVATEER_UPDATE";

/// The program, in a folder, with nothing of the caller's environment that could change its words.
pub fn privateer(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_privateer"));
    command.current_dir(folder).env_remove("PRIVATEER_DATA").env("COLUMNS", "100").env("NO_COLOR", "1");
    // Without it, software drivers write to standard error.
    command.env("XDG_RUNTIME_DIR", std::env::temp_dir()).env("XDG_CACHE_HOME", folder.join("cache"));
    command
}

/// A temporary folder in which the program is run, for as long as it is held.
pub struct Folder(tempfile::TempDir);

impl std::ops::Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

impl Folder {
    /// Writes a file, and makes the folders that it lies in.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, content).expect("written");
    }

    pub fn table(&self, name: &str, columns: &str, rows: impl IntoIterator<Item = String>) {
        let rows: String = rows.into_iter().map(|row| row + "\n").collect();
        self.write(name, format!("{columns}\n{rows}"));
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    pub fn json(&self, name: &str) -> Value {
        json(&self.text(name))
    }

    pub fn copy(&self, from: &str, to: &str) {
        fs::copy(self.join(from), self.join(to)).expect("copied");
    }

    pub fn rename(&self, from: &str, to: &str) {
        fs::rename(self.join(from), self.join(to)).expect("renamed");
    }

    pub fn remove(&self, name: &str) {
        fs::remove_file(self.join(name)).expect("removed");
    }

    pub fn holds(&self, name: &str) -> bool {
        self.join(name).exists()
    }

    pub fn data(&self) -> DataFolder {
        DataFolder::new(Some(self.to_path_buf()))
    }

    pub fn run(&self, words: &[&str]) -> Output {
        run(self, words)
    }

    /// Starts a command whose output is collected.
    pub fn start(&self, words: &[&str]) -> Child {
        let mut command = privateer(self);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    /// Runs a command with this text on its standard input.
    pub fn run_with(&self, words: &[&str], input: &str) -> Output {
        let mut command = privateer(self);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // A command that refuses before it has read its input, or has read enough, closes its end.
        drop(child.stdin.take().expect("an input").write_all(input.as_bytes()));
        child.wait_with_output().expect("the program ends")
    }

    /// Runs a line of bash in which `privateer` is the program.
    pub fn shell(&self, line: &str) -> Output {
        println!("{line}");
        let programs = Path::new(env!("CARGO_BIN_EXE_privateer")).parent().expect("a folder");
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("bash");
        command.args(["-c", line]).current_dir(&**self).env("PATH", path).env("COLUMNS", "100").output().expect("bash starts")
    }

    /// Runs a command that must end with this exit code and all of these texts on standard error.
    pub fn ends(&self, words: &[&str], expected: i32, texts: &[&str]) -> Output {
        let output = self.run(words);
        println!("{words:?}");
        ends(&output, expected, texts);
        output
    }

    pub fn fine(&self, words: &[&str]) -> String {
        stdout(&self.ends(words, 0, &[]))
    }

    pub fn fine_json(&self, words: &[&str]) -> Value {
        json(&self.fine(words))
    }

    /// Runs a command that must be refused: exit code 2, and a message with all of these texts and with advice.
    pub fn refused(&self, words: &[&str], texts: &[&str]) {
        let said = stderr(&self.ends(words, 2, texts));
        assert!(said.contains("hint") || said.contains("expected"), "{words:?}: {said}");
    }

    pub fn ask(&self, state: &str) -> String {
        self.fine(&["ask", state]).trim().to_owned()
    }

    /// Tells a session the reward of the row that it asks for; returns the row.
    pub fn answer(&self, state: &str, reward: &str) -> String {
        let row = self.ask(state);
        self.fine(&["tell", state, &row, reward]);
        row
    }

    pub fn database(&self, name: &str) -> Connection {
        Connection::open(self.join(name)).expect("a database")
    }

    pub fn one<T: FromSql>(&self, name: &str, sql: &str) -> T {
        self.database(name).query_row(sql, [], |row| row.get(0)).unwrap_or_else(|why| panic!("{sql}: {why}"))
    }

    pub fn all<T: FromSql>(&self, name: &str, sql: &str) -> Vec<T> {
        let database = self.database(name);
        let mut statement = database.prepare(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
        let rows = statement.query_map([], |row| row.get(0)).expect("rows");
        rows.collect::<Result<_, _>>().unwrap_or_else(|why| panic!("{sql}: {why}"))
    }

    /// Changes a deployment behind the program's back.
    pub fn alter(&self, name: &str, sql: &str) {
        self.database(name).execute_batch(sql).unwrap_or_else(|why| panic!("{sql}: {why}"));
    }

    /// Everything that a deployment holds but where it stands: each table with its rows.
    pub fn content(&self, name: &str) -> Vec<(String, Vec<Vec<Cell>>)> {
        let tables: Vec<String> =
            self.all(name, "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'deployment' ORDER BY name");
        let database = self.database(name);
        let rows = |table: String| {
            let mut statement = database.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).expect("a table");
            let n = statement.column_count();
            let rows = statement.query_map([], |row| (0..n).map(|at| row.get(at)).collect()).expect("rows");
            (table, rows.collect::<Result<_, _>>().expect("rows"))
        };
        tables.into_iter().map(rows).collect()
    }

    /// Whether a number is stored anywhere in a file, as SQLite stores it.
    pub fn holds_number(&self, name: &str, number: f64) -> bool {
        let (bytes, text) = (self.bytes(name), number.to_string());
        bytes.windows(8).any(|eight| eight == number.to_be_bytes())
            || bytes.windows(text.len()).any(|found| found == text.as_bytes())
    }
}

#[cfg(unix)]
pub fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().expect("kill starts").success());
}

pub fn folder() -> Folder {
    Folder(tempfile::tempdir().expect("a folder"))
}

pub fn folder_with(spec: &str) -> Folder {
    let folder = folder();
    folder.write("spec.toml", spec);
    folder
}

/// Runs `spec.toml` into the folder `out`.
pub const RUN: [&str; 5] = ["run", "spec.toml", "--out", "out", "--quiet"];

pub fn finished(spec: &str) -> Folder {
    let folder = folder_with(spec);
    folder.fine(&RUN);
    folder
}

/// The command `CURATE` with other values after these words; words that it lacks are added, alone where their value is empty.
pub fn curate_with<'a>(changes: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    let mut words: Vec<&str> = CURATE.to_vec();
    for &(word, value) in changes {
        match words.iter().position(|known| *known == word) {
            Some(at) => words[at + 1] = value,
            None => words.extend([word, value].into_iter().filter(|word| !word.is_empty())),
        }
    }
    words
}

/// The place of a row on a circle of radius 2.
pub fn place(row: usize) -> [f64; 2] {
    [2.0 * libm::cos(row as f64 * 0.1), 2.0 * libm::sin(row as f64 * 0.1)]
}

pub fn outcome(row: usize) -> String {
    libm::cos(row as f64 * 0.1 - 2.0).to_string()
}

/// A folder with a table of 60 rows, their places and outcomes.
pub fn with_table() -> Folder {
    let folder = folder();
    let row = |i: usize| format!("p{i},{},{},7.5,{}", place(i)[0], place(i)[1], outcome(i));
    folder.table("data.csv", "name,x,y,same,outcome", (0..60).map(row));
    folder
}

pub fn curated() -> Folder {
    let folder = with_table();
    folder.fine(&CURATE);
    folder
}

pub fn numbers(released_inputs: &str) -> Vec<f64> {
    released_inputs.lines().skip(1).flat_map(|line| line.split(',').map(|x| x.parse().expect("a number"))).collect()
}

pub fn session(folder: &Folder, privacy: &str, policy: &str) {
    spec(folder, privacy, policy);
    folder.fine(&["init", "state", "modeler.toml"]);
}

pub fn run(folder: &Path, words: &[&str]) -> Output {
    privateer(folder).args(words).output().expect("the program starts")
}

pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Fails unless its owner alone can read and write a file, where the system tells.
pub fn assert_private(file: &Path) {
    let found = fs::metadata(file).expect("a file");
    assert!(found.is_file(), "{}", file.display());
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o777, 0o600, "{}", file.display());
}

/// The exit code; a program that a signal ended has none.
pub fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

pub fn exit(output: &Output) -> String {
    code(output).map_or_else(|| "by a signal".to_owned(), |code| code.to_string())
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Fails without this exit code and all of these words on standard error, and where the program panicked.
pub fn ends(output: &Output, expected: i32, texts: &[&str]) {
    let said = stderr(output);
    assert!(code(output) == Some(expected) && !said.contains("panicked"), "{:?}, not {expected}: {said}", code(output));
    for text in texts {
        assert!(said.contains(text), "no `{text}` in: {said}");
    }
}

pub fn answer(page: &str) -> &str {
    page.split("<p class=\"answer\">").nth(1).and_then(|rest| rest.split("</p>").next()).expect("an answer")
}

/// The rows of a CSV text, by the names of its columns.
pub fn csv_rows(text: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().collect::<Result<_, _>>().expect("CSV")
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn page(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

pub fn data() -> PathBuf {
    root().join("tests/it/data")
}

pub fn assert_current(stored: &Path, found: &str) {
    assert_none(&difference(stored, found).into_iter().collect::<Vec<_>>());
}

/// `None` where the stored text is `found`; else the first difference and how to accept it.
pub fn difference(stored: &Path, found: &str) -> Option<String> {
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        fs::write(stored, found).expect("the stored text can be written");
        return None;
    }
    let expected = fs::read_to_string(stored).unwrap_or_default();
    if expected == found {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let shown =
        |lines: &[&str], sign: &str| lines.iter().skip(same).take(12).map(|line| format!("{sign} {line}\n")).collect::<String>();
    Some(format!(
        "{}, from line {}:\n{}{}to accept: {UPDATE}=1 cargo test --test it",
        stored.display(),
        same + 1,
        shown(&old, "-"),
        shown(&new, "+")
    ))
}

pub fn assert_none(differences: &[String]) {
    assert!(differences.is_empty(), "{} texts changed\n\n{}\n", differences.len(), differences.join("\n\n"));
}
