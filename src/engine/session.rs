//! A run whose rewards are observed elsewhere: ask for a row, tell what came of it. State is plain data with a version, to be
//! kept between any two calls.
//!
//! A mechanism of the spec sits on the learner's side: what is told passes exact noise from the operating system ([`ChannelRelease`])
//! before anything else, and only what is released reaches the policy. It is drawn once and never again. Of rewards one by one only the
//! released value is kept; running sums over people are kept raw, inside the mechanism's own state.

use super::ask_tell::AskTell;
use super::prepare::Preparation;
use crate::backend::Domain;
use crate::error::{Diagnostic, Error};
use crate::policy::{Policy, PolicyMaker, PolicyStreams, Setting};
use crate::privacy::release::ChannelRelease;
use crate::privacy::{Adversary, Guarantee, Ledger, Provenance, Raw, SIMULATED_NOISE};
use crate::rng::{Purpose, Streams};
use crate::spec::{CellPlan, Sweep, Task};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    ledger: Ledger,
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

/// A session's parts as its spec gives them.
struct Parts {
    plan: CellPlan,
    streams: Streams,
    maker: Box<dyn PolicyMaker>,
    setting: Setting,
    domain: Option<Arc<dyn Domain>>,
    release: ChannelRelease,
    ledger: Ledger,
    n_points: usize,
    fingerprint: String,
}

impl Session {
    /// A session before its first round; the spec has one cell over `points-table` with a stated `bound`.
    ///
    /// # Errors
    /// A spec of several cells, with a curator of its own or rewards of its own; a mechanism whose claim does not hold; whatever
    /// a run would refuse.
    pub fn start(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Self, Error> {
        let parts = parts(sweep, preparation)?;
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
        let refuse = |problem: String, hint: &str| Err(Error::input(Diagnostic::new(problem).hint(hint)));
        match saved["version"].as_u64() {
            Some(version) if version == u64::from(STATE_VERSION) => {}
            Some(version) if u64::from(STATE_VERSION) < version => {
                return refuse(
                    format!("the session has version {version}; this program reads up to {STATE_VERSION}"),
                    "use the program that wrote it, or a newer one",
                );
            }
            _ => {
                return refuse(
                    "the state is of no session that this program knows".to_owned(),
                    "start one with `privateer init`",
                );
            }
        }
        let state: State = match serde_json::from_value(saved.clone()) {
            Ok(state) => state,
            Err(source) => {
                return refuse(format!("the state of the session is damaged ({source})"), "restore the file from a copy");
            }
        };
        let parts = parts(sweep, preparation)?;
        if state.spec_hash != sweep.hash {
            return refuse("the session was begun with another spec".to_owned(), "continue it with the spec that it holds");
        }
        if state.fingerprint != parts.fingerprint {
            return refuse(
                format!(
                    "the points changed since the session began (fingerprint {}, now {})",
                    state.fingerprint, parts.fingerprint
                ),
                "restore the file of points: rows are told by their index",
            );
        }
        let damaged = |why: &str| {
            let problem = format!("the state of the session is damaged: {why}");
            Error::input(Diagnostic::new(problem).hint("restore the file from a copy"))
        };
        let (n, told, rounds) = (parts.n_points as u64, state.told.len() as u64, parts.plan.rounds);
        let absent = |told: &Told| n <= told.row || told.released.is_some_and(|reward| !reward.is_finite());
        if state.asked.is_some_and(|row| n <= row) || state.told.iter().any(absent) {
            return Err(damaged("it names rows or rewards that are not there"));
        }
        if rounds < told || rounds == told && state.asked.is_some() {
            return Err(damaged(&format!("it holds more than the {rounds} rounds of its spec")));
        }
        // Every change asks or tells once.
        if state.revision != 2 * told + u64::from(state.asked.is_some()) {
            return Err(damaged(&format!("revision {} does not follow from {told} rounds", state.revision)));
        }
        let mut parts = parts;
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

    fn assemble(parts: Parts, policy: Box<dyn Policy>, state: State) -> Self {
        let Parts { plan, streams, domain, release, ledger, n_points, fingerprint, .. } = parts;
        let draws = draws(&streams, &plan, state.told.len() as u64);
        let asked = AskTell::resumed(policy, draws, domain.as_ref(), state.asked.map(|row| row as usize));
        Self { plan, streams, asked, release, ledger, n_points, fingerprint, state }
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
        if !reward.is_finite() {
            return refuse(
                format!("the reward of row {row} is {reward}"),
                "tell a finite number, in the units of `environment.bound`",
            );
        }
        let released = self.release.release(&self.asked.query(), Raw::seal(reward));
        let signal = released.map_err(|why| Error::Failed {
            problem: format!("the reward was not released: {why}"),
            hint: "nothing was kept of it; tell it again".to_owned(),
        })?;
        let told = Told { row: asked, released: signal.reward() };
        self.asked.tell(&signal);
        self.state.told.push(told);
        self.state.privatizer = self.release.save();
        self.state.asked = None;
        self.asked.draw_from(draws(&self.streams, &self.plan, self.state.told.len() as u64));
        self.changed();
        Ok(told)
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

    /// What is promised to whoever a reward belongs to.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
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

fn parts(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Parts, Error> {
    let refuse = |problem: String, hint: &str| Err(Error::input(Diagnostic::new(problem).hint(hint)));
    let [plan] = sweep.cells.as_slice() else {
        return refuse(
            format!("the spec has {} cells, and a session runs one policy at one setting", sweep.cells.len()),
            "drop `[sweep…]` and all but one `[[policy]]`, or fix swept keys with `--set`",
        );
    };
    let Task::Bandit(bandit) = &plan.task else {
        return refuse(
            format!("`{}` is no policy over points, and a session asks for points one by one", plan.policy),
            "state `[environment]` and one `[[policy]]`",
        );
    };
    if bandit.curator.is_some() {
        return refuse(
            "the spec has a `[curator]`, and the points of a session are given out already".to_owned(),
            "release them with `privateer curate`, name its files in `environment.file` and `environment.released`, and drop `[curator]`",
        );
    }
    let cell = preparation.cell(plan).map_err(|error| plan.placed(error))?;
    let Some(facts) = cell.environment.told_rewards() else {
        return refuse(
            "rewards of a session are told, and nothing in the spec bounds them".to_owned(),
            "use `points-table` with a stated `bound` on |f|, in units of the rewards",
        );
    };
    let channel = bandit.privacy.channel(&facts, true, cell.maker.sums())?;
    let mut ledger = channel.ledger();
    cell.environment.derived_from_rewards().state_in(&mut ledger);
    if let Guarantee::NoGuarantee { .. } = ledger.guarantee {
        return refuse(
            format!("mechanism `{}` has {}", ledger.mechanism, ledger.guarantee),
            "use `reading = \"tight\"`, and state `privacy.clip` where the noise is unbounded",
        );
    }
    if let (Some(claimed), Some(delivered)) = (ledger.epsilon, ledger.delivered_epsilon)
        && 1e-6 * claimed < (claimed - delivered).abs()
    {
        return refuse(
            format!(
                "the mechanism claims epsilon = {claimed} and delivers {delivered:.6}, and exact noise delivers what is claimed"
            ),
            "use `reading = \"tight\"`",
        );
    }
    let release = ChannelRelease::of(&channel).map_err(|why| {
        Error::input(
            Diagnostic::new(format!("mechanism `{}` has no exact form: {why}", ledger.mechanism))
                .hint("choose another `privacy.mechanism`"),
        )
    })?;
    // Fresh exact noise takes the place of the simulation's.
    ledger.provenance = Provenance::Released;
    ledger.notes.retain(|note| note != SIMULATED_NOISE);
    // Whoever calls `tell` sees the raw reward before noise is added: no local model.
    if ledger.threat_model.adversary == Adversary::Server {
        ledger.threat_model.adversary = Adversary::Observer;
    }
    let setting = Setting::new(&facts, &channel, cell.environment.train_readings().cloned());
    let fingerprint = cell.environment.facts().into_iter().find(|(name, _)| name.starts_with("fingerprint"));
    Ok(Parts {
        n_points: cell.environment.gram().n_points(),
        fingerprint: fingerprint.and_then(|(_, value)| value.as_str().map(str::to_owned)).unwrap_or_default(),
        streams: Streams::new(sweep.seed, "session"),
        plan: cell.plan,
        maker: cell.maker,
        domain: cell.domain,
        setting,
        release,
        ledger,
    })
}
