//! Running the real program, and comparing what it says with stored texts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Set to `1`, stored texts are written anew instead of compared.
const UPDATE: &str = "PRIVATEER_UPDATE";

/// The program, in a folder, with nothing of the caller's environment that could change its words.
pub fn privateer(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_privateer"));
    command.current_dir(folder).env_remove("PRIVATEER_DATA").env("COLUMNS", "100").env("NO_COLOR", "1");
    // Without it, software drivers write to standard error.
    command.env("XDG_RUNTIME_DIR", std::env::temp_dir());
    command
}

/// A temporary folder, for as long as it is held.
pub struct Folder(tempfile::TempDir);

impl std::ops::Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        self.0.path()
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        self
    }
}

/// Makes a temporary folder.
pub fn folder() -> Folder {
    Folder(tempfile::tempdir().expect("a folder"))
}

/// Makes a temporary folder with this spec, `spec.toml`.
pub fn folder_with(spec: &str) -> Folder {
    let folder = folder();
    fs::write(folder.join("spec.toml"), spec).expect("the spec");
    folder
}

/// Fails unless the program refused, with all of these words among what it said.
pub fn refused((code, said): (Option<i32>, String), words: &[&str]) {
    assert!(code == Some(2) && words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
}

/// Runs the program with these words.
pub fn run(folder: &Path, words: &[&str]) -> Output {
    privateer(folder).args(words).output().expect("the program starts")
}

/// The words of a command line.
pub fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
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

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Fails without this exit code and all of these words on standard error.
pub fn ends(output: &Output, expected: i32, texts: &[&str]) {
    let said = stderr(output);
    assert_eq!(code(output), Some(expected), "{said}");
    for text in texts {
        assert!(said.contains(text), "no `{text}` in: {said}");
    }
}

/// Where test data lies.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data")
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

/// Fails with all differences.
pub fn assert_none(differences: &[String]) {
    assert!(differences.is_empty(), "{} texts changed\n\n{}\n", differences.len(), differences.join("\n\n"));
}
