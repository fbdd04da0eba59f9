//! Answers of a data holder as they arrive: with a seal that fits, each told once, from the newest file alone.

use super::anchor::Ticket;
use super::columns::Column;
use super::file::{DeploymentFile, Side};
use super::people::read_key;
use super::seal::{self, Seal};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::input::Input;
use privateer_privacy::odometer::ReleaseLoss;
use privateer_privacy::release::HolderRelease;
use privateer_results::record::is_sealed;
use std::path::Path;

/// A reward as it arrives.
pub enum Reward {
    /// As it was observed; one far outside of the clip is taken only where `yes` is true.
    Raw {
        /// The reward.
        value: f64,
        /// Whether a reward far outside of the clip is taken.
        yes: bool,
    },
    /// As the data holder released it, with a seal that was checked.
    Released(Box<HolderRelease>),
}

/// Returns the column of a data holder's answers and the name of the answer; refuses one that was told before, or that comes from an
/// older copy of the holder's file.
pub(super) fn received_column(file: &DeploymentFile, own: &Column, answer: &HolderRelease) -> Result<(Column, Seal), Error> {
    let (Some(name), Some(newest)) = (seal::bytes(&answer.name), seal::bytes(&answer.newest.1)) else {
        return Diagnostic::new(format!("the answer `{}` of `{}` has no name as answers have", answer.name, answer.source))
            .expected("an answer as `privateer release` gives it out")
            .refuse();
    };
    if file.knows(name)? {
        return Diagnostic::new(format!("the answer `{}` of `{}` was told before", answer.name, answer.source))
            .expected("an answer with a name of its own, as `privateer release` gives out")
            .hint("ask the data holder for a round of its own: each answer is told once, to one session of a file")
            .refuse();
    }
    let newest = Ticket { number: answer.newest.0, name: newest };
    let is_older = |known: &Ticket| newest.number < known.number || newest.number == known.number && newest.name != known.name;
    if let Some(known) = file.newest_of(&answer.source)?.filter(is_older) {
        return Diagnostic::new(format!(
            "the answer comes from an older copy of the data holder's file: that had made {} answers, and {} are known here",
            newest.number, known.number
        ))
        .hint("the data holder goes on with the newest file: what the older copy spends, the other has spent already")
        .refuse();
    }
    file.set_newest_of(&answer.source, newest)?;
    let known = file.columns(Side::Own)?.into_iter().find(|column| column.source == answer.source);
    let column = match known {
        Some(column) => column,
        None => {
            let mut column = Column {
                source: answer.source.clone(),
                name: answer.column.clone(),
                is_own: false,
                odometer: None,
                n: 0,
                ..own.clone()
            };
            if let Some(ReleaseLoss::Value { column: measured, .. }) = column.spend.as_mut().map(|spend| &mut spend.loss) {
                measured.clone_from(&answer.column);
            }
            column.number = file.add_column(Side::Own, &column, None::<&()>)?;
            column
        }
    };
    Ok((column, name))
}

/// Reads a file that `privateer release` wrote; `-` is standard input.
///
/// # Errors
/// As [`received_text`], and a file that cannot be read.
pub fn received(path: &str, key: Option<&Path>) -> Result<Reward, Error> {
    let input = Input::small("released value", "the line that `privateer release` printed");
    let bytes = if path == "-" {
        input.read_stream(Path::new("standard input"), std::io::stdin())?
    } else {
        input.read(Path::new(path))?
    };
    // Bytes that are not text fit no seal.
    received_text(path, String::from_utf8_lossy(&bytes).into_owned(), key)
}

/// Reads the line that `privateer release` printed; `path` names it in messages.
///
/// # Errors
/// A text that is no answer, or whose seal does not fit; a key that cannot be read.
pub fn received_text(path: &str, mut text: String, key: Option<&Path>) -> Result<Reward, Error> {
    let key = key.map(read_key).transpose()?;
    // What was pasted may have lost its line end.
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let read: HolderRelease = serde_json::from_str(&text).map_err(|source| {
        // The parser's own words would repeat what may be a raw value.
        let (line, column) = (source.line(), source.column());
        Diagnostic::new(format!("`{path}` is not a released value (line {line}, column {column})"))
            .expected("the line that `privateer release` printed")
            .hint("with `--released` the last argument names a file, or `-` for standard input")
            .error()
    })?;
    if !is_sealed(&text, key.as_deref()) {
        return Diagnostic::new(format!("`{path}` is not what `privateer release` printed: its seal does not fit"))
            .expected(if key.is_some() { "an answer sealed with the key of `--key`" } else { "the line as it was printed" })
            .hint(
                "ask the data holder for the answer again: it costs nothing; an answer that was sealed with a key needs `--key`",
            )
            .refuse();
    }
    Ok(Reward::Released(Box::new(read)))
}
