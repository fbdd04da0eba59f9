//! What commands print: results on standard output, notes on standard error.

use crate::report::Outcome;
use console::{Style, Term, colors_enabled};
use privateer_config::error::{Error, printable};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Why something could not be printed, for the exit code.
static UNPRINTED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints bytes to stdout; a closed pipe (`| head`) is not an error, anything else is one at the end.
pub(super) fn print(bytes: &[u8]) {
    let mut out = io::stdout();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            UNPRINTED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        _ => {}
    }
}

pub(super) fn printed() -> Result<(), Error> {
    match UNPRINTED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        None => Ok(()),
        Some(source) => {
            Err(Error::failed(format!("cannot print: {source}"), "what the command did stands; print where there is space"))
        }
    }
}

/// Prints to stdout; see [`print`].
pub(super) fn say(text: &str) {
    print(format!("{}\n", printable(text.trim_end_matches('\n'))).as_bytes());
}

/// Prints the table of a report, as wide as the terminal, and its answer.
pub(super) fn say_report(report: &Outcome, all: bool) {
    let width = Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    say_styled(&report.table(width, all), &Style::new());
    say_answer(report);
}

/// Prints the answer of a report, after what makes it false, and where the page is.
pub(super) fn say_answer(report: &Outcome) {
    report.warnings.iter().for_each(|line| say_styled(line, &Style::new().red().bold()));
    say_styled(&report.answer.join(" "), &Style::new().bold());
    say(&format!("report: {}", report.report_path.display()));
}

/// Prints to stdout with marks in colour, on a terminal that shows colours and where `NO_COLOR` is unset.
fn say_styled(text: &str, style: &Style) {
    if !colors_enabled() {
        return say(text);
    }
    let mark = |style: Style, mark: &str| style.apply_to(mark).to_string();
    let paint = |line: &str| {
        let line = style.apply_to(printable(line)).to_string();
        line.replace('★', &mark(Style::new().green().bold(), "★")).replace('†', &mark(Style::new().red().bold(), "†"))
    };
    print(format!("{}\n", text.trim_end_matches('\n').lines().map(paint).collect::<Vec<_>>().join("\n")).as_bytes());
}

/// Prints to stderr; a closed pipe (`2>&1 | head`) is not an error.
pub(super) fn note(text: &str) {
    drop(writeln!(io::stderr(), "{}", printable(text.trim_end_matches('\n'))));
}

/// Quotes a word for a POSIX shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
