//! Counts what a session or a release state has spent, alone or in an odometer that several commands share.
//!
//! A spend is on the disk before the answer that it pays for leaves. Alone, both are one file that is replaced as a whole. With a shared
//! odometer there are three writes: the intent in the session (a random ticket), the spend in the odometer, the answer in the session.
//! A command that is killed after the second leaves a spend without an answer, which the ticket tells from a stale copy of the session.

use super::notes::{Note, say_removed};
use crate::record::{StateFile, StateKind};
use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::{
    BadBudget, BudgetChange, DeploymentForm, FilterKind, Odometer, PrivacyBudget, Spend, SpendRefusal,
};
use privateer_privacy::release::random_name;
use privateer_privacy::{Guarantee, Ledger};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::{Path, PathBuf};

/// Options of a deployment's budget.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetOptions {
    /// Most that one record may spend; `None` for no limit.
    #[serde(deserialize_with = "budget_text")]
    pub budget: Option<PrivacyBudget>,
    /// How losses of adaptively chosen answers add up; the mechanism's own if absent.
    pub filter: Option<FilterKind>,
    /// An odometer that other sessions about the same records share; its budget and filter hold.
    pub odometer: Option<PathBuf>,
}

impl BudgetOptions {
    /// Returns the failure probability of the budget; 0 without one.
    pub(super) fn delta(&self) -> f64 {
        self.budget.and_then(|budget| budget.delta).map_or(0.0, privateer_privacy::Delta::get)
    }
}

/// Reads a budget that is written as on the command line, `epsilon=4,delta=1e-6`.
fn budget_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PrivacyBudget>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse()).transpose().map_err(|why: BadBudget| D::Error::custom(bad_budget(&why)))
}

/// Returns the message for a budget that cannot be used.
pub fn bad_budget(why: &BadBudget) -> Error {
    Error::input(
        Diagnostic::new(format!("`--budget` is refused: {why}"))
            .expected("`--budget epsilon=4,delta=1e-6`, or `--budget epsilon=4` for filter `sum`"),
    )
}

/// States who a session or a release state is, and how its spends are added up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Deployment {
    /// Random name of the session.
    pub id: String,
    /// Spends so far.
    pub counter: u64,
    /// The ticket of a spend that is being made.
    pub pending: Option<String>,
    /// Who adds the noise.
    pub form: DeploymentForm,
    /// What is measured.
    pub column: String,
    /// How losses add up; `None` where nothing is protected.
    pub filter: Option<FilterKind>,
    /// The budget of each record, of this session alone; a shared odometer has its own.
    pub budget: Option<PrivacyBudget>,
    /// The odometer that this session shares with others.
    pub odometer: Option<OdometerLink>,
    /// Every answer, in the order in which they were made.
    pub answers: Vec<AnswerName>,
}

/// Names one answer, so that it is counted once however many files hold it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AnswerName {
    /// The session or release state that drew its noise.
    pub source: String,
    /// Random name of the answer.
    pub name: String,
    /// What was measured.
    pub column: String,
}

/// States where a shared odometer is, and which one it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OdometerLink {
    /// Where it was.
    pub path: PathBuf,
    id: String,
}

impl Deployment {
    /// Makes a new session or release state, and enters it in the odometer that it shares.
    /// * `spend` — what one answer takes; `None` where nothing is protected
    ///
    /// # Errors
    /// Options that do not fit the mechanism, an odometer that cannot be used, no entropy.
    pub fn start(
        options: &BudgetOptions,
        form: DeploymentForm,
        column: &str,
        spend: Option<&Spend>,
        rows: Option<u64>,
        note: Note<'_>,
    ) -> Result<Self, Error> {
        let BudgetOptions { budget, filter, odometer } = options;
        let budget = *budget;
        let Some(spend) = spend else {
            if budget.is_some() || filter.is_some() || odometer.is_some() || form == DeploymentForm::DataHolder {
                return Err(Error::input(
                    Diagnostic::new("rewards pass no mechanism, so each of them spends an infinite epsilon")
                        .expected(
                            "a `[privacy]` mechanism where `--budget`, `--filter`, `--odometer` or `--form data-holder` is given",
                        )
                        .hint("add `[privacy]` with `mechanism`, `epsilon` and `clip` to the spec"),
                ));
            }
            return Self::named(form, column, None, None);
        };
        let filter = filter.unwrap_or_else(|| spend.natural_filter());
        let mut deployment = Self::named(form, column, Some(filter), budget)?;
        let spend = Spend { session: deployment.id.clone(), ..spend.clone() };
        let Some(path) = odometer else {
            allows_one(filter, budget, &spend)?;
            return Ok(deployment);
        };
        let mut shared = SharedOdometer::open(path, note)?;
        if let (Some(rows), Some(known)) = (rows, shared.odometer.rows())
            && rows != known
        {
            return Err(Error::input(
                Diagnostic::new(format!("the odometer `{}` is of {known} records, and here are {rows}", path.display()))
                    .hint("an odometer belongs to one table: record i is row i in every session that shares it"),
            ));
        }
        allows_one(shared.odometer.filter(), shared.odometer.budget(), &spend)?;
        // One record may have spent its budget; what refuses every record is said now.
        match shared.odometer.check(&spend) {
            Ok(()) | Err(SpendRefusal::Exceeded { .. } | SpendRefusal::NoRecord { .. }) => {}
            Err(why) => return Err(refused(why)),
        }
        deployment.filter = Some(shared.odometer.filter());
        deployment.odometer = Some(OdometerLink { path: shared.file.path().to_owned(), id: shared.id.clone() });
        shared.odometer.join(&deployment.id);
        shared.write()?;
        Ok(deployment)
    }

    fn named(
        form: DeploymentForm,
        column: &str,
        filter: Option<FilterKind>,
        budget: Option<PrivacyBudget>,
    ) -> Result<Self, Error> {
        let id = new_name()?;
        Ok(Self {
            id,
            counter: 0,
            pending: None,
            form,
            column: column.to_owned(),
            filter,
            budget,
            odometer: None,
            answers: Vec::new(),
        })
    }

    /// Reads what a file holds under `deployment`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where it is damaged.
    pub fn read(file: &StateFile) -> Result<Self, Error> {
        serde_json::from_value(file.get("deployment").clone()).map_err(|source| Error::Corrupt {
            path: file.path().to_owned(),
            problem: format!("does not say who it is and what it may spend ({source})"),
            hint: "restore the file from a copy".to_owned(),
        })
    }

    /// Returns how copies of this session are noticed, in a sentence.
    #[must_use]
    pub fn about_copies(&self) -> String {
        match &self.odometer {
            Some(link) => format!("copies are refused by the odometer `{}`, which counts the answers", link.path.display()),
            None => {
                "a copy of this file is refused while the file stands at its place; once it is gone, copies cannot be detected: \
                     their answers add up, and neither knows of the other (a shared `--odometer` counts both)"
                    .to_owned()
            }
        }
    }
}

/// What a session or a release state says about itself.
pub struct StatedAnswers {
    /// Who it is.
    pub deployment: Deployment,
    /// The ledger of one answer.
    pub ledger: Ledger,
    /// Each answer with what it spends; `None` where answers pass no mechanism.
    pub answers: Option<Vec<(AnswerName, Spend)>>,
}

impl StatedAnswers {
    /// Reads the content of a session or a release state.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where it is damaged.
    pub fn of(path: &Path, kind: StateKind, value: &serde_json::Value) -> Result<Self, Error> {
        let corrupt = || Error::Corrupt {
            path: path.to_owned(),
            problem: "does not say what it has spent".to_owned(),
            hint: "restore the file from a copy".to_owned(),
        };
        let deployment: Deployment = serde_json::from_value(value["deployment"].clone()).map_err(|_| corrupt())?;
        let ledger: Ledger = serde_json::from_value(value["ledger"].clone()).map_err(|_| corrupt())?;
        let answers = if kind == StateKind::Releases { &value["answers"] } else { &value["session"]["told"] };
        let rows: Option<Vec<u64>> =
            answers.as_array().ok_or_else(corrupt)?.iter().map(|answer| answer["row"].as_u64()).collect();
        let rows = rows.ok_or_else(corrupt)?;
        let answers = if ledger.guarantee == Guarantee::NotPrivate && !rows.is_empty() {
            None
        } else if rows.len() == deployment.answers.len() {
            let spend = |(row, name): (&u64, &AnswerName)| {
                Some((name.clone(), Spend::of_answer(&ledger, &name.source, &name.column, *row)?))
            };
            Some(rows.iter().zip(&deployment.answers).map(spend).collect::<Option<Vec<_>>>().ok_or_else(corrupt)?)
        } else {
            return Err(corrupt());
        };
        Ok(Self { deployment, ledger, answers })
    }
}

/// Fails where a record that has spent nothing cannot be asked for once: a budget of this kind is a mistake, not a stop.
fn allows_one(filter: FilterKind, budget: Option<PrivacyBudget>, spend: &Spend) -> Result<(), Error> {
    let fresh = Odometer::new(filter, budget, None).map_err(|why| bad_budget(&why))?;
    fresh.check(spend).map_err(|why| {
        Error::input(
            Diagnostic::new(format!("not one answer keeps the budget: {why}"))
                .hint("state a larger budget, a mechanism with a smaller epsilon, or the filter `sum` for few pure answers"),
        )
    })
}

/// Returns a random name.
///
/// # Errors
/// [`Error::Failed`] without entropy.
pub fn new_name() -> Result<String, Error> {
    random_name()
        .map_err(|why| Error::Failed { problem: why.to_string(), hint: "try again once the system gives entropy".to_owned() })
}

/// An open odometer file.
pub struct SharedOdometer {
    file: StateFile,
    /// Random name of the odometer.
    pub id: String,
    /// The account.
    pub odometer: Odometer,
}

impl SharedOdometer {
    /// Opens and locks an odometer.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where it is damaged, [`Error::InUse`], [`Error::Io`] where it cannot be read.
    pub fn open(path: &Path, note: Note<'_>) -> Result<Self, Error> {
        let file = StateFile::open(path, StateKind::Odometer)?;
        say_removed(file.removed(), note);
        let (id, odometer) = read_odometer(path, |key| file.get(key).clone())?;
        Ok(Self { file, id, odometer })
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// Those of [`StateFile::replace`].
    pub fn write(&mut self) -> Result<(), Error> {
        self.file.replace("odometer", serde_json::json!(self.odometer))
    }
}

/// Name and account of an odometer file.
///
/// # Errors
/// [`Error::Corrupt`] where it is damaged.
pub fn read_odometer(path: &Path, get: impl Fn(&str) -> serde_json::Value) -> Result<(String, Odometer), Error> {
    let corrupt =
        |problem: String| Error::Corrupt { path: path.to_owned(), problem, hint: "restore the file from a copy".to_owned() };
    let odometer = serde_json::from_value(get("odometer")).map_err(|source| corrupt(format!("is damaged ({source})")))?;
    let id = get("id").as_str().map(str::to_owned).ok_or_else(|| corrupt("has no name".to_owned()))?;
    Ok((id, odometer))
}

/// An open account: what a session has spent by itself, and the odometer that it shares.
pub struct Account {
    /// The session.
    pub deployment: Deployment,
    /// Spends of this session.
    pub own: Odometer,
    shared: Option<SharedOdometer>,
    /// Ticket of the last spend from the shared odometer.
    ticket: Option<String>,
}

impl Account {
    /// Opens the account of a session file, and settles a spend that a killed command left behind.
    /// * `spends` — what the answers in the file have spent
    /// * `moved` — where the shared odometer is now, if it has moved
    ///
    /// # Errors
    /// A copy of a session that went on, an odometer that is another one or older than the session; those of the files.
    pub fn open(
        file: &mut StateFile,
        spends: &[Spend],
        rows: Option<u64>,
        moved: Option<&Path>,
        note: Note<'_>,
    ) -> Result<Option<Self>, Error> {
        let mut deployment = Deployment::read(file)?;
        let Some(filter) = deployment.filter else { return Ok(None) };
        let mut own = Odometer::new(filter, deployment.budget, rows).map_err(|why| bad_budget(&why))?;
        spends.iter().for_each(|spend| own.add(spend));
        let shared = match &mut deployment.odometer {
            None => None,
            Some(link) => {
                let path = moved.map_or(link.path.clone(), Path::to_owned);
                let shared = SharedOdometer::open(&path, note)?;
                if shared.id != link.id {
                    return Err(Error::Corrupt {
                        path,
                        problem: "is not the odometer that this session spends from".to_owned(),
                        hint: "name the one it was started with, by `--odometer FILE` if it has moved".to_owned(),
                    });
                }
                link.path = shared.file.path().to_owned();
                settle(file, &mut deployment, &shared, note)?;
                Some(shared)
            }
        };
        Ok(Some(Self { deployment, own, shared, ticket: None }))
    }

    /// Fails where a spend would exceed a budget.
    ///
    /// # Errors
    /// [`Error::CheckSaidNo`] for a budget; [`Error::Input`] for a mechanism or record that the odometer does not know.
    pub fn check(&self, spend: &Spend) -> Result<(), Error> {
        let odometer = self.shared.as_ref().map_or(&self.own, |shared| &shared.odometer);
        odometer.check(spend).map_err(refused)
    }

    /// Puts a spend on the disk, before anything is drawn for it; without a shared odometer the answer's own write does that.
    /// * `received` — the name of an answer that a data holder made; otherwise this session makes it
    ///
    /// # Errors
    /// As [`Account::check`], and where a file cannot be written: nothing may be released then.
    pub fn pay(&mut self, spend: &Spend, received: Option<AnswerName>, file: &mut StateFile) -> Result<(), Error> {
        self.check(spend)?;
        if let Some(name) = received.as_ref().filter(|name| self.deployment.answers.contains(name)) {
            return Err(Error::input(
                Diagnostic::new(format!("the answer `{}` of `{}` was told before", name.name, name.source))
                    .expected("an answer with a name of its own, as `privateer release` gives out")
                    .hint("ask the data holder to release this round again"),
            ));
        }
        let ticket = new_name()?;
        self.ticket = Some(ticket.clone());
        if self.shared.is_some() {
            self.deployment.pending = Some(ticket.clone());
            file.replace("deployment", serde_json::json!(self.deployment)).map_err(|why| self.whether_spent(why))?;
        }
        if let Some(shared) = &mut self.shared {
            shared.odometer.spend_once(spend, &ticket).map_err(refused)?;
            shared.write().map_err(|why| self.whether_spent(why))?;
        }
        self.deployment.pending = None;
        self.deployment.counter = self.deployment.counter.saturating_add(1);
        let Deployment { id, column, .. } = &self.deployment;
        let own = || AnswerName { source: id.clone(), name: ticket, column: column.clone() };
        let answer = received.unwrap_or_else(own);
        self.deployment.answers.push(answer);
        self.own.add(spend);
        Ok(())
    }

    /// Puts an answer that was paid for on the disk, with what the file says of its spends.
    ///
    /// # Errors
    /// Those of [`StateFile::replace`], with a hint that says whether the spend counts all the same.
    pub fn keep(&self, file: &mut StateFile, key: &str, content: serde_json::Value) -> Result<(), Error> {
        file.set("deployment", serde_json::json!(self.deployment));
        file.set("spent", self.statement());
        file.replace(key, content).map_err(|why| self.whether_spent(why))
    }

    /// Adds to a failure whether the last spend counts, as the disk has it: "run it again" may spend again.
    fn whether_spent(&self, why: Error) -> Error {
        let Error::Io { action, path, source } = &why else { return why };
        let problem = format!("cannot {action} `{}`: {source}", path.display());
        Error::Failed { problem, hint: self.spend_on_the_disk() }
    }

    fn spend_on_the_disk(&self) -> String {
        let answer = "the answer was not kept and not given out";
        let Some(shared) = &self.shared else { return format!("nothing was spent: {answer}; mend the cause and try again") };
        let path = shared.file.path();
        let recorded = StateFile::peek(path).ok().flatten().and_then(|(_, state)| {
            let (_, odometer) = read_odometer(path, |key| state[key].clone()).ok()?;
            Some(odometer.mark(&self.deployment.id).map(|mark| mark.ticket.clone()) == self.ticket)
        });
        let path = path.display();
        match recorded {
            Some(true) => {
                format!(
                    "the spend is recorded in `{path}` and counts; {answer}: mend the cause first, the same command spends again"
                )
            }
            Some(false) => format!("nothing was spent from `{path}`: {answer}; mend the cause and try again"),
            None => format!("`{path}` cannot be read now: the next command says whether the spend counts; {answer}"),
        }
    }

    /// Returns what this session states of its spends.
    #[must_use]
    pub fn statement(&self) -> serde_json::Value {
        statement(&self.deployment, &self.own)
    }

    /// Returns the account whose budget holds: the shared one, where there is one.
    #[must_use]
    pub fn odometer(&self) -> &Odometer {
        self.shared.as_ref().map_or(&self.own, |shared| &shared.odometer)
    }
}

/// Returns what a session states of its spends.
#[must_use]
pub fn statement(deployment: &Deployment, own: &Odometer) -> serde_json::Value {
    let mut ledger = own.ledger();
    ledger.notes.push(deployment.form.words().to_owned());
    ledger.notes.push(deployment.about_copies());
    serde_json::json!(ledger)
}

/// Compares the counters of a session and of its odometer.
fn settle(file: &mut StateFile, deployment: &mut Deployment, shared: &SharedOdometer, note: Note<'_>) -> Result<(), Error> {
    let corrupt =
        |problem: String, hint: &str| Err(Error::Corrupt { path: file.path().to_owned(), problem, hint: hint.to_owned() });
    let Some(mark) = shared.odometer.mark(&deployment.id) else {
        return corrupt(
            "is not known to its odometer".to_owned(),
            "the odometer is older than the session: restore both from copies of one moment, or start a new session",
        );
    };
    let (here, there) = (deployment.counter, mark.counter);
    if there < here {
        return corrupt(
            format!("has made {here} answers, and its odometer knows of {there}: the odometer is an older copy"),
            "restore the odometer: spends that it does not know would not count",
        );
    }
    if there == here.saturating_add(1) && deployment.pending.as_deref() == Some(mark.ticket.as_str()) {
        note(
            "an earlier command was stopped after its spend was recorded and before its answer was kept: the spend counts, and the \
             answer was never given out",
        );
        deployment.counter = there;
    } else if here < there {
        return corrupt(
            format!("is a copy: it has made {here} answers, and its odometer knows of {there}"),
            "go on with the file that made the last answer, or start a new session on the same odometer",
        );
    }
    if deployment.pending.take().is_some() {
        file.replace("deployment", serde_json::json!(deployment))?;
    }
    Ok(())
}

/// Returns the error for a spend that is refused.
pub fn refused(why: SpendRefusal) -> Error {
    match why {
        SpendRefusal::Exceeded { .. } => Error::CheckSaidNo(format!("{why}; nothing was released")),
        SpendRefusal::OtherUnits { .. } => Error::input(Diagnostic::new(why.to_string()).hint(
            "use the columns and scales of the earlier release; an odometer made with `--change record` prices both for whole records",
        )),
        SpendRefusal::InputAndValue { .. } => {
            Error::input(Diagnostic::new(why.to_string()).hint("release the column in one of the two ways"))
        }
        SpendRefusal::NoChange { .. } => Error::input(
            Diagnostic::new(why.to_string())
                .expected(format!("an odometer made with `--change`, one of {}", BudgetChange::FORMS))
                .hint("`--change record` holds for everything that is released of a record"),
        ),
        SpendRefusal::NoBound { .. } => Error::input(
            Diagnostic::new(why.to_string())
                .hint("choose a filter that bounds it: `sum` takes every mechanism whose claim holds"),
        ),
        SpendRefusal::NoRecord { .. } => {
            Error::input(Diagnostic::new(why.to_string()).hint("records are rows of the table, from 0"))
        }
    }
}
