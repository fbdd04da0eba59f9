//! A run whose rewards are observed elsewhere: ask for a row, tell what came of it. State is plain data with a version, to be
//! kept between any two calls.
//!
//! A mechanism of the spec sits on the learner's side: what is told passes exact noise from the operating system ([`ChannelRelease`])
//! before anything else, and only what is released reaches the policy. It is drawn once and never again. A data holder may add the same
//! noise instead ([`HolderRelease`]). Of rewards one by one only the
//! released value is kept; running sums over people are kept raw, inside the mechanism's own state.

use super::ask_tell::AskTell;
use super::prepare::Preparation;
use super::session_parts::{SessionParts, session_parts};
use crate::error::{Diagnostic, Error};
use crate::policy::{Policy, PolicyStreams};
use crate::privacy::odometer::{DeploymentForm, Spend};
use crate::privacy::release::{ChannelRelease, HolderRelease};
use crate::privacy::{Guarantee, Ledger, Raw, Released, Signal};
use crate::rng::{Purpose, Streams};
use crate::spec::{CellPlan, Sweep};
use serde::{Deserialize, Serialize};

/// One policy over points, asked and told.
///
/// # Example: a session of three rounds, saved in between
/// ```no_run
/// use privateer::{backend::Cpu, engine::{Preparation, Session}, env::DataFolder, spec::Sweep};
/// let text = std::fs::read_to_string("modeler.toml")?;
/// let sweep = Sweep::parse("modeler.toml", &text, &[])?;
/// let (data, backend) = (DataFolder::default(), Cpu::default());
/// let preparation = Preparation::new(&sweep, &data, &backend);
/// let mut session = Session::start(&sweep, &preparation)?;
/// for _ in 0..3 {
///     let row = session.ask()?;
///     let measured = 0.1 * row as f64; // whoever holds the inputs measures this row
///     session.tell(row, measured)?;
///     let saved = session.save();
///     session = Session::restore(&sweep, &preparation, &saved)?;
/// }
/// println!("best so far: row {:?}", session.best());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    plan: CellPlan,
    streams: Streams,
    asked: AskTell,
    release: ChannelRelease,
    /// Of one answer, as the mechanism is simulated.
    ledger: Ledger,
    /// Declared bound on the mean reward.
    bound: f64,
    n_points: usize,
    fingerprint: String,
    state: State,
}

/// What is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    version: u32,
    /// Hash of the resolved spec.
    spec_hash: String,
    /// Of the points.
    fingerprint: String,
    /// Counts what was changed, so that two programs at once can be told apart.
    revision: u64,
    /// The row that was asked for and not yet told.
    asked: Option<u64>,
    /// Every round that was told, in order: never drawn anew.
    told: Vec<Told>,
    /// The policy.
    policy: serde_json::Value,
    /// What a mechanism keeps across rounds; null for those that keep nothing.
    privatizer: serde_json::Value,
}

/// One told round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// The row, 0-based.
    pub row: u64,
    /// The reward as released to the policy; none where sums over people are released, and no reward by itself.
    pub released: Option<f64>,
}

/// Version of the saved state.
const STATE_VERSION: u32 = 1;

/// Most times the declared bound that a reward may be where no mechanism clips it: beyond it the model's numbers are lost for good.
const MOST_BOUNDS: f64 = 1000.0;

impl State {
    /// Reads a saved state of a spec; nothing is built for a state of another one.
    fn read(sweep: &Sweep, saved: &serde_json::Value) -> Result<Self, Error> {
        let refuse = |problem: String, hint: &str| Err(Error::input(Diagnostic::new(problem).hint(hint)));
        match saved["version"].as_u64() {
            Some(version) if version == u64::from(STATE_VERSION) => {}
            Some(version) => {
                return refuse(
                    format!("the session has version {version}; this program reads version {STATE_VERSION}"),
                    "use the program that wrote it",
                );
            }
            None => {
                return refuse(
                    "the state is of no session that this program knows".to_owned(),
                    "start one with `privateer init`",
                );
            }
        }
        if saved["spec_hash"].as_str().is_some_and(|hash| hash != sweep.hash) {
            return refuse("the session was begun with another spec".to_owned(), "continue it with the spec that it holds");
        }
        serde_json::from_value(saved.clone()).map_err(|source| {
            let problem = format!("the state of the session is damaged ({source})");
            Error::input(Diagnostic::new(problem).hint("restore the file from a copy"))
        })
    }

    /// Fails where the points are not those that the session began with, or the state does not hang together.
    fn check(&self, parts: &SessionParts) -> Result<(), Error> {
        if self.fingerprint != parts.fingerprint {
            return Err(Error::input(
                Diagnostic::new(format!(
                    "the points changed since the session began (fingerprint {}, now {})",
                    self.fingerprint, parts.fingerprint
                ))
                .hint("restore the file of points: rows are told by their index"),
            ));
        }
        let n = parts.n_points as u64;
        let absent = |told: &Told| n <= told.row || told.released.is_some_and(|reward| !reward.is_finite());
        if self.asked.is_some_and(|row| n <= row) || self.told.iter().any(absent) {
            return Err(damaged("it names rows or rewards that are not there"));
        }
        let (told, rounds) = (self.told.len() as u64, parts.plan.rounds);
        if rounds < told || rounds == told && self.asked.is_some() {
            return Err(damaged(&format!("it holds more than the {rounds} rounds of its spec")));
        }
        // Every change asks or tells once.
        if self.revision != 2 * told + u64::from(self.asked.is_some()) {
            return Err(damaged(&format!("revision {} does not follow from {told} rounds", self.revision)));
        }
        Ok(())
    }
}

fn damaged(why: &str) -> Error {
    let problem = format!("the state of the session is damaged: {why}");
    Error::input(Diagnostic::new(problem).hint("restore the file from a copy"))
}

impl Session {
    /// A session before its first round; the spec has one cell over `points-table` with a stated `bound`.
    ///
    /// # Errors
    /// A spec of several cells, with a curator of its own or rewards of its own; a mechanism whose claim does not hold; whatever
    /// a run would refuse.
    pub fn start(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Self, Error> {
        Self::fresh(sweep, session_parts(sweep, preparation)?)
    }

    fn fresh(sweep: &Sweep, parts: SessionParts) -> Result<Self, Error> {
        let policy = parts.maker.make(&parts.setting)?;
        let state = State {
            version: STATE_VERSION,
            spec_hash: sweep.hash.clone(),
            fingerprint: parts.fingerprint.clone(),
            revision: 0,
            asked: None,
            told: Vec::new(),
            policy: policy.save(),
            privatizer: parts.release.save(),
        };
        Ok(Self::assemble(parts, policy, state))
    }

    /// The session whose state was saved, with the spec and the points it was begun with.
    ///
    /// # Errors
    /// A state of another spec, of other points or of a newer version; one that does not hang together.
    pub fn restore(sweep: &Sweep, preparation: &Preparation<'_>, saved: &serde_json::Value) -> Result<Self, Error> {
        let state = State::read(sweep, saved)?;
        let mut parts = session_parts(sweep, preparation)?;
        state.check(&parts)?;
        let told = state.told.len() as u64;
        let sums = parts.release.people().is_some();
        if state.told.iter().any(|told| told.released.is_none() != sums) {
            return Err(damaged("its mechanism and its rewards do not belong together"));
        }
        parts.release.load(state.privatizer.clone()).map_err(|why| damaged(&format!("what its mechanism keeps: {why}")))?;
        if let Some(people) = parts.release.people().filter(|people| *people != told) {
            return Err(damaged(&format!("{told} rounds are told, and its mechanism has taken {people}")));
        }
        let policy = parts.maker.restore(&parts.setting, state.policy.clone())?;
        if policy.told() != told {
            return Err(damaged(&format!("{told} rounds are told, and its policy has taken {}", policy.told())));
        }
        if policy.recommend().is_some_and(|best| state.told.iter().all(|told| told.row != best as u64)) {
            return Err(damaged("its policy has played a row that was never told"));
        }
        Ok(Self::assemble(parts, policy, state))
    }

    fn assemble(parts: SessionParts, policy: Box<dyn Policy>, state: State) -> Self {
        let SessionParts { plan, streams, domain, release, ledger, bound, n_points, fingerprint, .. } = parts;
        let draws = draws(&streams, &plan, state.told.len() as u64);
        let asked = AskTell::resumed(policy, draws, domain.as_ref(), state.asked.map(|row| row as usize));
        Self { plan, streams, asked, release, ledger, bound, n_points, fingerprint, state }
    }

    /// The row to observe next, 0-based; the same until it is told.
    ///
    /// # Errors
    /// All rounds are told; a score that is not finite.
    pub fn ask(&mut self) -> Result<usize, Error> {
        if let Some(row) = self.state.asked {
            return Ok(row as usize);
        }
        if self.plan.rounds <= self.state.told.len() as u64 {
            return Err(Error::input(
                Diagnostic::new(format!("the session is over: all {} rounds are told", self.plan.rounds)).hint(
                    "`privateer ask STATE --best` names the best row so far; a longer session needs a spec with more `rounds`",
                ),
            ));
        }
        let row = self.asked.ask()?;
        self.state.asked = Some(row as u64);
        self.changed();
        Ok(row)
    }

    /// Takes the reward observed at the row that was asked for; returns what became of it.
    ///
    /// # Errors
    /// Another row than the one asked for, one that was told already, a reward that is not finite, no entropy. The session
    /// is then as it was.
    pub fn tell(&mut self, row: usize, reward: f64) -> Result<Told, Error> {
        self.check_reward(row, reward)?;
        self.take(row, reward)
    }

    /// Takes a value that the data holder has released for the row that was asked for: no noise is added to it.
    ///
    /// # Errors
    /// As [`Session::check_received`]. The session is then as it was.
    pub fn tell_received(&mut self, row: usize, received: &HolderRelease) -> Result<Told, Error> {
        let signal = self.check_received(row, received)?;
        Ok(self.keep(row, &signal))
    }

    /// Fails where a released value is not the one that this session asked for, or states another mechanism.
    ///
    /// # Errors
    /// Another row or round, mechanism, epsilon, delta or clip; a session that learns from sums.
    pub fn check_received(&self, row: usize, received: &HolderRelease) -> Result<Released<Signal>, Error> {
        self.check_row(row)?;
        let refuse = |problem: String, hint: &str| Err(Error::input(Diagnostic::new(problem).hint(hint)));
        if !self.releases_rewards() {
            return refuse(
                format!(
                    "mechanism `{}` releases sums over people, and one released value is no part of them",
                    self.ledger.mechanism
                ),
                "use a policy that learns from rewards one by one, such as `tgp-ucb`",
            );
        }
        let round = self.state.told.len() as u64 + 1;
        received.checked(&self.ledger, row as u64, round).or_else(|differences| {
            refuse(
                format!("the released value is not the one that was asked for: {}", differences.join("; ")),
                "ask the data holder for the release of this row and round, with the mechanism of the session's spec",
            )
        })
    }

    /// Fails where a reward cannot be taken; nothing is drawn or kept.
    ///
    /// # Errors
    /// As [`Session::tell`], but for missing entropy.
    pub fn check_reward(&self, row: usize, reward: f64) -> Result<(), Error> {
        self.check_row(row)?;
        let refuse = |problem: String, hint: &str| Err(Error::input(Diagnostic::new(problem).hint(hint)));
        if !reward.is_finite() {
            return refuse(
                format!("the reward of row {row} is {reward}"),
                "tell a finite number, in the units of `environment.bound`",
            );
        }
        // A mechanism clips what it takes; that a reward was refused would say something about it.
        let most = MOST_BOUNDS * self.bound;
        if self.ledger.guarantee == Guarantee::NotPrivate && most < reward.abs() {
            return refuse(
                format!(
                    "the reward of row {row} is {reward:?}, more than {MOST_BOUNDS} times the declared bound of {}",
                    self.bound
                ),
                "tell it in the units of `environment.bound`; larger rewards need a session whose spec states a larger `bound`",
            );
        }
        Ok(())
    }

    fn check_row(&self, row: usize) -> Result<(), Error> {
        let refuse = |problem: String, hint: &str| Err(Error::input(Diagnostic::new(problem).hint(hint)));
        let Some(asked) = self.state.asked else {
            return match self.state.told.last() {
                Some(last) if last.row == row as u64 => refuse(
                    format!("row {row} was told already, as round {}", self.state.told.len()),
                    "a reward is taken once; ask for the next row first",
                ),
                _ => refuse("no row is asked for".to_owned(), "ask first: `privateer ask STATE`"),
            };
        };
        if asked != row as u64 {
            return refuse(
                format!("row {row} is told, and row {asked} was asked for"),
                "tell the reward of the row that `privateer ask STATE` names",
            );
        }
        Ok(())
    }

    /// Takes a reward that was asked for.
    fn take(&mut self, row: usize, reward: f64) -> Result<Told, Error> {
        let released = self.release.release(&self.asked.query(), Raw::seal(reward));
        let signal = released.map_err(|why| Error::Failed {
            problem: format!("the reward was not released: {why}"),
            hint: "nothing was kept of it; tell it again".to_owned(),
        })?;
        Ok(self.keep(row, &signal))
    }

    fn keep(&mut self, row: usize, signal: &Released<Signal>) -> Told {
        let told = Told { row: row as u64, released: signal.reward() };
        self.asked.tell(signal);
        self.state.told.push(told);
        self.state.privatizer = self.release.save();
        self.state.asked = None;
        self.asked.draw_from(draws(&self.streams, &self.plan, self.state.told.len() as u64));
        self.changed();
        told
    }

    /// The session of a saved state before its last reward was told; the row is then asked for again. What was asked after it is
    /// dropped too.
    ///
    /// # Errors
    /// A session whose rewards were released with noise (telling one again would draw a second time), one that keeps sums of rewards
    /// instead of rewards, one without a reward, and those of [`Session::restore`].
    pub fn undo(sweep: &Sweep, preparation: &Preparation<'_>, saved: &serde_json::Value) -> Result<Self, Error> {
        let refuse = |problem: &str, hint: &str| Err(Error::input(Diagnostic::new(problem).hint(hint)));
        let state = State::read(sweep, saved)?;
        let parts = session_parts(sweep, preparation)?;
        state.check(&parts)?;
        if parts.ledger.guarantee != Guarantee::NotPrivate {
            return refuse(
                "the last reward was released with noise, and is not taken back",
                "telling it again would draw a second time for the same reward, which spends its budget twice",
            );
        }
        let Some((last, earlier)) = state.told.split_last() else {
            return refuse("nothing is told so far, so nothing is taken back", "ask first: `privateer ask STATE`");
        };
        let mut session = Self::fresh(sweep, parts)?;
        for told in earlier {
            let Some(reward) = told.released.filter(|_| session.ask().is_ok_and(|row| row as u64 == told.row)) else {
                return refuse(
                    "the session keeps sums of rewards, or rows that it would not ask for again",
                    "restore the file from a copy made before the reward was told",
                );
            };
            session.take(told.row as usize, reward)?;
        }
        if session.ask()? as u64 != last.row {
            return Err(damaged("its last row is not the one that was asked for"));
        }
        Ok(session)
    }

    fn changed(&mut self) {
        self.state.policy = self.asked.policy().save();
        self.state.revision += 1;
    }

    /// The told row with the highest posterior mean; `None` before the first.
    #[must_use]
    pub fn best(&self) -> Option<usize> {
        self.asked.policy().recommend()
    }

    /// Rounds told so far, and rounds in all.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.state.told.len() as u64, self.plan.rounds)
    }

    /// What was told, in order, as the policy saw it.
    #[must_use]
    pub fn told(&self) -> &[Told] {
        &self.state.told
    }

    /// What one answer promises to whoever it is about, where noise is added as `form` says.
    #[must_use]
    pub fn ledger(&self, form: DeploymentForm) -> Ledger {
        let mut ledger = self.ledger.clone();
        form.state_in(&mut ledger);
        ledger
    }

    /// What one answer about a row takes from it; `None` where rewards pass no mechanism.
    /// * `session`, `column` — the name of the session and of what is measured
    #[must_use]
    pub fn spend(&self, form: DeploymentForm, session: &str, column: &str, row: usize) -> Option<Spend> {
        Spend::of_answer(&self.ledger(form), session, column, row as u64)
    }

    /// Whether rewards are released one by one, so that a data holder can release them too.
    #[must_use]
    pub fn releases_rewards(&self) -> bool {
        self.release.people().is_none()
    }

    /// Whether the saved state holds raw sums of rewards, as secret as the rewards.
    #[must_use]
    pub fn holds_raw(&self) -> bool {
        self.release.holds_raw()
    }

    /// Number of rows, and what tells their file from others.
    #[must_use]
    pub fn points(&self) -> (usize, &str) {
        (self.n_points, &self.fingerprint)
    }

    /// The state as plain data with a version, for [`Session::restore`].
    #[must_use]
    pub fn save(&self) -> serde_json::Value {
        serde_json::json!(self.state)
    }
}

/// The draws of a round: by number, so that a restored session draws what an uninterrupted one would.
fn draws(streams: &Streams, plan: &CellPlan, round: u64) -> PolicyStreams {
    PolicyStreams { start: streams.of(round, Purpose::Start), own: streams.of(round, Purpose::Policy(plan.policy.as_str())) }
}
