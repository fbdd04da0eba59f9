//! Checks this build against files of reference numbers, inputs and outputs in one JSON file each (`tests/cases`).
//!
//! Run: `cargo run --release --example conformance -- FILE…`. Prints what was checked and the largest error per file, and
//! "not yet" for sections that nothing here computes. Exits 0 if all that was checked agrees; 1 beyond the tolerance, on
//! a file of unknown kind and where nothing in a file was checked; 2 if a file cannot be read or none is named.

mod check;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("error: no file given\nhint: cargo run --release --example conformance -- tests/cases/bo/kernels.json");
        return ExitCode::from(2);
    }
    // The worst file decides, after every one had its turn.
    ExitCode::from(files.iter().map(|file| report(file)).max().unwrap_or(UNREADABLE))
}

const DISAGREES: u8 = 1;
const UNREADABLE: u8 = 2;

/// Checks one file, prints what came of it, returns the exit code that it asks for.
fn report(file: &str) -> u8 {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("error: cannot read `{file}`: {error}\nhint: check the path");
            return UNREADABLE;
        }
    };
    let value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(error) => {
            eprintln!("error: `{file}` is not JSON: {error}\nhint: fetch the file again");
            return UNREADABLE;
        }
    };
    let Some(kind) = check::recognise(&value) else {
        let known: Vec<&str> = check::KINDS.iter().map(|kind| kind.name).collect();
        eprintln!("error: `{file}` is of no known kind\nhint: known kinds are {}", known.join(", "));
        return DISAGREES;
    };
    let outcome = kind.check(&value);
    let mut lines = vec![format!("{file}: {}", kind.name)];
    let sections = outcome.checked.iter();
    lines.extend(sections.map(|s| format!("  {}: {} numbers, largest error {:.1e}", s.name, s.numbers, s.largest_error)));
    lines.extend(outcome.not_yet.iter().map(|section| format!("  not yet: {section}")));
    lines.extend(outcome.failures.iter().map(|failure| format!("  FAILED {failure}")));
    lines.push(format!("  largest error {:.1e}\n", outcome.largest_error()));
    // A reader who has seen enough may close the pipe; the exit code still tells.
    let _ = std::io::stdout().write_all(lines.join("\n").as_bytes());
    if outcome.checked.is_empty() {
        eprintln!("error: nothing in `{file}` was checked");
    }
    if outcome.agrees() { 0 } else { DISAGREES }
}
