//! Runs a session whose rewards are observed elsewhere: ask for a row, tell its reward.
//!
//! A session is its spec, its points and what it was told: it is restored by telling the policy the same again. A mechanism of the
//! spec runs on the learner's side: a told reward first receives exact noise from the operating system's random source
//! ([`ChannelRelease`](privateer_privacy::release::ChannelRelease)), and only the released value reaches the policy. The noise is
//! drawn once and never redrawn. A data holder may add the same noise instead ([`HolderRelease`]). Where rewards are released one
//! by one, only the released value is kept; where sums over users are, their raw rewards are, with the key of each round's noise.

use super::decider::Decider;
use super::player::Player;
use super::players::Players;
use super::prepare::Preparation;
use super::session_parts::{SessionParts, refuse, session_parts};
use crate::policy::PolicyStreams;
use crate::spec::Sweep;
use privateer_config::error::{Diagnostic, Error};
use privateer_numerics::rng::Purpose;
use privateer_privacy::odometer::{DeploymentForm, Spend};
use privateer_privacy::release::{HolderRelease, KeptRelease};
use privateer_privacy::{Guarantee, Ledger, Raw, Released, Signal};

/// Runs a session: one policy over points, driven by `ask` and `tell`.
///
/// # Example: a session of three rounds, restored in between
/// ```no_run
/// # mod privateer { pub use {privateer_backend as backend, privateer_engine::*}; }
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
///     session = Session::replay(&sweep, &preparation, (session.told().to_vec(), session.asked()), |_| Ok(()))?;
/// }
/// println!("best so far: row {:?}", session.best());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    parts: SessionParts,
    players: Players,
    /// Every told round, in order.
    told: Vec<ToldRound>,
    /// The row that was asked for and whose reward is still to come.
    asked: Option<u64>,
}

/// One told round.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldRound {
    /// The row, 0-based.
    pub row: u64,
    /// What is kept of the release, which is never drawn again.
    pub kept: KeptRelease,
}

impl ToldRound {
    /// Returns the reward as released to the policy; `None` where only sums over users are released.
    pub fn released(&self) -> Option<f64> {
        match self.kept {
            KeptRelease::Reward(reward) => Some(reward),
            KeptRelease::Item(_) | KeptRelease::Raw { .. } => None,
        }
    }
}

/// Largest unclipped reward, in multiples of the stated bound.
///
/// Beyond it the model's numbers would be damaged for good. A mechanism that clips needs no limit.
const MOST_BOUNDS: f64 = 1000.0;

fn damaged(why: &str) -> Error {
    let problem = format!("the state of the session is damaged: {why}");
    Diagnostic::new(problem).hint("restore the file from a copy").error()
}

impl Session {
    /// Starts a session; the spec has one cell over `points-table` with a stated `bound`.
    ///
    /// # Errors
    /// If the spec has several cells, a curator or rewards of its own, if the mechanism's claim does not hold, or if a run
    /// would fail.
    pub fn start(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Self, Error> {
        Self::fresh(sweep, preparation).map(Self::open)
    }

    fn fresh(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Self, Error> {
        let (parts, policy) = session_parts(sweep, preparation)?;
        let players = Players::new(vec![Player::new(0, policy, parts.draws(0))], Decider::Listed);
        Ok(Self { parts, players, told: Vec::new(), asked: None })
    }

    /// Lets a backend score, from the coming round on.
    fn open(mut self) -> Self {
        if let Some(domain) = &self.parts.domain {
            self.players.decider = Decider::Screened { screen: domain.open(1), answers: Vec::new() };
        }
        self
    }

    /// Restores a session from what it was told: the policy takes the same signals again.
    ///
    /// * `told`, `asked` — the rounds so far, and the row whose reward is still to come
    /// * `check` — refuses a session to which these rounds do not belong
    ///
    /// # Errors
    /// As [`Session::start`] and `check`; rounds that do not belong to the spec or its points.
    pub fn replay(
        sweep: &Sweep,
        preparation: &Preparation<'_>,
        (told, asked): (Vec<ToldRound>, Option<u64>),
        check: impl FnOnce(&Self) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let session = Self::fresh(sweep, preparation)?;
        check(&session)?;
        session.replayed(told, asked)
    }

    fn replayed(mut self, told: Vec<ToldRound>, asked: Option<u64>) -> Result<Self, Error> {
        let n = self.parts.n_points as u64;
        if told.iter().map(|told| told.row).chain(asked).any(|row| n <= row) {
            return Err(damaged("it names rows that are not there"));
        }
        let (n_told, rounds) = (told.len() as u64, self.parts.plan.rounds);
        if rounds < n_told || rounds == n_told && asked.is_some() {
            return Err(damaged(&format!("it holds more than the {rounds} rounds of its spec")));
        }
        for ToldRound { row, kept } in told {
            // The choice is known: nothing is scored.
            self.players.propose(self.told.len() as u64 + 1)?;
            self.players.points[0] = row as usize;
            let signal = self.parts.release.again(&self.players.query(0), &kept);
            let signal = signal.map_err(|_| damaged("its mechanism and its rewards do not belong together"))?;
            self.learn(kept, signal)?;
        }
        if let Some(row) = asked {
            self.players.propose(self.told.len() as u64 + 1)?;
            self.players.points[0] = row as usize;
        }
        self.asked = asked;
        Ok(self.open())
    }

    /// Returns the row to observe next, 0-based; the same row until its reward is told.
    ///
    /// # Errors
    /// If all rounds are told, or a score is not finite.
    pub fn ask(&mut self) -> Result<usize, Error> {
        if let Some(row) = self.asked {
            return Ok(row as usize);
        }
        let rounds = self.parts.plan.rounds;
        if rounds <= self.told.len() as u64 {
            return Diagnostic::new(format!("the session is over: all {rounds} rounds are told"))
                .hint("`privateer ask STATE --best` names the best row so far; a longer session needs a spec with more `rounds`")
                .refuse();
        }
        self.players.propose(self.told.len() as u64 + 1)?;
        self.players.decide()?;
        let row = self.players.points[0];
        self.asked = Some(row as u64);
        Ok(row)
    }

    /// Takes the reward observed at the asked row; returns the round as it was released.
    ///
    /// # Errors
    /// If the row is not the asked one or was told already, the reward is not finite, or there is no entropy. The session is
    /// then unchanged.
    pub fn tell(&mut self, row: usize, reward: f64) -> Result<ToldRound, Error> {
        self.check_reward(row, reward)?;
        let released = self.parts.release.release_to_keep(&self.players.query(0), Raw::seal(reward));
        let (signal, kept) = released.map_err(|why| Error::Failed {
            problem: format!("the reward was not released: {why}"),
            hint: "nothing was kept of it; tell it again".to_owned(),
        })?;
        self.learn(kept, signal)
    }

    /// Takes a value that the data holder has released for the row that was asked for: no noise is added to it.
    ///
    /// # Errors
    /// As [`Session::check_received`]. The session is then as it was.
    pub fn tell_received(&mut self, row: usize, received: &HolderRelease) -> Result<ToldRound, Error> {
        let signal = self.check_received(row, received)?;
        self.learn(KeptRelease::Reward(received.released), signal)
    }

    /// Fails where a released value is not the one that this session asked for, or states another mechanism.
    ///
    /// # Errors
    /// Another row or round, mechanism, epsilon, delta or clip; a session that learns from sums.
    pub fn check_received(&self, row: usize, received: &HolderRelease) -> Result<Released<Signal>, Error> {
        self.check_row(row)?;
        let ledger = &self.parts.ledger;
        if !self.releases_rewards() {
            return refuse(
                format!(
                    "mechanism `{}` releases sums over users, and one released value cannot be part of them",
                    ledger.mechanism
                ),
                "use a policy that learns from rewards one by one, such as `tgp-ucb`",
            );
        }
        let round = self.told.len() as u64 + 1;
        if let Some((low, high)) = self.parts.outputs
            && !(low..=high).contains(&received.released)
        {
            return refuse(
                format!("`{}` with this epsilon and clip releases no value like {}", ledger.mechanism, received.released),
                &format!("its values lie from {low} to {high}; ask the data holder for the answer again"),
            );
        }
        received.checked(ledger, row as u64, round).or_else(|differences| {
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
        if !reward.is_finite() {
            return refuse(
                format!("the reward of row {row} is {reward}"),
                "tell a finite number, in the units of `environment.bound`",
            );
        }
        // A mechanism clips its inputs; refusing a reward here would reveal something about it.
        let bound = self.parts.bound;
        if self.parts.ledger.guarantee == Guarantee::NotPrivate && MOST_BOUNDS * bound < reward.abs() {
            return refuse(
                format!("the reward of row {row} is {reward:?}, more than {MOST_BOUNDS} times the declared bound of {bound}"),
                "tell it in the units of `environment.bound`; larger rewards need a session whose spec states a larger `bound`",
            );
        }
        Ok(())
    }

    fn check_row(&self, row: usize) -> Result<(), Error> {
        let Some(asked) = self.asked else {
            return match self.told.last() {
                Some(last) if last.row == row as u64 => refuse(
                    format!("row {row} was told already, as round {}", self.told.len()),
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

    /// Updates the policy with what was released of the played row.
    fn learn(&mut self, kept: KeptRelease, signal: Released<Signal>) -> Result<ToldRound, Error> {
        let told = ToldRound { row: self.players.points[0] as u64, kept };
        self.players.update(0, signal);
        self.players.end_round(self.told.len() as u64 + 1)?;
        self.told.push(told.clone());
        self.asked = None;
        self.players.players[0].streams = self.parts.draws(self.told.len() as u64);
        Ok(told)
    }

    /// Returns the session before its last reward was told; the row is then asked for again.
    ///
    /// # Errors
    /// If rewards were released with noise (telling one again would draw a second time), if the session keeps sums instead of
    /// rewards, if no reward was told, and as [`Session::replay`].
    pub fn undo(sweep: &Sweep, preparation: &Preparation<'_>, mut told: Vec<ToldRound>) -> Result<Self, Error> {
        let session = Self::fresh(sweep, preparation)?;
        if session.parts.ledger.guarantee != Guarantee::NotPrivate {
            return refuse(
                "the last reward was released with noise, and is not taken back",
                "telling it again would draw a second time for the same reward, which spends its budget twice",
            );
        }
        let Some(last) = told.pop() else {
            return refuse("nothing is told so far, so nothing is taken back", "ask first: `privateer ask STATE`");
        };
        let mut session = session.replayed(told, None)?;
        if session.ask()? as u64 != last.row {
            return Err(damaged("its last row is not the one that was asked for"));
        }
        Ok(session)
    }

    /// Returns the told row with the highest posterior mean; `None` before the first.
    pub fn best(&self) -> Option<usize> {
        self.players.players[0].policy.recommend()
    }

    /// Returns the number of rounds told so far, and the number of rounds in all.
    pub fn progress(&self) -> (u64, u64) {
        (self.told.len() as u64, self.parts.plan.rounds)
    }

    /// Returns the told rounds, in order, as the policy saw them.
    pub fn told(&self) -> &[ToldRound] {
        &self.told
    }

    /// What one answer promises to whoever it is about, where noise is added as `form` says.
    pub fn ledger(&self, form: DeploymentForm) -> Ledger {
        let mut ledger = self.parts.ledger.clone();
        form.state_in(&mut ledger);
        ledger
    }

    /// What one answer about a row takes from it; `None` where rewards pass no mechanism.
    /// * `session`, `column` — the name of the session and of what is measured
    pub fn spend(&self, form: DeploymentForm, session: &str, column: &str, row: usize) -> Option<Spend> {
        Spend::of_answer(&self.ledger(form), session, column, row as u64)
    }

    /// Whether rewards are released one by one, so that a data holder can release them too.
    pub fn releases_rewards(&self) -> bool {
        self.parts.release.releases_rewards()
    }

    /// Returns whether raw rewards are kept, from which sums are released.
    pub fn holds_raw(&self) -> bool {
        self.parts.release.holds_raw()
    }

    /// Returns the row that was asked for and whose reward is still to come.
    pub fn asked(&self) -> Option<u64> {
        self.asked
    }

    /// Returns the hash of the resolved spec.
    pub fn spec_hash(&self) -> &str {
        &self.parts.spec_hash
    }

    /// Returns the number of rows and the fingerprint of their file.
    pub fn points(&self) -> (usize, &str) {
        (self.parts.n_points, &self.parts.fingerprint)
    }
}

impl SessionParts {
    /// Returns the streams of a round, by number, so that a restored session draws the same values.
    fn draws(&self, round: u64) -> PolicyStreams {
        let of = |purpose| self.streams.of(round, purpose);
        PolicyStreams { start: of(Purpose::Start), own: of(Purpose::Policy(&self.plan.policy)) }
    }
}
