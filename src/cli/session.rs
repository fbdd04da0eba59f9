//! `privateer init`, `ask`, `tell`, `undo`: one policy over points, whose rewards somebody observes elsewhere; one state file.

use super::commands::{note, say, say_removed};
use super::source::SpecArgs;
use crate::engine::{Preparation, Session};
use crate::env::DataFolder;
use crate::record::StateFile;
use crate::spec::Sweep;
use clap::Args;
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::Guarantee;
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
    #[command(flatten)]
    source: SpecArgs,
}

/// Arguments of `privateer ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// The state file
    #[arg(value_name = "STATE")]
    state: PathBuf,
    /// The best row so far, by posterior mean, in the place of the next
    #[arg(long)]
    best: bool,
    /// As JSON, with the round
    #[arg(long)]
    json: bool,
    /// Folder of the points file, if it has moved
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
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
    /// The reward observed there; `-` reads it from standard input, where other users of the machine do not see it
    #[arg(value_name = "REWARD", allow_hyphen_values = true)]
    reward: String,
    /// As JSON, with the reward as it was released
    #[arg(long)]
    json: bool,
    /// Folder of the points file, if it has moved
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
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
}

/// Starts a session.
///
/// # Errors
/// Whatever the spec or its points refuse; a state file that is there already.
pub fn init(args: &InitArgs) -> Result<(), Error> {
    let (sweep, data) = (args.source.read(&args.spec)?, args.source.data());
    let backend = Cpu::default();
    let session = Session::start(&sweep, &Preparation::new(&sweep, &data, &backend))?;
    let folder = data.absolute()?;
    let content = serde_json::json!({
        "spec": { "name": args.spec.display().to_string(), "text": sweep.resolved },
        "data": folder.display().to_string(),
        "ledger": session.ledger(),
        "session": session.save(),
    });
    say_removed(StateFile::create(&args.state, content)?);
    let ((n, fingerprint), (_, rounds)) = (session.points(), session.progress());
    note(&format!(
        "{n} rows (fingerprint {fingerprint}), {rounds} rounds; `privateer ask {}` names the first row",
        args.state.display()
    ));
    note(&match &session.ledger().guarantee {
        Guarantee::NotPrivate => "rewards are kept as they are told: no reward mechanism protects them".to_owned(),
        _ if session.holds_raw() => format!(
            "rewards enter running sums, and the policy sees these with exact noise of `{}` alone ({}); {} holds the sums without it: \
             keep it as secret as the rewards",
            session.ledger().mechanism,
            session.ledger().claimed,
            args.state.display()
        ),
        _ => format!(
            "rewards pass `{}` with fresh exact noise when they are told ({}); only what is released is kept",
            session.ledger().mechanism,
            session.ledger().claimed
        ),
    });
    Ok(())
}

/// Prints the next row.
///
/// # Errors
/// A file that is no session, changed points, or a session that is over.
pub fn ask(args: &AskArgs) -> Result<(), Error> {
    let mut open = OpenSession::of(&args.state, args.data.as_deref())?;
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
pub fn tell(args: &TellArgs) -> Result<(), Error> {
    let reward = number(&args.reward)?;
    let mut open = OpenSession::of(&args.state, args.data.as_deref())?;
    with_session(&mut open, |session, file| {
        let told = session.tell(args.row, reward)?;
        // Kept before anything is said of it: noise that was seen is never drawn anew.
        file.replace("session", session.save())?;
        let (round, rounds) = session.progress();
        if args.json {
            say(&serde_json::json!({ "row": told.row, "released": told.released, "round": round, "rounds": rounds }).to_string());
        } else {
            note(&format!("round {round} of {rounds} is told"));
        }
        Ok(())
    })
}

/// Takes back the last reward of a session without a mechanism.
///
/// # Errors
/// A session whose rewards were released, or without a reward; a file that is no session.
pub fn undo(args: &UndoArgs) -> Result<(), Error> {
    let mut open = OpenSession::of(&args.state, args.data.as_deref())?;
    let backend = Cpu::default();
    let preparation = Preparation::new(&open.sweep, &open.data, &backend);
    let mut session = Session::undo(&open.sweep, &preparation, open.file.get("session"))?;
    open.file.replace("session", session.save())?;
    let (told, _) = session.progress();
    note(&format!("round {} is taken back: row {} is asked for again", told + 1, session.ask()?));
    Ok(())
}

fn number(text: &str) -> Result<f64, Error> {
    let mut line = String::new();
    let text = if text == "-" {
        std::io::stdin().read_line(&mut line).map_err(|source| Error::io("read the reward", "standard input", source))?;
        line.trim()
    } else {
        text.trim()
    };
    text.parse::<f64>().map_err(|_| {
        Error::input(
            Diagnostic::new(format!("the reward `{text}` is not a number")).expected("a finite number, as in `0.25` or `-3e2`"),
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
    fn of(path: &Path, data: Option<&Path>) -> Result<Self, Error> {
        let file = StateFile::open(path)?;
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
        let sweep = Sweep::parse(&name, &spec, &[])?;
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
