//! `privateer init`, `ask`, `tell`, `undo`: one policy over points, whose rewards somebody observes elsewhere.

use super::output::{note, say};
use super::source::SpecArgs;
use super::wait::WaitArgs;
use crate::deploy::{self, Reward, SessionChoice, SessionOptions};
use crate::registry::Registry;
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use std::io::{BufRead, IsTerminal, Read};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct InitArgs {
    /// The deployment to make, or to begin another session in
    #[arg(value_name = "DEPLOYMENT")]
    state: PathBuf,
    /// A spec with one policy over `points-table` (TOML)
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    #[command(flatten)]
    options: SessionOptions,
    #[command(flatten)]
    source: SpecArgs,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

#[derive(Debug, Args)]
pub struct AskArgs {
    /// The deployment
    #[arg(value_name = "DEPLOYMENT")]
    state: PathBuf,
    /// Print the best row so far, by posterior mean, instead of the next
    #[arg(long)]
    best: bool,
    /// As JSON, with the round
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    choice: SessionChoice,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

#[derive(Debug, Args)]
pub struct TellArgs {
    /// The deployment
    #[arg(value_name = "DEPLOYMENT")]
    state: PathBuf,
    /// The row that was asked for, from 0
    #[arg(value_name = "ROW")]
    row: usize,
    /// The reward observed there; `-` reads it from standard input, where other users of the machine do not see it. With `--released`:
    /// the file that `privateer release` wrote
    #[arg(value_name = "REWARD", allow_hyphen_values = true)]
    reward: String,
    /// The reward is what the data holder's `privateer release` gave out: no noise is added, and what it states is checked
    #[arg(long)]
    released: bool,
    /// The file with the key that sealed the answer (`privateer release --key`); answers without its seal are refused
    #[arg(long, value_name = "FILE", requires = "released")]
    key: Option<PathBuf>,
    /// Take a reward that lies far outside of the clip: it spends as any other, and cannot be taken back. Stated always, an exit
    /// code says nothing of a reward
    #[arg(long, conflicts_with = "released")]
    yes: bool,
    /// As JSON, with the reward as it was released
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    choice: SessionChoice,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The deployment
    #[arg(value_name = "DEPLOYMENT")]
    state: PathBuf,
    #[command(flatten)]
    choice: SessionChoice,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

pub fn init(registry: &Registry, args: &InitArgs) -> Result<(), Error> {
    let sweep = args.source.read(registry, &args.spec)?;
    let name = args.spec.display().to_string();
    deploy::init(&args.state, (&name, &sweep), &args.source.data(&args.spec), &args.options, &note)
}

/// Prints the next row, or the best one so far.
pub fn ask(registry: &Registry, args: &AskArgs) -> Result<(), Error> {
    let asked = deploy::ask(registry, &args.state, args.best, &args.choice)?;
    say(&if args.json { serde_json::json!(asked).to_string() } else { asked.row.to_string() });
    Ok(())
}

pub fn tell(registry: &Registry, args: &TellArgs) -> Result<(), Error> {
    let reward = if args.released {
        deploy::received(&args.reward, args.key.as_deref())?
    } else {
        Reward::Raw { value: number("reward", &args.reward)?, yes: args.yes }
    };
    let told = deploy::tell(registry, &args.state, (args.row, &reward), &args.choice)?;
    if args.json {
        say(&serde_json::json!(told).to_string());
        return Ok(());
    }
    note(&format!("round {} of {} is told", told.round, told.rounds));
    if let Some(spent) = told.spent {
        note(&format!("row {} has spent {spent}", args.row));
    }
    Ok(())
}

/// Takes back the last reward of a session without a mechanism.
pub fn undo(registry: &Registry, args: &UndoArgs) -> Result<(), Error> {
    let again = deploy::undo(registry, &args.state, &args.choice)?;
    note(&format!("round {} is taken back: row {} is asked for again", again.round, again.row));
    Ok(())
}

/// Most bytes of a number on standard input.
const MOST_DIGITS: u64 = 1024;

/// Reads a number from the command line or, for `-`, from standard input; `what` names it in messages.
/// A message repeats no text from standard input, which may be raw data.
pub fn number(what: &str, text: &str) -> Result<f64, Error> {
    let mut line = String::new();
    let (text, shown) = if text == "-" {
        let mut input = std::io::stdin().lock().take(MOST_DIGITS + 1);
        // Whoever types a value ends it with the line; what a program writes is read to its end.
        let read = if std::io::stdin().is_terminal() { input.read_line(&mut line) } else { input.read_to_string(&mut line) };
        read.map_err(|source| Error::io(format!("read the {what}"), "standard input", source))?;
        if MOST_DIGITS < line.len() as u64 || 1 < line.split_whitespace().count() {
            return Diagnostic::new(format!("standard input holds more than the {what}"))
                .expected("one number, and nothing but blanks after it")
                .hint("nothing was taken of it")
                .refuse();
        }
        (line.trim(), "on standard input, which is not shown,".to_owned())
    } else {
        (text.trim(), format!("`{}`", text.trim()))
    };
    text.parse::<f64>().map_err(|_| {
        Diagnostic::new(format!("the {what} {shown} is not a number")).expected("a finite number, as in `0.25` or `-3e2`").error()
    })
}
