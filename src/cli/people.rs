//! `privateer people`: who is in a deployment that names records by ids.

use super::output::note;
use super::wait::WaitArgs;
use crate::deploy::people as change;
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use privateer_config::input::Input;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct PeopleArgs {
    /// The deployment
    #[arg(value_name = "DEPLOYMENT")]
    state: PathBuf,
    /// Take this person in, or back; `@FILE` reads one id a line
    #[arg(long, value_name = "ID", num_args = 1..)]
    join: Vec<String>,
    /// Let this person go: nothing is released of them any more, and what they have spent stays; `@FILE` reads one id a line
    #[arg(long, value_name = "ID", num_args = 1..)]
    leave: Vec<String>,
    /// The file with the key of the ids, where the deployment holds keyed hashes alone
    #[arg(long, value_name = "FILE")]
    id_key: Option<PathBuf>,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

/// Takes people in and lets people go, all of them or none.
pub fn people(args: &PeopleArgs) -> Result<(), Error> {
    let (join, leave) = (ids(&args.join)?, ids(&args.leave)?);
    if join.is_empty() && leave.is_empty() {
        return Diagnostic::new("nobody is named")
            .expected("`--join ID…` or `--leave ID…`, or `@FILE` with one id a line")
            .refuse();
    }
    let (joined, left) = change(&args.state, &join, &leave, args.id_key.as_deref())?;
    let known = (join.len() + leave.len()) as u64 - joined - left;
    let rest = if known == 0 { String::new() } else { format!("; {known} were as asked already") };
    note(&format!("{joined} joined, {left} left{rest}"));
    Ok(())
}

fn ids(named: &[String]) -> Result<Vec<String>, Error> {
    let mut all = Vec::new();
    for name in named {
        match name.strip_prefix('@') {
            None => all.push(name.clone()),
            Some(path) => {
                let text = Input::small("list of ids", "one id a line").read_text(Path::new(path))?;
                all.extend(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
            }
        }
    }
    Ok(all)
}
