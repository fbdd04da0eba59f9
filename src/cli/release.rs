//! `privateer release`: the data holder's side of a session. One value leaves with exact noise, once for each record and round.

use super::deployment::{Account, AnswerName, BudgetArgs, Deployment, statement};
use super::output::{note, say, say_removed};
use super::wait::WaitArgs;
use crate::record::{StateFile, StateKind, seal_text};
use crate::registry::MECHANISMS;
use clap::Args;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{DeploymentForm, Odometer, Spend};
use privateer_privacy::release::{ChannelRelease, HolderRelease, ReleaseError};
use privateer_privacy::{Budget, Calibration, Channel, Ledger, Query, Raw, Request, RewardFacts};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Arguments of `privateer release`.
#[derive(Debug, Args)]
pub struct ReleaseArgs {
    /// Mechanism of every value: laplace, duchi, piecewise, hybrid, randomised-response, gaussian; stated once, with the first value
    #[arg(long, value_name = "NAME")]
    mechanism: Option<String>,
    /// Privacy loss of one answer
    #[arg(long, allow_negative_numbers = true, value_name = "E")]
    epsilon: Option<f64>,
    /// Failure probability of one answer, for `gaussian`
    #[arg(long, allow_negative_numbers = true, value_name = "D")]
    delta: Option<f64>,
    /// Public range to which values are clipped, never taken from the values themselves
    #[arg(long, value_name = "LO,HI", allow_hyphen_values = true)]
    clip: Option<String>,
    /// The state file: what was released, and what each record has spent; the first value makes it
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    /// The round in which the session asks for the record (`privateer ask --json` names it)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    round: u64,
    /// What the values measure: answers about one record add up over all columns [default: reward]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Accept a delta of 0.001 or more, in the answer or in the budget
    #[arg(long)]
    allow_large_delta: bool,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
    /// Seal the answer with the key in this file, which whoever runs `tell` has too: forged answers are refused there
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Take a value that lies far outside of the clip: it spends as any other. Stated always, an exit code says nothing of a value
    #[arg(long)]
    yes: bool,
    /// The record, counted from 0
    #[arg(value_name = "ROW")]
    row: u64,
    /// Its value; `-` reads it from standard input, where other users of the machine do not see it
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
}

/// Deltas from here on are refused where the number of records is not known: a table of a thousand records would release one.
const LARGE_DELTA: f64 = 1e-3;

/// Holds what all releases of a state file share: mechanism, budget and clip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Declaration {
    mechanism: String,
    epsilon: f64,
    delta: Option<f64>,
    clip: [f64; 2],
    column: String,
}

/// A value that was released; its name stands at the same place among those of the deployment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct StoredAnswer {
    row: u64,
    round: u64,
    released: f64,
}

/// Releases one value, or gives out the one that was released for this record and round before.
///
/// # Errors
/// Options that the state does not declare, a value that is not finite, a budget that is spent, no entropy; those of the files.
pub fn release(args: &ReleaseArgs) -> Result<(), Error> {
    let value = super::session::number("value", &args.value)?;
    if !value.is_finite() {
        // Refused before the state is read: whether it would be clipped says nothing then.
        return Err(Error::input(
            Diagnostic::new(format!("the value of record {} is {value}", args.row))
                .expected("a finite number, in units of `--clip`"),
        ));
    }
    let key = super::session::key(args.key.as_deref())?;
    if args.state.symlink_metadata().is_err() {
        begin(args)?;
    }
    let mut file = StateFile::open(&args.state, StateKind::Releases)?;
    say_removed(file.removed());
    let (declaration, mut answers) = contents(&file)?;
    args.agree_with(&declaration)?;
    let channel = channel_of(&declaration)?;
    let ledger = ledger_of(&channel);
    let id = Deployment::read(&file)?.id;
    let spend = |row: u64| Spend::of_answer(&ledger, &id, &declaration.column, row);
    let spends: Vec<Spend> = answers.iter().filter_map(|answer| spend(answer.row)).collect();
    let moved = args.budget.odometer().map(Path::to_owned);
    let (Some(mut account), Some(next)) = (Account::open(&mut file, &spends, None, moved.as_deref())?, spend(args.row)) else {
        return Err(damaged(&file));
    };
    if let Some(path) = args.budget.odometer()
        && account.deployment.odometer.is_none()
    {
        return Err(differs("--odometer", &path.display().to_string(), "none"));
    }
    if let (Some(stated), _) = args.budget.stated()?
        && account.deployment.budget != Some(stated)
    {
        return Err(differs(
            "--budget",
            &stated.to_string(),
            &account.deployment.budget.map_or("none".to_owned(), |b| b.to_string()),
        ));
    }
    if let (_, Some(stated)) = args.budget.stated()?
        && account.deployment.filter != Some(stated)
    {
        return Err(differs("--filter", &stated.to_string(), &account.own.filter().to_string()));
    }
    let known = answers.iter().position(|answer| answer.row == args.row && answer.round == args.round);
    let at = if let Some(known) = known {
        note(&format!(
            "record {} was released for round {} before: the stored value is printed again, and nothing is spent",
            args.row, args.round
        ));
        known
    } else {
        super::session::refuse_far("value", value, Some(declaration.clip), args.yes)?;
        let mut mechanism = ChannelRelease::of(&channel).map_err(|why| failed(&why))?;
        account.pay(&next, None, &mut file)?;
        let released = mechanism.release(&Query::default(), Raw::seal(value)).map_err(|why| failed(&why))?;
        let Some(released) = released.reward() else { return Err(damaged(&file)) };
        answers.push(StoredAnswer { row: args.row, round: args.round, released });
        // On the disk before it leaves: spend and answer in one write.
        account.keep(&mut file, "answers", serde_json::json!(answers))?;
        answers.len() - 1
    };
    let (Some(answer), Some(AnswerName { name, .. })) = (answers.get(at), account.deployment.answers.get(at)) else {
        return Err(damaged(&file));
    };
    let odometer = account.odometer();
    note(&format!(
        "record {} has spent {}{}",
        args.row,
        odometer.words(odometer.counted(args.row)),
        odometer.budget().map_or(String::new(), |budget| format!(" of {budget}"))
    ));
    let Declaration { mechanism, epsilon, delta, clip, column } = declaration;
    let text = HolderRelease {
        format: HolderRelease::FORMAT.to_owned(),
        version: HolderRelease::VERSION,
        source: id,
        name: name.clone(),
        row: answer.row,
        round: answer.round,
        column,
        released: answer.released,
        mechanism,
        epsilon,
        delta: delta.unwrap_or(0.0),
        clip,
    };
    let mut text = serde_json::json!(text);
    text["ledger"] = serde_json::json!(ledger);
    say(seal_text(&text.to_string(), key.as_deref()).trim_end());
    Ok(())
}

/// Writes a state that has released nothing.
fn begin(args: &ReleaseArgs) -> Result<(), Error> {
    let missing = |option: &str, expected: &str| {
        Error::input(
            Diagnostic::new(format!("`{option}` is not stated, and `{}` is a new state", args.state.display()))
                .expected(expected.to_owned()),
        )
    };
    let mechanism = args.mechanism.clone().ok_or_else(|| missing("--mechanism", "a mechanism, as in `--mechanism hybrid`"))?;
    let epsilon = args.epsilon.ok_or_else(|| missing("--epsilon", "the privacy loss of one answer, as in `--epsilon 2`"))?;
    let clip = args.clip.as_deref().ok_or_else(|| missing("--clip", "the public range of values, as in `--clip 0,1`"))?;
    let (lo, hi) = super::account::range(clip)?;
    let column = args.column.clone().unwrap_or_else(|| "reward".to_owned());
    let declaration = Declaration { mechanism, epsilon, delta: args.delta, clip: [lo, hi], column };
    let channel = channel_of(&declaration)?;
    let ledger = ledger_of(&channel);
    let limit = args.budget.stated()?.0.and_then(|budget| budget.delta).map_or(0.0, privateer_privacy::Delta::get);
    let delta = args.delta.unwrap_or(0.0).max(limit);
    if LARGE_DELTA <= delta && !args.allow_large_delta {
        return Err(Error::input(
            Diagnostic::new(format!("delta = {delta} allows a record in {:.0} to be released unchanged", 1.0 / delta))
                .expected(format!("a delta below {LARGE_DELTA}, and far below one over the number of records"))
                .hint("state a smaller delta; `--allow-large-delta` takes this one"),
        ));
    }
    // Found out before anything is written.
    ChannelRelease::of(&channel).map_err(|why| failed(&why))?;
    let spend = Spend::of_answer(&ledger, "", &declaration.column, args.row);
    if let (Some(stated), Some(spend)) = (args.delta.filter(|delta| 0.0 < *delta), &spend)
        && spend.delta == 0.0
    {
        let problem = Diagnostic::new(format!("`--delta` is {stated}, and answers of `{}` are pure", declaration.mechanism));
        return Err(Error::input(problem.expected("no `--delta`: the session that takes the answers declares none")));
    }
    let deployment = Deployment::start(&args.budget, DeploymentForm::DataHolder, &declaration.column, spend.as_ref(), None)?;
    let Some(filter) = deployment.filter else { return Ok(()) };
    let own = Odometer::new(filter, deployment.budget, None).map_err(|why| super::deployment::bad_budget(&why))?;
    let content = serde_json::json!({
        "declaration": declaration,
        "ledger": ledger,
        "deployment": deployment,
        "spent": statement(&deployment, &own),
        "answers": [],
    });
    say_removed(StateFile::create(&args.state, StateKind::Releases, content)?);
    note(&format!(
        "values leave through `{}` with fresh exact noise ({}), clipped to [{lo}, {hi}], which is public on your word; {} stays with you",
        ledger.mechanism,
        ledger.claimed,
        args.state.display()
    ));
    note(&deployment.about_copies());
    Ok(())
}

/// Calibrates the declared mechanism.
fn channel_of(declaration: &Declaration) -> Result<Channel, Error> {
    let Some(entry) = MECHANISMS.iter().find(|entry| entry.name == declaration.mechanism && entry.name != "none") else {
        let names: Vec<&str> = MECHANISMS.iter().map(|entry| entry.name).filter(|name| *name != "none").collect();
        return Err(Error::input(
            Diagnostic::new(format!("`--mechanism` is `{}`", declaration.mechanism))
                .expected(format!("one of {}", names.join(", "))),
        ));
    };
    let [lo, hi] = declaration.clip;
    let request = Request {
        mechanism: entry.name,
        calibration: Calibration::Tight,
        budget: Budget::new(Some(declaration.epsilon), declaration.delta).map_err(|refusal| super::price::placed(&refusal))?,
        clip: Some((lo, hi)),
    };
    let facts = RewardFacts { bound: lo.abs().max(hi.abs()), noise_bound: None, range: None, noise_variance: None, rounds: 1 };
    (entry.build)(&request, &facts).map(Channel::Rewards).map_err(|refusal| super::price::placed(&refusal))
}

/// Returns the ledger of one answer.
fn ledger_of(channel: &Channel) -> Ledger {
    let mut ledger = channel.ledger();
    DeploymentForm::DataHolder.state_in(&mut ledger);
    ledger
}

/// Returns what a state file declares and what it has released.
fn contents(file: &StateFile) -> Result<(Declaration, Vec<StoredAnswer>), Error> {
    let declaration = serde_json::from_value(file.get("declaration").clone());
    let answers = serde_json::from_value(file.get("answers").clone());
    match (declaration, answers) {
        (Ok(declaration), Ok(answers)) => Ok((declaration, answers)),
        _ => Err(damaged(file)),
    }
}

fn damaged(file: &StateFile) -> Error {
    Error::Corrupt {
        path: file.path().to_owned(),
        problem: "does not say what it declares and what it has released".to_owned(),
        hint: "restore the file from a copy".to_owned(),
    }
}

impl ReleaseArgs {
    /// Fails where an option is stated and is not what the state declares.
    fn agree_with(&self, declared: &Declaration) -> Result<(), Error> {
        if let Some(mechanism) = self.mechanism.as_ref().filter(|name| **name != declared.mechanism) {
            return Err(differs("--mechanism", mechanism, &declared.mechanism));
        }
        if let Some(epsilon) = self.epsilon.filter(|epsilon| *epsilon != declared.epsilon) {
            return Err(differs("--epsilon", &epsilon.to_string(), &declared.epsilon.to_string()));
        }
        if let Some(delta) = self.delta.filter(|delta| Some(*delta) != declared.delta) {
            let declared = declared.delta.map_or("none".to_owned(), |delta| delta.to_string());
            return Err(differs("--delta", &delta.to_string(), &declared));
        }
        if let Some(clip) = &self.clip
            && super::account::range(clip)? != (declared.clip[0], declared.clip[1])
        {
            return Err(differs("--clip", clip, &format!("{},{}", declared.clip[0], declared.clip[1])));
        }
        if let Some(column) = self.column.as_ref().filter(|column| **column != declared.column) {
            return Err(differs("--column", column, &declared.column));
        }
        Ok(())
    }
}

fn differs(option: &str, stated: &str, declared: &str) -> Error {
    Error::input(
        Diagnostic::new(format!("`{option}` is {stated}, and the state was begun with {declared}"))
            .hint("leave the option out, or begin another state; a shared `--odometer` counts both"),
    )
}

fn failed(why: &ReleaseError) -> Error {
    match why {
        ReleaseError::NoEntropy(_) => {
            Error::Failed { problem: why.to_string(), hint: "try again once the system gives entropy".to_owned() }
        }
        _ => Error::input(Diagnostic::new(why.to_string()).hint("nothing was released")),
    }
}
