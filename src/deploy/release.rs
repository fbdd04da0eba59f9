//! The data holder's side of a session. One value leaves with exact noise, once for each record and round.

use super::deployment::{Account, AnswerName, BudgetOptions, Deployment, bad_budget, statement};
use super::notes::{Note, say_removed};
use super::price::placed;
use super::session::{read_key, refuse_far};
use crate::record::{StateFile, StateKind, seal_text};
use crate::registry::MECHANISMS;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{DeploymentForm, Odometer, Spend};
use privateer_privacy::release::{ChannelRelease, HolderRelease, ReleaseError};
use privateer_privacy::{Budget, Calibration, Channel, Ledger, Query, Raw, Request, RewardFacts};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The terms of a release state: each field is the option of `privateer release` of its name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReleaseOptions {
    pub mechanism: Option<String>,
    pub epsilon: Option<f64>,
    pub delta: Option<f64>,
    pub clip: Option<(f64, f64)>,
    pub column: Option<String>,
    pub allow_large_delta: bool,
    pub budget: BudgetOptions,
    pub key: Option<PathBuf>,
}

/// A raw value of a record (from 0) for a round (from 1); `yes` takes one far outside of the clip.
pub struct RecordValue {
    pub row: u64,
    pub round: u64,
    pub value: f64,
    pub yes: bool,
}

/// An answer for a session of the form `data-holder`.
#[derive(Debug, Serialize)]
pub struct SealedAnswer {
    /// The released value with what it states.
    #[serde(flatten)]
    pub answer: HolderRelease,
    /// The ledger of the answer.
    pub ledger: Ledger,
    /// Both as one line of JSON with a seal, which shows every change: what may be sent or stored.
    #[serde(skip)]
    pub text: String,
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
pub fn release(state: &Path, record: &RecordValue, options: &ReleaseOptions, note: Note<'_>) -> Result<SealedAnswer, Error> {
    let &RecordValue { row, round, value, yes } = record;
    if !value.is_finite() {
        // Refused before the state is read: whether it would be clipped says nothing then.
        return Err(Error::input(
            Diagnostic::new(format!("the value of record {row} is {value}")).expected("a finite number, in units of `--clip`"),
        ));
    }
    if round == 0 {
        return Err(Error::input(Diagnostic::new(format!("the round of record {row} is 0")).expected("a round from 1")));
    }
    let key = read_key(options.key.as_deref())?;
    if state.symlink_metadata().is_err() {
        // A slip leaves no state with a clip that cannot be changed.
        refuse_far("value", value, options.clip.map(|(lo, hi)| [lo, hi]), yes)?;
        begin(state, row, options, note)?;
    }
    let mut file = StateFile::open(state, StateKind::Releases)?;
    say_removed(file.removed(), note);
    let (declaration, mut answers) = contents(&file)?;
    options.agree_with(&declaration)?;
    let channel = channel_of(&declaration)?;
    let ledger = ledger_of(&channel);
    let id = Deployment::read(&file)?.id;
    let spend = |row: u64| Spend::of_answer(&ledger, &id, &declaration.column, row);
    let spends: Vec<Spend> = answers.iter().filter_map(|answer| spend(answer.row)).collect();
    let BudgetOptions { budget, filter, odometer } = &options.budget;
    let account = Account::open(&mut file, &spends, None, odometer.as_deref(), note)?;
    let (Some(mut account), Some(next)) = (account, spend(row)) else {
        return Err(damaged(&file));
    };
    let declared = &account.deployment;
    if let (Some(path), None) = (odometer, &declared.odometer) {
        return Err(differs("--odometer", &path.display().to_string(), "none"));
    }
    if let Some(stated) = budget.filter(|stated| declared.budget != Some(*stated)) {
        let declared = declared.budget.map_or("none".to_owned(), |budget| budget.to_string());
        return Err(differs("--budget", &stated.to_string(), &declared));
    }
    if let Some(stated) = filter.filter(|stated| declared.filter != Some(*stated)) {
        return Err(differs("--filter", &stated.to_string(), &account.own.filter().to_string()));
    }
    let known = answers.iter().position(|answer| answer.row == row && answer.round == round);
    let at = if let Some(known) = known {
        note(&format!(
            "record {row} was released for round {round} before: the stored value is printed again, and nothing is spent"
        ));
        known
    } else {
        refuse_far("value", value, Some(declaration.clip), yes)?;
        let mut mechanism = ChannelRelease::of(&channel).map_err(|why| failed(&why))?;
        account.pay(&next, None, &mut file)?;
        let released = mechanism.release(&Query::default(), Raw::seal(value)).map_err(|why| failed(&why))?;
        let Some(released) = released.reward() else { return Err(damaged(&file)) };
        answers.push(StoredAnswer { row, round, released });
        // On the disk before it leaves: spend and answer in one write.
        account.keep(&mut file, "answers", serde_json::json!(answers))?;
        answers.len() - 1
    };
    let (Some(answer), Some(AnswerName { name, .. })) = (answers.get(at), account.deployment.answers.get(at)) else {
        return Err(damaged(&file));
    };
    let odometer = account.odometer();
    note(&format!(
        "record {row} has spent {}{}",
        odometer.words(odometer.counted(row)),
        odometer.budget().map_or(String::new(), |budget| format!(" of {budget}"))
    ));
    let Declaration { mechanism, epsilon, delta, clip, column } = declaration;
    let answer = HolderRelease {
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
    let mut sealed = SealedAnswer { answer, ledger, text: String::new() };
    sealed.text = seal_text(&serde_json::json!(sealed).to_string(), key.as_deref());
    Ok(sealed)
}

/// Writes a state that has released nothing.
fn begin(state: &Path, row: u64, options: &ReleaseOptions, note: Note<'_>) -> Result<(), Error> {
    let missing = |option: &str, expected: &str| {
        Error::input(
            Diagnostic::new(format!("`{option}` is not stated, and `{}` is a new state", state.display()))
                .expected(expected.to_owned()),
        )
    };
    let ReleaseOptions { mechanism, epsilon, delta, clip, column, allow_large_delta, budget, .. } = options;
    let mechanism = mechanism.clone().ok_or_else(|| missing("--mechanism", "a mechanism, as in `--mechanism hybrid`"))?;
    let epsilon = epsilon.ok_or_else(|| missing("--epsilon", "the privacy loss of one answer, as in `--epsilon 2`"))?;
    let (lo, hi) = clip.ok_or_else(|| missing("--clip", "the public range of values, as in `--clip 0,1`"))?;
    let column = column.clone().unwrap_or_else(|| "reward".to_owned());
    let declaration = Declaration { mechanism, epsilon, delta: *delta, clip: [lo, hi], column };
    let channel = channel_of(&declaration)?;
    let ledger = ledger_of(&channel);
    let largest = delta.unwrap_or(0.0).max(budget.delta());
    if LARGE_DELTA <= largest && !allow_large_delta {
        return Err(Error::input(
            Diagnostic::new(format!("delta = {largest} allows a record in {:.0} to be released unchanged", 1.0 / largest))
                .expected(format!("a delta below {LARGE_DELTA}, and far below one over the number of records"))
                .hint("state a smaller delta; `--allow-large-delta` takes this one"),
        ));
    }
    // Found out before anything is written.
    ChannelRelease::of(&channel).map_err(|why| failed(&why))?;
    let spend = Spend::of_answer(&ledger, "", &declaration.column, row);
    if let (Some(stated), Some(spend)) = (delta.filter(|delta| 0.0 < *delta), &spend)
        && spend.delta == 0.0
    {
        let problem = Diagnostic::new(format!("`--delta` is {stated}, and answers of `{}` are pure", declaration.mechanism));
        return Err(Error::input(problem.expected("no `--delta`: the session that takes the answers declares none")));
    }
    let deployment = Deployment::start(budget, DeploymentForm::DataHolder, &declaration.column, spend.as_ref(), None, note)?;
    let Some(filter) = deployment.filter else { return Ok(()) };
    let own = Odometer::new(filter, deployment.budget, None).map_err(|why| bad_budget(&why))?;
    let content = serde_json::json!({
        "declaration": declaration,
        "ledger": ledger,
        "deployment": deployment,
        "spent": statement(&deployment, &own),
        "answers": [],
    });
    say_removed(StateFile::create(state, StateKind::Releases, content)?, note);
    note(&format!(
        "values leave through `{}` with fresh exact noise ({}), clipped to [{lo}, {hi}], which is public on your word; {} stays with you",
        ledger.mechanism,
        ledger.claimed,
        state.display()
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
        budget: Budget::new(Some(declaration.epsilon), declaration.delta).map_err(|refusal| placed(&refusal))?,
        clip: Some((lo, hi)),
    };
    let facts = RewardFacts { bound: lo.abs().max(hi.abs()), noise_bound: None, range: None, noise_variance: None, rounds: 1 };
    (entry.build)(&request, &facts).map(Channel::Rewards).map_err(|refusal| placed(&refusal))
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

impl ReleaseOptions {
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
        if let Some((lo, hi)) = self.clip.filter(|clip| *clip != declared.clip.into()) {
            return Err(differs("--clip", &format!("{lo},{hi}"), &format!("{},{}", declared.clip[0], declared.clip[1])));
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

/// Returns the message for a release that failed.
pub(super) fn failed(why: &ReleaseError) -> Error {
    match why {
        ReleaseError::NoEntropy(_) => {
            Error::Failed { problem: why.to_string(), hint: "try again once the system gives entropy".to_owned() }
        }
        _ => Error::input(Diagnostic::new(why.to_string()).hint("nothing was released")),
    }
}
