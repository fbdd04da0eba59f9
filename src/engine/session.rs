//! Runs a session whose rewards are observed elsewhere: ask for a row, tell its reward.
//!
//! The state is plain data with a version, and can be saved between any two calls. A mechanism of the spec runs on the
//! learner's side: a told reward first receives exact noise from the operating system's random source ([`ChannelRelease`]), and
//! only the released value reaches the policy. The noise is drawn once and never redrawn. A data holder may add the same noise
//! instead ([`HolderRelease`]). Where rewards are released one by one, only the released value is stored; running sums over
//! users are stored raw, inside the mechanism's own state.

use super::decider::Decider;
use super::player::{Player, Players};
use super::prepare::Preparation;
use super::session_parts::{SessionParts, session_parts};
use crate::policy::{Policy, PolicyStreams};
use crate::spec::{CellPlan, Sweep};
use privateer_config::error::{Diagnostic, Error};
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::odometer::{DeploymentForm, Spend};
use privateer_privacy::release::{ChannelRelease, HolderRelease};
use privateer_privacy::{Guarantee, Ledger, Raw, Released, Signal};
use serde::{Deserialize, Serialize};

/// Runs a session: one policy over points, driven by `ask` and `tell`.
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
    players: Players,
    release: ChannelRelease,
    /// Of one answer, as the mechanism is simulated.
    ledger: Ledger,
    /// Stated bound on the mean reward.
    bound: f64,
    /// Range of what the mechanism releases.
    outputs: Option<(f64, f64)>,
    n_points: usize,
    fingerprint: String,
    state: SessionState,
}

/// Holds the saved state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SessionState {
    version: u32,
    /// Hash of the resolved spec.
    spec_hash: String,
    /// Fingerprint of the points.
    fingerprint: String,
    /// Number of changes of the state, which reveals two programs that use one session at once.
    revision: u64,
    /// The row that was asked for and whose reward is still to come.
    asked: Option<u64>,
    /// Every told round, in order; released values are never redrawn.
    told: Vec<ToldRound>,
    /// The policy's state.
    policy: serde_json::Value,
    /// The mechanism's state across rounds; null for mechanisms without one.
    privatizer: serde_json::Value,
}

/// Holds one told round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ToldRound {
    /// The row, 0-based.
    pub row: u64,
    /// The reward as released to the policy; `None` where only sums over users are released.
    pub released: Option<f64>,
}

/// Version of the saved state.
const STATE_VERSION: u32 = 1;

/// Largest unclipped reward, in multiples of the stated bound.
///
/// Beyond it the model's numbers would be damaged for good. A mechanism that clips needs no limit.
const MOST_BOUNDS: f64 = 1000.0;

impl SessionState {
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
        let absent = |told: &ToldRound| n <= told.row || told.released.is_some_and(|reward| !reward.is_finite());
        if self.asked.is_some_and(|row| n <= row) || self.told.iter().any(absent) {
            return Err(damaged("it names rows or rewards that are not there"));
        }
        let (told, rounds) = (self.told.len() as u64, parts.plan.rounds);
        if rounds < told || rounds == told && self.asked.is_some() {
            return Err(damaged(&format!("it holds more than the {rounds} rounds of its spec")));
        }
        // Every change is one `ask` or one `tell`.
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
    /// Starts a session; the spec has one cell over `points-table` with a stated `bound`.
    ///
    /// # Errors
    /// If the spec has several cells, a curator or rewards of its own, if the mechanism's claim does not hold, or if a run
    /// would fail.
    pub fn start(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Self, Error> {
        Self::fresh(sweep, session_parts(sweep, preparation)?)
    }

    fn fresh(sweep: &Sweep, parts: SessionParts) -> Result<Self, Error> {
        let policy = parts.maker.make(&parts.setting)?;
        let state = SessionState {
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

    /// Restores a session from its saved state, with its original spec and points.
    ///
    /// # Errors
    /// If the state is of another spec, of other points or of a newer version, or if it is inconsistent.
    pub fn restore(sweep: &Sweep, preparation: &Preparation<'_>, saved: &serde_json::Value) -> Result<Self, Error> {
        let state = SessionState::read(sweep, saved)?;
        let mut parts = session_parts(sweep, preparation)?;
        state.check(&parts)?;
        let told = state.told.len() as u64;
        let sums = parts.release.users().is_some();
        if state.told.iter().any(|told| told.released.is_none() != sums) {
            return Err(damaged("its mechanism and its rewards do not belong together"));
        }
        parts.release.load(state.privatizer.clone()).map_err(|why| damaged(&format!("what its mechanism keeps: {why}")))?;
        if let Some(users) = parts.release.users().filter(|users| *users != told) {
            return Err(damaged(&format!("{told} rounds are told, and its mechanism has taken {users}")));
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

    fn assemble(parts: SessionParts, policy: Box<dyn Policy>, state: SessionState) -> Self {
        let SessionParts { plan, streams, domain, release, ledger, bound, outputs, n_points, fingerprint, .. } = parts;
        let draws = draws(&streams, &plan, state.told.len() as u64);
        let decider = domain.map_or(Decider::Listed, |domain| Decider::screened(domain.open(1), 1, None));
        let players = Players::new(vec![Player::new(0, policy, draws)], decider);
        Self { plan, streams, players, release, ledger, bound, outputs, n_points, fingerprint, state }
    }

    /// Returns the row to observe next, 0-based; the same row until its reward is told.
    ///
    /// # Errors
    /// If all rounds are told, or a score is not finite.
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
        self.players.propose(self.state.told.len() as u64 + 1)?;
        self.players.decide()?;
        let row = self.players.points[0];
        self.state.asked = Some(row as u64);
        self.changed();
        Ok(row)
    }

    /// Takes the reward observed at the asked row; returns the round as it was released.
    ///
    /// # Errors
    /// If the row is not the asked one or was told already, the reward is not finite, or there is no entropy. The session is
    /// then unchanged.
    pub fn tell(&mut self, row: usize, reward: f64) -> Result<ToldRound, Error> {
        self.check_reward(row, reward)?;
        self.take(row, reward)
    }

    /// Takes a value that the data holder has released for the row that was asked for: no noise is added to it.
    ///
    /// # Errors
    /// As [`Session::check_received`]. The session is then as it was.
    pub fn tell_received(&mut self, row: usize, received: &HolderRelease) -> Result<ToldRound, Error> {
        let signal = self.check_received(row, received)?;
        self.keep(row, &signal)
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
                    "mechanism `{}` releases sums over users, and one released value cannot be part of them",
                    self.ledger.mechanism
                ),
                "use a policy that learns from rewards one by one, such as `tgp-ucb`",
            );
        }
        let round = self.state.told.len() as u64 + 1;
        if let Some((low, high)) = self.outputs
            && !(low..=high).contains(&received.released)
        {
            return refuse(
                format!("`{}` with this epsilon and clip releases no value like {}", self.ledger.mechanism, received.released),
                &format!("its values lie from {low} to {high}; ask the data holder for the answer again"),
            );
        }
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
        // A mechanism clips its inputs; refusing a reward here would reveal something about it.
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

    /// Releases and records the reward of the asked row.
    fn take(&mut self, row: usize, reward: f64) -> Result<ToldRound, Error> {
        let released = self.release.release(&self.players.players[0].query(row), Raw::seal(reward));
        let signal = released.map_err(|why| Error::Failed {
            problem: format!("the reward was not released: {why}"),
            hint: "nothing was kept of it; tell it again".to_owned(),
        })?;
        self.keep(row, &signal)
    }

    fn keep(&mut self, row: usize, signal: &Released<Signal>) -> Result<ToldRound, Error> {
        let told = ToldRound { row: row as u64, released: signal.reward().filter(|_| self.releases_rewards()) };
        self.players.players[0].update(row, signal);
        self.players.end_round(self.state.told.len() as u64 + 1, &[told.released])?;
        self.state.told.push(told);
        self.state.privatizer = self.release.save();
        self.state.asked = None;
        self.players.players[0].streams = draws(&self.streams, &self.plan, self.state.told.len() as u64);
        self.changed();
        Ok(told)
    }

    /// Returns the session of a saved state before its last reward was told.
    ///
    /// The row is then asked for again. A row asked for after it is dropped too.
    ///
    /// # Errors
    /// If rewards were released with noise (telling one again would draw a second time), if the session stores sums instead of
    /// rewards, if no reward was told, and as [`Session::restore`].
    pub fn undo(sweep: &Sweep, preparation: &Preparation<'_>, saved: &serde_json::Value) -> Result<Self, Error> {
        let refuse = |problem: &str, hint: &str| Err(Error::input(Diagnostic::new(problem).hint(hint)));
        let state = SessionState::read(sweep, saved)?;
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
        self.state.policy = self.players.players[0].policy.save();
        self.state.revision += 1;
    }

    /// Returns the told row with the highest posterior mean; `None` before the first.
    #[must_use]
    pub fn best(&self) -> Option<usize> {
        self.players.players[0].policy.recommend()
    }

    /// Returns the number of rounds told so far, and the number of rounds in all.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.state.told.len() as u64, self.plan.rounds)
    }

    /// Returns the told rounds, in order, as the policy saw them.
    #[must_use]
    pub fn told(&self) -> &[ToldRound] {
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
        self.release.users().is_none()
    }

    /// Returns whether the saved state holds raw sums of rewards, as secret as the rewards.
    #[must_use]
    pub fn holds_raw(&self) -> bool {
        self.release.holds_raw()
    }

    /// Returns the number of rows and the fingerprint of their file.
    #[must_use]
    pub fn points(&self) -> (usize, &str) {
        (self.n_points, &self.fingerprint)
    }

    /// Returns the state as plain data with a version, for [`Session::restore`].
    #[must_use]
    pub fn save(&self) -> serde_json::Value {
        serde_json::json!(self.state)
    }
}

/// Returns the streams of a round, by number, so that a restored session draws the same values.
fn draws(streams: &Streams, plan: &CellPlan, round: u64) -> PolicyStreams {
    PolicyStreams { start: streams.of(round, Purpose::Start), own: streams.of(round, Purpose::Policy(plan.policy.as_str())) }
}
