//! `privateer init`, `ask`, `tell`, `undo`: one policy over points, whose rewards somebody observes elsewhere; one state file.

use super::deployment::{Account, AnswerName, BudgetArgs, Deployment, statement};
use super::odometer::refuse_large_delta;
use super::output::{note, say, say_removed};
use super::source::SpecArgs;
use super::wait::WaitArgs;
use crate::engine::{Preparation, Session};
use crate::env::DataFolder;
use crate::record::{StateFile, StateKind, is_sealed};
use crate::registry::Registry;
use crate::spec::Sweep;
use clap::Args;
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error};
use privateer_config::input::Input;
use privateer_privacy::Guarantee;
use privateer_privacy::odometer::{DeploymentForm, Odometer, Spend};
use privateer_privacy::release::HolderRelease;
use std::io::{BufRead, IsTerminal, Read};
use std::path::{Path, PathBuf};

/// Arguments of `privateer init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The state file to write
    #[arg(value_name = "STATE")]
    state: PathBuf,
    /// A spec with one policy over `points-table` (TOML)
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    /// Who adds the noise, and so who sees raw rewards: `trusted-curator` (`tell` takes raw rewards) or `data-holder` (`tell --released`
    /// takes what `privateer release` gave out)
    #[arg(long, value_name = "NAME", default_value = "trusted-curator", value_parser = form)]
    form: DeploymentForm,
    /// What the rewards measure: answers about one record add up over all columns
    #[arg(long, value_name = "NAME", default_value = "reward")]
    column: String,
    /// Accept a delta of at least one over the number of rows
    #[arg(long)]
    allow_large_delta: bool,
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    source: SpecArgs,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

/// Arguments of `privateer ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The state file
    #[arg(value_name = "STATE")]
    state: PathBuf,
    /// Print the best row so far, by posterior mean, instead of the next
    #[arg(long)]
    best: bool,
    /// As JSON, with the round
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    moved: MovedArgs,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

/// States where the files of a session are, if they have moved.
#[derive(Debug, Args)]
pub struct MovedArgs {
    /// Folder of the points file, if it has moved
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The shared odometer, if it has moved
    #[arg(long, value_name = "FILE")]
    odometer: Option<PathBuf>,
}

/// Arguments of `privateer tell`.
#[derive(Debug, Args)]
pub struct TellArgs {
    /// The state file
    #[arg(value_name = "STATE")]
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
    moved: MovedArgs,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

/// Arguments of `privateer undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The state file
    #[arg(value_name = "STATE")]
    state: PathBuf,
    /// Folder of the points file, if it has moved
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    pub(super) wait: WaitArgs,
}

/// Starts a session.
///
/// # Errors
/// Whatever the spec or its points refuse; a state file that is there already.
pub fn init(registry: &Registry, args: &InitArgs) -> Result<(), Error> {
    let (sweep, data) = (args.source.read(registry, &args.spec)?, args.source.data());
    let backend = Cpu::default();
    let session = Session::start(&sweep, &Preparation::new(&sweep, &data, &backend))?;
    let folder = data.absolute()?;
    let ledger = session.ledger(args.form);
    let ((n, fingerprint), (_, rounds)) = (session.points(), session.progress());
    let limit = args.budget.stated()?.0.and_then(|budget| budget.delta).map_or(0.0, privateer_privacy::Delta::get);
    refuse_large_delta(ledger.delta.max(limit), n as u64, args.allow_large_delta)?;
    if args.form == DeploymentForm::DataHolder && args.budget.odometer().is_some() {
        return Err(Error::input(
            Diagnostic::new("`--odometer` is given to a session of the form `data-holder`")
                .expected("`--odometer` on the data holder's side, with `privateer release`")
                .hint("whoever releases the values spends: counted here too, each answer would count twice"),
        ));
    }
    if args.form == DeploymentForm::DataHolder && !session.releases_rewards() {
        let problem =
            format!("mechanism `{}` releases sums over users, which a data holder cannot release one by one", ledger.mechanism);
        return Err(Error::input(
            Diagnostic::new(problem)
                .expected("a policy that learns from rewards one by one, as `tgp-ucb` does")
                .hint("sums over users need the form `trusted-curator`"),
        ));
    }
    let spend = session.spend(args.form, "", &args.column, 0);
    let deployment = Deployment::start(&args.budget, args.form, &args.column, spend.as_ref(), Some(n as u64))?;
    let spent = deployment.filter.map(|filter| own(filter, &deployment, n)).transpose()?;
    let content = serde_json::json!({
        "spec": { "name": args.spec.display().to_string(), "text": sweep.resolved },
        "data": folder.display().to_string(),
        "ledger": ledger,
        "deployment": deployment,
        "spent": spent.map(|own| statement(&deployment, &own)),
        "session": session.save(),
    });
    say_removed(StateFile::create(&args.state, StateKind::Session, content)?);
    note(&format!(
        "{n} rows (fingerprint {fingerprint}), {rounds} rounds; `privateer ask {}` names the first row",
        args.state.display()
    ));
    note(&match (&ledger.guarantee, args.form) {
        (Guarantee::NotPrivate, _) => "rewards are kept as they are told: no reward mechanism protects them".to_owned(),
        _ if session.holds_raw() => format!(
            "rewards enter running sums, and the policy sees these with exact noise of `{}` alone ({}); {} holds the sums without it: \
             keep it as secret as the rewards",
            ledger.mechanism,
            ledger.claimed,
            args.state.display()
        ),
        (_, DeploymentForm::DataHolder) => format!(
            "the data holder passes rewards through `{}` ({}) with `privateer release`; this session takes released values alone",
            ledger.mechanism, ledger.claimed
        ),
        (_, DeploymentForm::TrustedCurator) => format!(
            "rewards pass `{}` with fresh exact noise when they are told ({}); only what is released is kept; whoever runs `tell` sees them",
            ledger.mechanism, ledger.claimed
        ),
    });
    if let Some(filter) = deployment.filter {
        let budget = match (&deployment.budget, &args.budget.odometer()) {
            (_, Some(path)) => format!("the budget of the odometer `{}`", path.display()),
            (Some(budget), None) => format!("a budget of {budget} for each row"),
            (None, None) => "no budget: a row that is asked for again spends the same again, and nothing stops it".to_owned(),
        };
        note(&format!("answers about one row add up by the filter `{filter}`, under {budget}"));
        note(&deployment.about_copies());
    }
    Ok(())
}

fn form(text: &str) -> Result<DeploymentForm, String> {
    text.parse()
}

/// Returns the account of a session that has spent nothing.
fn own(filter: privateer_privacy::odometer::FilterKind, deployment: &Deployment, n: usize) -> Result<Odometer, Error> {
    Odometer::new(filter, deployment.budget, Some(n as u64)).map_err(|why| super::deployment::bad_budget(&why))
}

/// Prints the next row.
///
/// # Errors
/// A file that is no session, changed points, or a session that is over.
pub fn ask(registry: &Registry, args: &AskArgs) -> Result<(), Error> {
    let mut open = OpenSession::of(registry, &args.state, args.moved.data.as_deref())?;
    with_session(&mut open, |session, file| {
        let (told, rounds) = session.progress();
        let row = if args.best {
            session.best().ok_or_else(|| {
                Error::input(if told == 0 {
                    Diagnostic::new("nothing is told so far, so no row is the best").hint("ask without `--best`")
                } else {
                    Diagnostic::new("no row is the best: the model's means are no numbers")
                        .hint("the scales leave the range of f64: check `ridge`, `clip` and the reward's unit")
                })
            })?
        } else {
            let before = session.save();
            let row = session.ask()?;
            // A row that may not be answered is not asked for.
            if let Some((account, spend)) = account(session, file, row, &args.moved)? {
                account.check(&spend).map_err(|why| stopped(why, &args.state))?;
            }
            if session.save() != before {
                file.replace("session", session.save())?;
            }
            row
        };
        say(&if args.json {
            let round = if args.best { told } else { told + 1 };
            serde_json::json!({ "row": row, "round": round, "rounds": rounds, "best": args.best }).to_string()
        } else {
            row.to_string()
        });
        Ok(())
    })
}

/// Takes a reward.
///
/// # Errors
/// A wrong row, a reward told twice or not finite; a file that is no session.
pub fn tell(registry: &Registry, args: &TellArgs) -> Result<(), Error> {
    let answer = if args.released {
        Answer::Released(received(&args.reward, key(args.key.as_deref())?.as_deref())?)
    } else {
        Answer::Raw(number("reward", &args.reward)?)
    };
    let mut open = OpenSession::of(registry, &args.state, args.moved.data.as_deref())?;
    with_session(&mut open, |session, file| {
        let form = Deployment::read(file)?.form;
        match (&answer, form) {
            (Answer::Raw(reward), DeploymentForm::TrustedCurator) => {
                session.check_reward(args.row, *reward)?;
                refuse_far("reward", *reward, session.ledger(form).clip, args.yes)?;
            }
            (Answer::Released(value), DeploymentForm::DataHolder) => {
                session.check_received(args.row, value)?;
            }
            (Answer::Raw(_), DeploymentForm::DataHolder) => {
                return Err(Error::input(
                    Diagnostic::new("a raw reward is told to a session of the form `data-holder`")
                        .expected("`--released` with the file that the data holder's `privateer release` wrote")
                        .hint("nothing was kept of it; raw rewards are for sessions of the form `trusted-curator`"),
                ));
            }
            (Answer::Released(_), DeploymentForm::TrustedCurator) => {
                return Err(Error::input(
                    Diagnostic::new(
                        "a released value is told to a session of the form `trusted-curator`, which adds the noise itself",
                    )
                    .expected("the raw reward, without `--released`")
                    .hint("start a session for released values with `privateer init --form data-holder`"),
                ));
            }
        }
        let mut paid = account(session, file, args.row, &args.moved)?;
        if let Some((account, spend)) = &mut paid {
            let received = match &answer {
                Answer::Raw(_) => None,
                Answer::Released(HolderRelease { source, name, column, .. }) => {
                    Some(AnswerName { source: source.clone(), name: name.clone(), column: column.clone() })
                }
            };
            account.pay(spend, received, file).map_err(|why| stopped(why, &args.state))?;
        }
        let told = match &answer {
            Answer::Raw(reward) => session.tell(args.row, *reward)?,
            Answer::Released(value) => session.tell_received(args.row, value)?,
        };
        // Saved before anything is printed: noise that was seen is never drawn again.
        match &paid {
            Some((account, _)) => account.keep(file, "session", session.save())?,
            None => file.replace("session", session.save())?,
        }
        let (round, rounds) = session.progress();
        if args.json {
            say(&serde_json::json!({ "row": told.row, "released": told.released, "round": round, "rounds": rounds }).to_string());
        } else {
            note(&format!("round {round} of {rounds} is told"));
            if let Some((account, _)) = &paid {
                let odometer = account.odometer();
                note(&format!("row {} has spent {}", args.row, odometer.words(odometer.counted(args.row as u64))));
            }
        }
        Ok(())
    })
}

/// Takes back the last reward of a session without a mechanism.
///
/// # Errors
/// A session whose rewards were released, or without a reward; a file that is no session.
pub fn undo(registry: &Registry, args: &UndoArgs) -> Result<(), Error> {
    let mut open = OpenSession::of(registry, &args.state, args.data.as_deref())?;
    let backend = Cpu::default();
    let preparation = Preparation::new(&open.sweep, &open.data, &backend);
    let mut session = Session::undo(&open.sweep, &preparation, open.file.get("session"))?;
    open.file.replace("session", session.save())?;
    let (told, _) = session.progress();
    note(&format!("round {} is taken back: row {} is asked for again", told + 1, session.ask()?));
    Ok(())
}

/// A reward as it arrives.
enum Answer {
    Raw(f64),
    Released(HolderRelease),
}

/// Reads what `privateer release` wrote; `-` is standard input.
fn received(path: &str, key: Option<&[u8]>) -> Result<HolderRelease, Error> {
    let input = Input::small("released value", "the line that `privateer release` printed");
    let bytes = if path == "-" {
        input.read_stream(Path::new("standard input"), std::io::stdin())?
    } else {
        input.read(Path::new(path))?
    };
    // Bytes that are not text fit no seal.
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    // What was pasted may have lost its line end.
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let read: HolderRelease = serde_json::from_str(&text).map_err(|source| {
        // The parser's own words would repeat what may be a raw value.
        let (line, column) = (source.line(), source.column());
        Error::input(
            Diagnostic::new(format!("`{path}` is not a released value (line {line}, column {column})"))
                .expected("the line that `privateer release` printed")
                .hint("with `--released` the last argument names a file, or `-` for standard input"),
        )
    })?;
    if !is_sealed(&text, key) {
        return Err(Error::input(
            Diagnostic::new(format!("`{path}` is not what `privateer release` printed: its seal does not fit"))
                .expected(if key.is_some() { "an answer sealed with the key of `--key`" } else { "the line as it was printed" })
                .hint("ask the data holder for the answer again: it costs nothing; an answer that was sealed with a key needs `--key`"),
        ));
    }
    Ok(read)
}

/// Least length of a key, in bytes.
const LEAST_KEY: usize = 16;

/// Reads the key of `--key`: every byte of the file.
///
/// # Errors
/// A file that cannot be read, or that is too short to be a key.
pub fn key(path: Option<&Path>) -> Result<Option<Vec<u8>>, Error> {
    let Some(path) = path else { return Ok(None) };
    let key = Input::small("key", "a file of random bytes, as `head -c 32 /dev/urandom` writes them").read(path)?;
    if key.len() < LEAST_KEY {
        let problem = Diagnostic::new(format!("the key in `{}` has {} bytes", path.display(), key.len()));
        return Err(Error::input(problem.expected(format!("at least {LEAST_KEY}, as `head -c 32 /dev/urandom` writes them"))));
    }
    Ok(Some(key))
}

/// Returns the account of a private session, and what an answer about `row` takes.
fn account(session: &Session, file: &mut StateFile, row: usize, moved: &MovedArgs) -> Result<Option<(Account, Spend)>, Error> {
    let deployment = Deployment::read(file)?;
    let spend = |row: usize| session.spend(deployment.form, &deployment.id, &deployment.column, row);
    let Some(next) = spend(row) else { return Ok(None) };
    let spends: Vec<Spend> = session.told().iter().filter_map(|told| spend(told.row as usize)).collect();
    let (n, _) = session.points();
    Ok(Account::open(file, &spends, Some(n as u64), moved.odometer.as_deref())?.map(|account| (account, next)))
}

/// Says how a session that reached its budget ends.
fn stopped(why: Error, state: &Path) -> Error {
    match why {
        Error::CheckSaidNo(message) => Error::CheckSaidNo(format!(
            "{message}\nhint: the session stops here; `privateer ask {} --best` names the best row so far",
            state.display()
        )),
        other => other,
    }
}

/// Values that lie more than this many widths of the clip outside of it are taken for slips.
const FAR: f64 = 100.0;

/// Refuses a value that is most likely a slip, unless `yes` says that it is meant: what it spends is spent for good.
///
/// # Errors
/// A value far outside of the clip; it is not repeated.
pub fn refuse_far(what: &str, value: f64, clip: Option<[f64; 2]>, yes: bool) -> Result<(), Error> {
    let Some([low, high]) = clip else { return Ok(()) };
    let widths = (low - value).max(value - high) / FAR;
    if yes || widths <= high - low {
        return Ok(());
    }
    Err(Error::input(
        Diagnostic::new(format!(
            "the {what}, which is not shown, lies more than {FAR} times the width of the clip outside of it"
        ))
        .expected(format!("a {what} near {low} to {high}, the clip"))
        .hint("nothing was spent; `--yes` takes it, clipped, and what that spends cannot be taken back"),
    ))
}

/// Most bytes of a number on standard input.
const MOST_DIGITS: u64 = 1024;

/// Reads a number from the command line or, for `-`, from standard input; `what` names it in messages.
///
/// # Errors
/// A text that is not a number; text from standard input may be raw data, and is not repeated.
pub fn number(what: &str, text: &str) -> Result<f64, Error> {
    let mut line = String::new();
    let (text, shown) = if text == "-" {
        let mut input = std::io::stdin().lock().take(MOST_DIGITS + 1);
        // Whoever types a value ends it with the line; what a program writes is read to its end.
        let read = if std::io::stdin().is_terminal() { input.read_line(&mut line) } else { input.read_to_string(&mut line) };
        read.map_err(|source| Error::io(format!("read the {what}"), "standard input", source))?;
        if MOST_DIGITS < line.len() as u64 || 1 < line.split_whitespace().count() {
            return Err(Error::input(
                Diagnostic::new(format!("standard input holds more than the {what}"))
                    .expected("one number, and nothing but blanks after it")
                    .hint("nothing was taken of it"),
            ));
        }
        (line.trim(), "on standard input, which is not shown,".to_owned())
    } else {
        (text.trim(), format!("`{}`", text.trim()))
    };
    text.parse::<f64>().map_err(|_| {
        Error::input(
            Diagnostic::new(format!("the {what} {shown} is not a number")).expected("a finite number, as in `0.25` or `-3e2`"),
        )
    })
}

/// An open session file with the spec and the folder that it names.
struct OpenSession {
    file: StateFile,
    sweep: Sweep,
    data: DataFolder,
}

impl OpenSession {
    fn of(registry: &Registry, path: &Path, data: Option<&Path>) -> Result<Self, Error> {
        let file = StateFile::open(path, StateKind::Session)?;
        say_removed(file.removed());
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let (Some(name), Some(spec), Some(folder)) =
            (text(&file.get("spec")["name"]), text(&file.get("spec")["text"]), text(file.get("data")))
        else {
            return Err(Error::Corrupt {
                path: path.to_owned(),
                problem: "does not say which spec and which data it belongs to".to_owned(),
                hint: "restore the file from a copy".to_owned(),
            });
        };
        let sweep = Sweep::parse_with(registry, &name, &spec, &[])?;
        Ok(Self { file, sweep, data: DataFolder::new(Some(data.map_or_else(|| PathBuf::from(folder), Path::to_owned))) })
    }
}

fn with_session(
    open: &mut OpenSession,
    act: impl FnOnce(&mut Session, &mut StateFile) -> Result<(), Error>,
) -> Result<(), Error> {
    let backend = Cpu::default();
    let preparation = Preparation::new(&open.sweep, &open.data, &backend);
    let mut session = Session::restore(&open.sweep, &preparation, open.file.get("session"))?;
    act(&mut session, &mut open.file)
}
