//! Checks this build against files of reference numbers, inputs and outputs in one JSON file each (`tests/cases`).
//!
//! Run: `cargo run --release --example conformance -- FILE…`. Prints what was checked and the largest error per file, and
//! "not yet" for sections that nothing here computes. Exits 0 if all that was checked agrees; 1 beyond the tolerance, on
//! a file of unknown kind and where nothing in a file was checked; 2 if a file cannot be read or none is named.

mod check;

use std::io::Write;
use std::process::ExitCode;

const DISAGREES: u8 = 1;
const UNREADABLE: u8 = 2;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("error: no file given\nhint: cargo run --release --example conformance -- tests/cases/bo/kernels.json");
    }
    // The worst file decides, after every one had its turn.
    ExitCode::from(files.iter().map(|file| report(file)).max().unwrap_or(UNREADABLE))
}

/// Checks one file, prints what came of it, returns the exit code that it asks for.
fn report(file: &str) -> u8 {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
    let value = match text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string())) {
        Ok(value) => value,
        Err(error) => {
            eprintln!("error: cannot read `{file}` as JSON: {error}\nhint: check the path, or fetch the file again");
            return UNREADABLE;
        }
    };
    let Some(kind) = check::recognise(&value) else {
        let known: Vec<&str> = check::KINDS.iter().map(|kind| kind.name).collect();
        eprintln!("error: `{file}` is of no known kind\nhint: known kinds are {}", known.join(", "));
        return DISAGREES;
    };
    let outcome = kind.check(&value);
    // A reader who has seen enough may close the pipe; the exit code still tells.
    let _ = write!(std::io::stdout(), "{file}: {}\n{outcome}", kind.name);
    if outcome.checked.is_empty() {
        eprintln!("error: nothing in `{file}` was checked");
    }
    if outcome.agrees() { 0 } else { DISAGREES }
}
