//! A session: one policy over points, whose rewards somebody observes elsewhere; one state file.

use super::deployment::{Account, AnswerName, BudgetOptions, Deployment, bad_budget, statement};
use super::notes::{Note, say_removed};
use super::odometer::refuse_large_delta;
use crate::engine::{Preparation, Session};
use crate::env::DataFolder;
use crate::record::{StateFile, StateKind, is_sealed};
use crate::registry::Registry;
use crate::spec::Sweep;
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error};
use privateer_config::input::Input;
use privateer_privacy::odometer::{DeploymentForm, FilterKind, Odometer, Spend};
use privateer_privacy::release::HolderRelease;
use privateer_privacy::{Guarantee, Unit};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The terms of a new session, each the option of `privateer init` of its name.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionOptions {
    pub form: DeploymentForm,
    pub column: String,
    pub allow_large_delta: bool,
    pub budget: BudgetOptions,
}

/// States where the points file and the shared odometer of a session are, if they have moved.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MovedFiles {
    pub data: Option<PathBuf>,
    pub odometer: Option<PathBuf>,
}

/// The row that a session names, from 0; `round` counts from 1, for the best row the told rounds.
#[derive(Debug, Serialize)]
pub struct AskedRow {
    pub row: usize,
    pub round: u64,
    pub rounds: u64,
    pub best: bool,
}

/// A reward that was told; `released` is `None` where sums over users are released.
#[derive(Debug, Serialize)]
pub struct ToldRow {
    pub row: u64,
    pub released: Option<f64>,
    pub round: u64,
    pub rounds: u64,
    /// What the row has spent, in words.
    #[serde(skip)]
    pub spent: Option<String>,
}

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
    Released(HolderRelease),
}

/// Starts a session.
///
/// # Errors
/// Whatever the spec or its points refuse; a state file that is there already.
pub fn init(
    state: &Path,
    (name, sweep): (&str, &Sweep),
    data: &DataFolder,
    options: &SessionOptions,
    note: Note<'_>,
) -> Result<(), Error> {
    let &SessionOptions { form, ref column, allow_large_delta, ref budget } = options;
    let backend = Cpu::default();
    let session = Session::start(sweep, &Preparation::new(sweep, data, &backend))?;
    let folder = data.absolute()?;
    let ledger = session.ledger(form);
    let ((n, fingerprint), (_, rounds)) = (session.points(), session.progress());
    refuse_large_delta(ledger.delta.max(budget.delta()), n as u64, allow_large_delta)?;
    if form == DeploymentForm::DataHolder && budget.odometer.is_some() {
        return Err(Error::input(
            Diagnostic::new("`--odometer` is given to a session of the form `data-holder`")
                .expected("`--odometer` on the data holder's side, with `privateer release`")
                .hint("whoever releases the values spends: counted here too, each answer would count twice"),
        ));
    }
    if form == DeploymentForm::DataHolder && !session.releases_rewards() {
        let problem =
            format!("mechanism `{}` releases sums over users, which a data holder cannot release one by one", ledger.mechanism);
        return Err(Error::input(
            Diagnostic::new(problem)
                .expected("a policy that learns from rewards one by one, as `tgp-ucb` does")
                .hint("sums over users need the form `trusted-curator`"),
        ));
    }
    let is_counted = budget.budget.is_some() || budget.filter.is_some() || budget.odometer.is_some();
    if is_counted && !session.releases_rewards() && matches!(ledger.threat_model.unit, Unit::Reward) {
        return Err(Error::input(
            Diagnostic::new("a budget counts the answers about a row, and all users of a batch are asked about one row")
                .expected("no `--budget`, `--filter` or `--odometer` for a policy that releases batches")
                .hint("each user is in one batch: the epsilon of one release is that of the whole run"),
        ));
    }
    let spend = session.spend(form, "", column, 0);
    // Nothing else is written before a state that cannot be.
    StateFile::refuse_existing(state, StateKind::Session)?;
    let deployment = Deployment::start(budget, form, column, spend.as_ref(), Some(n as u64), note)?;
    let spent = deployment.filter.map(|filter| own(filter, &deployment, n)).transpose()?;
    let content = serde_json::json!({
        "spec": { "name": name, "text": sweep.resolved },
        "data": folder.display().to_string(),
        "ledger": ledger,
        "deployment": deployment,
        "spent": spent.map(|own| statement(&deployment, &own)),
        "session": session.save(),
    });
    say_removed(StateFile::create(state, StateKind::Session, content)?, note);
    note(&format!(
        "{n} rows (fingerprint {fingerprint}), {rounds} rounds; `privateer ask {}` names the first row",
        state.display()
    ));
    note(&match (&ledger.guarantee, form) {
        (Guarantee::NotPrivate, _) => "rewards are kept as they are told: no reward mechanism protects them".to_owned(),
        _ if session.holds_raw() => format!(
            "rewards enter running sums, and the policy sees these with exact noise of `{}` alone ({}); {} holds the sums without it: \
             keep it as secret as the rewards",
            ledger.mechanism,
            ledger.claimed,
            state.display()
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
        let budget = match (&deployment.budget, &budget.odometer) {
            (_, Some(path)) => format!("the budget of the odometer `{}`", path.display()),
            (Some(budget), None) => format!("a budget of {budget} for each row"),
            (None, None) => "no budget: a row that is asked for again spends the same again, and nothing stops it".to_owned(),
        };
        note(&format!("answers about one row add up by the filter `{filter}`, under {budget}"));
        note(&deployment.about_copies());
    }
    Ok(())
}

/// Returns the account of a session that has spent nothing.
fn own(filter: FilterKind, deployment: &Deployment, n: usize) -> Result<Odometer, Error> {
    Odometer::new(filter, deployment.budget, Some(n as u64)).map_err(|why| bad_budget(&why))
}

/// Returns the row to observe next, or the best row so far by posterior mean.
///
/// # Errors
/// A file that is no session, changed points, a session that is over, a record without budget left.
pub fn ask(registry: &Registry, state: &Path, best: bool, moved: &MovedFiles, note: Note<'_>) -> Result<AskedRow, Error> {
    let mut open = OpenSession::of(registry, state, moved.data.as_deref(), note)?;
    with_session(&mut open, |session, file| {
        let (told, rounds) = session.progress();
        if best {
            let row = session.best().ok_or_else(|| {
                Error::input(if told == 0 {
                    Diagnostic::new("nothing is told so far, so no row is the best").hint("ask without `--best`")
                } else {
                    Diagnostic::new("no row is the best: the model's means are no numbers")
                        .hint("the scales leave the range of f64: check `ridge`, `clip` and the reward's unit")
                })
            })?;
            return Ok(AskedRow { row, round: told, rounds, best });
        }
        let before = session.save();
        let row = session.ask()?;
        // A row that may not be answered is not asked for.
        if let Some((account, spend)) = account(session, file, row, moved, note)? {
            account.check(&spend).map_err(|why| stopped(why, state))?;
        }
        if session.save() != before {
            file.replace("session", session.save())?;
        }
        Ok(AskedRow { row, round: told + 1, rounds, best })
    })
}

/// Takes a reward.
///
/// # Errors
/// A wrong row, a reward told twice or not finite; a file that is no session.
pub fn tell(
    registry: &Registry,
    state: &Path,
    (row, reward): (usize, &Reward),
    moved: &MovedFiles,
    note: Note<'_>,
) -> Result<ToldRow, Error> {
    let mut open = OpenSession::of(registry, state, moved.data.as_deref(), note)?;
    with_session(&mut open, |session, file| {
        let form = Deployment::read(file)?.form;
        match (reward, form) {
            (Reward::Raw { value: reward, yes }, DeploymentForm::TrustedCurator) => {
                session.check_reward(row, *reward)?;
                refuse_far("reward", *reward, session.ledger(form).clip, *yes)?;
            }
            (Reward::Released(value), DeploymentForm::DataHolder) => {
                session.check_received(row, value)?;
            }
            (Reward::Raw { .. }, DeploymentForm::DataHolder) => {
                return Err(Error::input(
                    Diagnostic::new("a raw reward is told to a session of the form `data-holder`")
                        .expected("`--released` with the file that the data holder's `privateer release` wrote")
                        .hint("nothing was kept of it; raw rewards are for sessions of the form `trusted-curator`"),
                ));
            }
            (Reward::Released(_), DeploymentForm::TrustedCurator) => {
                return Err(Error::input(
                    Diagnostic::new(
                        "a released value is told to a session of the form `trusted-curator`, which adds the noise itself",
                    )
                    .expected("the raw reward, without `--released`")
                    .hint("start a session for released values with `privateer init --form data-holder`"),
                ));
            }
        }
        let mut paid = account(session, file, row, moved, note)?;
        if let Some((account, spend)) = &mut paid {
            let received = match reward {
                Reward::Raw { .. } => None,
                Reward::Released(HolderRelease { source, name, column, .. }) => {
                    Some(AnswerName { source: source.clone(), name: name.clone(), column: column.clone() })
                }
            };
            account.pay(spend, received, file).map_err(|why| stopped(why, state))?;
        }
        let told = match reward {
            Reward::Raw { value: reward, .. } => session.tell(row, *reward)?,
            Reward::Released(value) => session.tell_received(row, value)?,
        };
        // Saved before anything is returned: noise that was seen is never drawn again.
        match &paid {
            Some((account, _)) => account.keep(file, "session", session.save())?,
            None => file.replace("session", session.save())?,
        }
        let (round, rounds) = session.progress();
        let spent = paid.as_ref().map(|(account, _)| {
            let odometer = account.odometer();
            odometer.words(odometer.counted(row as u64))
        });
        Ok(ToldRow { row: told.row, released: told.released, round, rounds, spent })
    })
}

/// Takes back the last reward of a session without a mechanism; returns the row asked for again.
///
/// # Errors
/// A session whose rewards were released, or without a reward; a file that is no session.
pub fn undo(registry: &Registry, state: &Path, moved: &MovedFiles, note: Note<'_>) -> Result<AskedRow, Error> {
    let mut open = OpenSession::of(registry, state, moved.data.as_deref(), note)?;
    let backend = Cpu::default();
    let preparation = Preparation::new(&open.sweep, &open.data, &backend);
    let mut session = Session::undo(&open.sweep, &preparation, open.file.get("session"))?;
    open.file.replace("session", session.save())?;
    let (told, rounds) = session.progress();
    Ok(AskedRow { row: session.ask()?, round: told + 1, rounds, best: false })
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
    let key = read_key(key)?;
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
    if !is_sealed(&text, key.as_deref()) {
        return Err(Error::input(
            Diagnostic::new(format!("`{path}` is not what `privateer release` printed: its seal does not fit"))
                .expected(if key.is_some() { "an answer sealed with the key of `--key`" } else { "the line as it was printed" })
                .hint("ask the data holder for the answer again: it costs nothing; an answer that was sealed with a key needs `--key`"),
        ));
    }
    Ok(Reward::Released(read))
}

/// Least length of a key, in bytes.
const LEAST_KEY: usize = 16;

/// Reads the key of a seal: every byte of the file.
///
/// # Errors
/// A file that cannot be read, or that is too short to be a key.
pub(super) fn read_key(path: Option<&Path>) -> Result<Option<Vec<u8>>, Error> {
    let Some(path) = path else { return Ok(None) };
    let key = Input::small("key", "a file of random bytes, as `head -c 32 /dev/urandom` writes them").read(path)?;
    if key.len() < LEAST_KEY {
        let problem = Diagnostic::new(format!("the key in `{}` has {} bytes", path.display(), key.len()));
        return Err(Error::input(problem.expected(format!("at least {LEAST_KEY}, as `head -c 32 /dev/urandom` writes them"))));
    }
    Ok(Some(key))
}

/// Returns the account of a private session, and what an answer about `row` takes.
fn account(
    session: &Session,
    file: &mut StateFile,
    row: usize,
    moved: &MovedFiles,
    note: Note<'_>,
) -> Result<Option<(Account, Spend)>, Error> {
    let deployment = Deployment::read(file)?;
    let spend = |row: usize| session.spend(deployment.form, &deployment.id, &deployment.column, row);
    let Some(next) = spend(row) else { return Ok(None) };
    let spends: Vec<Spend> = session.told().iter().filter_map(|told| spend(told.row as usize)).collect();
    let (n, _) = session.points();
    Ok(Account::open(file, &spends, Some(n as u64), moved.odometer.as_deref(), note)?.map(|account| (account, next)))
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
pub(super) fn refuse_far(what: &str, value: f64, clip: Option<[f64; 2]>, yes: bool) -> Result<(), Error> {
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

/// An open session file with the spec and the folder that it names.
struct OpenSession {
    file: StateFile,
    sweep: Sweep,
    data: DataFolder,
}

impl OpenSession {
    fn of(registry: &Registry, path: &Path, data: Option<&Path>, note: Note<'_>) -> Result<Self, Error> {
        let file = StateFile::open(path, StateKind::Session)?;
        say_removed(file.removed(), note);
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

fn with_session<T>(
    open: &mut OpenSession,
    act: impl FnOnce(&mut Session, &mut StateFile) -> Result<T, Error>,
) -> Result<T, Error> {
    let backend = Cpu::default();
    let preparation = Preparation::new(&open.sweep, &open.data, &backend);
    let mut session = Session::restore(&open.sweep, &preparation, open.file.get("session"))?;
    act(&mut session, &mut open.file)
}
