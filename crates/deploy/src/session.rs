//! A session: one policy over points, whose rewards somebody observes elsewhere; one state file.

use super::books::{BudgetTerms, Paid};
use super::columns::{Column, SessionRow};
use super::deployment::{Account, about_copies, enter, keep, not_kept, open_with_odometer};
use super::failure::altered;
use super::file::{DeploymentFile, Side, new_name};
use super::notes::Note;
use super::odometer::refuse_large_delta;
use super::people::new_identity;
use super::received::{Reward, received_column};
use super::session_options::{SessionChoice, SessionOptions};
use privateer_backend::Cpu;
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::engine::{Preparation, Session, ToldRound};
use privateer_engine::env::DataFolder;
use privateer_engine::registry::Registry;
use privateer_engine::spec::Sweep;
use privateer_privacy::odometer::{DeploymentForm, SpentRecords};
use privateer_privacy::{Guarantee, Ledger, Unit};
use serde::Serialize;
use std::path::Path;

/// The row that a session names, from 0; `round` counts from 1, for the best row the told rounds.
#[derive(Debug, Serialize)]
pub struct AskedRow {
    /// Index in the points file, from 0.
    pub row: usize,
    /// Round from 1; for the best row, the number of told rounds.
    pub round: u64,
    /// Number of rounds of the session.
    pub rounds: u64,
    /// Whether the row is the recommended one so far.
    pub best: bool,
}

/// A reward that was told; `released` is `None` where sums over users are released.
#[derive(Debug, Serialize)]
pub struct ToldRow {
    /// Index in the points file, from 0.
    pub row: u64,
    /// The released reward; `None` where sums over users are released.
    pub released: Option<f64>,
    /// Round that was told, from 1.
    pub round: u64,
    /// Number of rounds of the session.
    pub rounds: u64,
    /// What the record has spent, in words.
    #[serde(skip)]
    pub spent: Option<String>,
}

/// Begins a session of a spec in the deployment at `state`.
///
/// # Errors
/// If the spec describes no session, or the budget or an existing file does not fit.
pub fn init(
    state: &Path,
    (name, sweep): (&str, &Sweep),
    data: &DataFolder,
    options: &SessionOptions,
    note: Note<'_>,
) -> Result<(), Error> {
    let &SessionOptions { form, ref column, allow_large_delta, ref budget, session: ref named } = options;
    let backend = Cpu::default();
    let session = Session::start(sweep, &Preparation::new(sweep, data, &backend))?;
    let files: Vec<String> = sweep.cells.iter().flat_map(|cell| cell.data_files()).cloned().collect();
    let folder = data.holding(&files)?;
    let ledger = session.ledger(form);
    let ((n, fingerprint), (_, rounds)) = (session.points(), session.progress());
    refuse_large_delta(ledger.delta.max(budget.delta()), n as u64, allow_large_delta)?;
    if form == DeploymentForm::DataHolder && budget.odometer.is_some() {
        return Diagnostic::new("`--odometer` is given to a session of the form `data-holder`")
            .expected("`--odometer` on the data holder's side, with `privateer release`")
            .hint("whoever releases the values spends: counted here too, each answer would count twice")
            .refuse();
    }
    if form == DeploymentForm::DataHolder && !session.releases_rewards() {
        let problem =
            format!("mechanism `{}` releases sums over users, which a data holder cannot release one by one", ledger.mechanism);
        return Diagnostic::new(problem)
            .expected("a policy that learns from rewards one by one, as `tgp-ucb` does")
            .hint("sums over users need the form `trusted-curator`")
            .refuse();
    }
    let is_of_batches = !session.releases_rewards() && !ledger.is_of_running_sums();
    if budget.counts() && is_of_batches && matches!(ledger.threat_model.unit, Unit::Reward) {
        return Diagnostic::new("a budget counts the answers about a row, and all users of a batch are asked about one row")
            .expected("no `--budget`, `--filter` or `--odometer` for a policy that releases batches")
            .hint("each user is in one batch: the epsilon of one release is that of the whole run")
            .refuse();
    }
    let spend = session.spend(form, "", column, 0);
    let named = named.as_deref().unwrap_or("session");
    if !DeploymentFile::is_absent(state) {
        let file = DeploymentFile::open(state)?;
        file.begin_to_read()?;
        refuse_session(&file, state, named)?;
    }
    let new = new_identity(true, None, budget.anchor.as_ref())?;
    let entered = Column::new(new_name()?, form, column.clone(), spend, Some(ledger.clone()));
    let (file, entered, terms) = enter(state, &new, budget, entered, None::<&()>, Some(n as u64))?;
    // Another command may have begun it since.
    refuse_session(&file, state, named)?;
    file.add_session(&SessionRow {
        column: entered.number,
        name: named.to_owned(),
        spec_name: name.to_owned(),
        spec: sweep.resolved.clone(),
        spec_hash: session.spec_hash().to_owned(),
        data: folder,
        fingerprint: fingerprint.to_owned(),
        asked: None,
    })?;
    keep(&file, "go on with `privateer ask`")?;
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
    if let Some(terms) = terms {
        note(&budget_words(&terms, &entered));
        note(&about_copies(&entered));
    }
    Ok(())
}

/// Fails where a file has a session of this name.
fn refuse_session(file: &DeploymentFile, state: &Path, named: &str) -> Result<(), Error> {
    if file.sessions()?.iter().all(|known| known.name != named) {
        return Ok(());
    }
    let hint = "a session is not overwritten: name another file, or another `--session` in this one";
    Err(Error::folder(state, format!("is there already, with a session `{named}`"), hint))
}

/// Says how answers about one row add up.
fn budget_words(terms: &BudgetTerms, column: &Column) -> String {
    let budget = match (&terms.budget, &column.odometer) {
        (_, Some(link)) => format!("the budget of the odometer `{}`", link.path.display()),
        (Some(budget), None) => {
            let per = terms.per.map_or(String::new(), |period| format!(" and {period}"));
            format!("a budget of {budget} for each row{per}")
        }
        (None, None) => "no budget: a row that is asked for again spends the same again, and nothing stops it".to_owned(),
    };
    format!("answers about one row add up by the filter `{}`, under {budget}", terms.filter)
}

/// A session of an open file, with what it was told so far.
pub(super) struct OpenSession {
    pub file: DeploymentFile,
    row: SessionRow,
    pub column: Column,
    sweep: Sweep,
    data: DataFolder,
}

impl OpenSession {
    fn of(registry: &Registry, path: &Path, choice: &SessionChoice) -> Result<Self, Error> {
        let find = |file: &DeploymentFile| {
            let row = chosen(file, choice.session.as_deref())?;
            Ok(Some((column_of(file, &row)?, row)))
        };
        let found = open_with_odometer(path, find, choice.odometer.as_deref())?;
        let (file, column, row) = found.ok_or_else(|| altered(path, "a session"))?;
        let sweep = registry.parse(&row.spec_name, &row.spec, &[])?;
        if sweep.hash != row.spec_hash {
            return Diagnostic::new("the session was begun with another spec, or by another version of this program")
                .hint("continue it with the program that began it")
                .refuse();
        }
        let data = DataFolder::new(Some(choice.data.clone().unwrap_or_else(|| row.data.clone())));
        Ok(Self { file, row, column, sweep, data })
    }

    fn told(&self) -> Result<Vec<ToldRound>, Error> {
        self.file.told(self.column.number)
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Session, &mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let (backend, sweep, data) = (Cpu::default(), self.sweep.clone(), self.data.clone());
        let preparation = Preparation::new(&sweep, &data, &backend);
        // Before the rounds are played again: other noise does not belong to them.
        let check = |session: &Session| self.check_points(session).and_then(|()| self.check_claim(session));
        let mut session = Session::replay(&sweep, &preparation, (self.told()?, self.row.asked), check)?;
        act(&mut session, self)
    }

    /// Refuses to go on with another claim or other noise than those of the earlier answers, which a spec may stand for after a
    /// change of this program.
    fn check_claim(&self, session: &Session) -> Result<(), Error> {
        let Some(begun) = &self.column.ledger else { return Ok(()) };
        let found = session.ledger(self.column.form);
        let promise = |of: &Ledger| (of.mechanism.clone(), of.threat_model.clone(), of.event, (of.epsilon, of.delta, of.clip));
        if promise(begun) == promise(&found) {
            return Ok(());
        }
        let words = |of: &Ledger| format!("`{}` with {}, per {}, {:?}", of.mechanism, of.claimed, of.threat_model.unit, of.event);
        Diagnostic::new(format!("the session was begun with {}; its spec now stands for {}", words(begun), words(&found)))
            .hint("continue it with the program that began it, or begin a session of its own in this file: losses of both add up")
            .refuse()
    }

    fn check_points(&self, session: &Session) -> Result<(), Error> {
        let (_, found) = session.points();
        if found == self.row.fingerprint {
            return Ok(());
        }
        Diagnostic::new(format!("the points changed since the session began (fingerprint {}, now {found})", self.row.fingerprint))
            .hint("restore the file of points: rows are told by their index")
            .refuse()
    }

    fn keep(&mut self, asked: Option<u64>) -> Result<(), Error> {
        self.row.asked = asked;
        self.file.add_session(&self.row)
    }
}

fn column_of(file: &DeploymentFile, row: &SessionRow) -> Result<Column, Error> {
    let found = file.columns(Side::Own)?.into_iter().find(|column| column.number == row.column);
    found.ok_or_else(|| file.altered(Side::Own, "a session"))
}

/// Returns the session of this name, or the only one.
fn chosen(file: &DeploymentFile, name: Option<&str>) -> Result<SessionRow, Error> {
    let mut sessions = file.sessions()?;
    let names: Vec<String> = sessions.iter().map(|session| session.name.clone()).collect();
    let refuse = |problem: String, expected: String| Diagnostic::new(problem).expected(expected).refuse();
    match name {
        None if sessions.len() == 1 => Ok(sessions.remove(0)),
        None if sessions.is_empty() => refuse(
            format!("`{}` holds no session", file.path().display()),
            "a file in which `privateer init` began one".to_owned(),
        ),
        None => refuse(
            format!("`{}` holds {} sessions", file.path().display(), sessions.len()),
            format!("`--session NAME`, one of {}", names.join(", ")),
        ),
        Some(name) => match sessions.into_iter().find(|session| session.name == name) {
            Some(session) => Ok(session),
            None => {
                refuse(format!("`{}` holds no session `{name}`", file.path().display()), format!("one of {}", names.join(", ")))
            }
        },
    }
}

/// Returns the row to observe next, or the best row so far by posterior mean.
///
/// # Errors
/// A file that holds no session, changed points, a session that is over, a record without budget left.
pub fn ask(registry: &Registry, state: &Path, best: bool, choice: &SessionChoice) -> Result<AskedRow, Error> {
    if best {
        return best_row(registry, state, choice);
    }
    OpenSession::of(registry, state, choice)?.with(|session, open| {
        let (told, rounds) = session.progress();
        let row = session.ask()?;
        // A row that may not be answered is not asked for.
        let occasion = choice.occasion.of("ask")?;
        if let Some(account) = Account::open(&open.file, &open.column, occasion)?
            && let Err(why) = account.check(row as u64, &row.to_string())
        {
            noted(open, &account, row, &why)?;
            return Err(stopped(why, state));
        }
        if open.row.asked != session.asked() {
            open.keep(session.asked()).map_err(not_kept)?;
            keep(&open.file, "ask again")?;
        }
        Ok(AskedRow { row, round: told + 1, rounds, best: false })
    })
}

/// Keeps a refusal by a budget, and nothing else of the transaction.
fn noted(open: &OpenSession, account: &Account<'_>, row: usize, why: &Error) -> Result<(), Error> {
    if let Error::NotReleased { .. } = why {
        // Of the session's column: that of a data holder's first answer is gone with the transaction.
        account.note_refusal(&open.column, row as u64, why)?;
        open.file.commit()?;
    }
    Ok(())
}

fn best_row(registry: &Registry, state: &Path, choice: &SessionChoice) -> Result<AskedRow, Error> {
    // Who may read and not write still sees which row is the best.
    let file = DeploymentFile::open_to_read(state)?;
    let row = chosen(&file, choice.session.as_deref())?;
    let column = column_of(&file, &row)?;
    let sweep = registry.parse(&row.spec_name, &row.spec, &[])?;
    let data = DataFolder::new(Some(choice.data.clone().unwrap_or_else(|| row.data.clone())));
    OpenSession { file, row, column, sweep, data }.with(|session, _| {
        let (told, rounds) = session.progress();
        let row = session.best().ok_or_else(|| {
            Error::input(if told == 0 {
                Diagnostic::new("nothing is told so far, so no row is the best").hint("ask without `--best`")
            } else {
                Diagnostic::new("no row is the best: the model's means are no numbers")
                    .hint("the scales leave the range of f64: check `ridge`, `clip` and the reward's unit")
            })
        })?;
        Ok(AskedRow { row, round: told, rounds, best: true })
    })
}

/// Takes a reward.
///
/// # Errors
/// A wrong row, a reward told twice or not finite; a file that holds no session.
pub fn tell(
    registry: &Registry,
    state: &Path,
    (row, reward): (usize, &Reward),
    choice: &SessionChoice,
) -> Result<ToldRow, Error> {
    OpenSession::of(registry, state, choice)?.with(|session, open| {
        let form = open.column.form;
        let mut payer = open.column.clone();
        let mut name = None;
        match (reward, form) {
            (Reward::Raw { value: reward, yes }, DeploymentForm::TrustedCurator) => {
                session.check_reward(row, *reward)?;
                refuse_far("reward", *reward, session.ledger(form).clip, *yes)?;
            }
            (Reward::Released(value), DeploymentForm::DataHolder) => {
                session.check_received(row, value)?;
                let (column, received) = received_column(&open.file, &open.column, value)?;
                (payer, name) = (column, Some(received));
            }
            (Reward::Raw { .. }, DeploymentForm::DataHolder) => {
                return Diagnostic::new("a raw reward is told to a session of the form `data-holder`")
                    .expected("`--released` with the file that the data holder's `privateer release` wrote")
                    .hint("nothing was kept of it; raw rewards are for sessions of the form `trusted-curator`")
                    .refuse();
            }
            (Reward::Released(_), DeploymentForm::TrustedCurator) => {
                return Diagnostic::new(
                    "a released value is told to a session of the form `trusted-curator`, which adds the noise itself",
                )
                .expected("the raw reward, without `--released`")
                .hint("start a session for released values with `privateer init --form data-holder`")
                .refuse();
            }
        }
        let occasion = choice.occasion.of("tell")?;
        let mut account = Account::open(&open.file, &payer, occasion.clone())?;
        let mut spent = None;
        if let Some(account) = &account {
            let checked = account.check(row as u64, &row.to_string());
            if let Err(why) = &checked {
                open.file.start_again()?;
                noted(open, account, row, why)?;
            }
            spent = Some(checked.map_err(|why| stopped(why, state))?);
        }
        let told = match reward {
            Reward::Raw { value: reward, .. } => session.tell(row, *reward)?,
            Reward::Released(value) => session.tell_received(row, value)?,
        };
        let (round, rounds) = session.progress();
        // On the disk before anything is returned: noise that was seen is never drawn again.
        let kept = (open.column.number, round, &told.kept);
        let paid = match &mut account {
            Some(account) => account.pay(row as u64, kept, name),
            None => {
                let record = SpentRecords::One { row: row as u64 };
                let paid = Paid { column: kept.0, record, name: None, kept: Some((round, kept.0, kept.2)) };
                open.file.pay(Side::Own, &paid, &occasion, 0)
            }
        };
        paid.map_err(not_kept)?;
        drop(account);
        open.keep(None).map_err(not_kept)?;
        keep(&open.file, "go on with `privateer ask`")?;
        Ok(ToldRow { row: told.row, released: told.released(), round, rounds, spent })
    })
}

/// Takes back the last reward of a session without a mechanism; returns the row asked for again.
///
/// # Errors
/// A session whose rewards were released, or without a reward; a file that holds no session.
pub fn undo(registry: &Registry, state: &Path, choice: &SessionChoice) -> Result<AskedRow, Error> {
    let mut open = OpenSession::of(registry, state, choice)?;
    let backend = Cpu::default();
    let preparation = Preparation::new(&open.sweep, &open.data, &backend);
    let mut session = Session::undo(&open.sweep, &preparation, open.told()?)?;
    open.check_points(&session)?;
    if !open.file.take_back(open.column.number)? {
        let problem = "another session of the file was told a reward since";
        return Diagnostic::new(problem).hint("rewards are taken back in the reverse order").refuse();
    }
    open.keep(session.asked())?;
    keep(&open.file, "go on with `privateer ask`")?;
    let (told, rounds) = session.progress();
    Ok(AskedRow { row: session.ask()?, round: told + 1, rounds, best: false })
}

/// Says how a session that reached its budget ends.
fn stopped(why: Error, state: &Path) -> Error {
    match why {
        Error::NotReleased { record, spent, budget, why, .. } => {
            let shown = state.display();
            let hint = Some(format!("the session stops here; `privateer ask {shown} --best` names the best row so far"));
            Error::NotReleased { record, spent, budget, why, hint }
        }
        other => other,
    }
}

/// Values that lie more than this many widths of the clip outside of it are taken for slips.
const FAR: f64 = 100.0;

/// Refuses a value that is most likely a slip, unless `yes` says that it is meant: what it spends is spent for good.
pub(super) fn refuse_far(what: &str, value: f64, clip: Option<[f64; 2]>, yes: bool) -> Result<(), Error> {
    let Some([low, high]) = clip else { return Ok(()) };
    let widths = (low - value).max(value - high) / FAR;
    if yes || widths <= high - low {
        return Ok(());
    }
    Diagnostic::new(format!("the {what}, which is not shown, lies more than {FAR} times the width of the clip outside of it"))
        .expected(format!("a {what} near {low} to {high}, the clip"))
        .hint("nothing was spent; `--yes` takes it, clipped, and what that spends cannot be taken back")
        .refuse()
}
