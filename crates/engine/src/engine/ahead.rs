//! Lets a device play rounds of trials ahead of the host.
//!
//! A lane of the device names the points of the next rounds, each of which the model that decides must choose
//! (`docs/derivations/device-loop.md`). Rewards are drawn, released and counted as in any run. The policy is updated when it is
//! asked for something: a recommendation, or a round that its lane leaves to the host. Such a lane, and every 64th trial, chooses
//! all rounds again on the way: one difference ends the run.

use super::decide::decide;
use super::lockstep::LockstepTrials;
use super::observer::{Observer, TrialEnd};
use super::player::{Player, Players};
use super::reward_source::RewardSource;
use super::rounds::Trials;
use super::scoring_error;
use crate::policy::Proposal;
use privateer_backend::{Ahead, Counters, Domain, LaneJob, LaneRound, MOST_ROUNDS, Screen};
use privateer_config::error::Error;
use privateer_gp::score::{Candidates, TrialScore};
use std::collections::VecDeque;
use std::sync::Arc;

/// Distance of the trials that choose every round again.
const CHECKED: u64 = 64;

/// Fewest rounds that are asked of a lane: below, its trial is screened round by round.
const FEWEST_ROUNDS: usize = 4;

/// From this number of points on, a trial that plays another point in nine of ten of at least [`FIRST_ROUNDS`] rounds is screened:
/// its rows are not shared by lanes.
const MANY_POINTS: usize = 10_000;
const FIRST_ROUNDS: usize = 64;

/// How the point of the coming round is found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum AheadRound {
    /// By the policy and the screen.
    #[default]
    Screened,
    /// The lane has named it.
    Named(u32),
    /// The lane is asked, for this number of rounds after those that it is told.
    Asked(usize),
    /// The host has decided it instead of the lane.
    Decided(u32),
}

/// A trial whose rounds a lane plays.
#[derive(Default)]
struct AheadTrial {
    coming: AheadRound,
    named: VecDeque<u32>,
    /// Rounds that the lane has not been told.
    untold: Vec<LaneRound>,
    has_begun: bool,
    /// Whether the trial is screened for good, once no named point is left.
    leaves: bool,
    /// Rounds that are asked of the lane.
    n_asked: usize,
    /// Rounds that the lane has named, the changes of the point in them, and the last one.
    n_named: usize,
    changes: usize,
    last: Option<u32>,
    /// The processor's screen of a trial that chooses rounds again; it has followed all of the policy's changes.
    screen: Option<Box<dyn Screen>>,
}

/// Holds trials that a device screens, and the lanes in which it plays their rounds ahead, if it does.
pub(super) struct DeviceTrials {
    pub(super) lockstep: LockstepTrials,
    ahead: Option<AheadPart>,
}

impl DeviceTrials {
    pub(super) fn new(lockstep: LockstepTrials) -> Self {
        Self { lockstep, ahead: None }
    }

    /// Returns whether lanes could play the rounds of all trials.
    pub(super) fn suit(&mut self, n_rounds: u64) -> bool {
        let Players { players, decider, .. } = &mut self.lockstep.players;
        let mut trials = players.iter_mut().zip(&self.lockstep.sources);
        decider.is_screened() && trials.all(|(player, source)| suits(player, source, n_rounds))
    }

    /// Lets lanes play the rounds of all trials ahead, before the first round.
    ///
    /// * `first` — lane of the first trial
    pub(super) fn go_ahead(&mut self, lanes: Arc<Ahead>, domain: Arc<dyn Domain>, first: usize, n_rounds: u64) {
        let new = |_| AheadTrial { n_asked: MOST_ROUNDS, ..AheadTrial::default() };
        let trials = self.lockstep.sources.iter().map(new).collect();
        self.ahead = Some(AheadPart { lanes, domain, first, n_rounds, trials, n_rounds_ahead: 0 });
    }

    /// Returns whether the coming round waits for a device.
    pub(super) fn wait(&self) -> bool {
        self.lockstep.players.is_on_device() && self.ahead.as_ref().is_none_or(AheadPart::waits)
    }
}

impl Trials for DeviceTrials {
    type Row = <LockstepTrials as Trials>::Row;

    fn propose(&mut self, round: u64) -> Result<(), Error> {
        if let Some(ahead) = &mut self.ahead {
            ahead.begin(round, &mut self.lockstep.players.players, &self.lockstep.sources)?;
        }
        self.lockstep.propose(round)
    }

    fn decide(&mut self) -> Result<(), Error> {
        self.lockstep.decide()?;
        match &mut self.ahead {
            Some(ahead) => ahead.decide(&mut self.lockstep.players),
            None => Ok(()),
        }
    }

    fn learn(&mut self, round: u64, observer: &dyn Observer) -> Result<(), Error> {
        self.lockstep.learn(round, observer)?;
        if let Some(ahead) = &mut self.ahead {
            ahead.learned(&self.lockstep.players.points, &self.lockstep.released);
        }
        Ok(())
    }

    fn row(&mut self, place: usize) -> Result<(Option<usize>, Self::Row), Error> {
        if let Some(ahead) = &mut self.ahead {
            ahead.catch_up(place, &mut self.lockstep.players.players[place], false)?;
        }
        self.lockstep.row(place)
    }

    fn end(mut self) -> Result<(Counters, Vec<TrialEnd>), Error> {
        let mut n_rounds_ahead = 0;
        if let Some(ahead) = &mut self.ahead {
            ahead.end(&mut self.lockstep.players.players)?;
            n_rounds_ahead = ahead.n_rounds_ahead;
        }
        let (mut counters, ends) = self.lockstep.end()?;
        counters.rounds += n_rounds_ahead;
        counters.candidates += n_rounds_ahead;
        Ok((counters, ends))
    }
}

/// The trials of a part that go ahead.
struct AheadPart {
    lanes: Arc<Ahead>,
    domain: Arc<dyn Domain>,
    /// Lane of the first trial.
    first: usize,
    n_rounds: u64,
    trials: Vec<AheadTrial>,
    /// Rounds without a screen: lanes or the host have decided them.
    n_rounds_ahead: u64,
}

/// Returns whether a lane could play the trial's rounds.
fn suits(player: &mut Player, source: &RewardSource, n_rounds: u64) -> bool {
    let is_known = player.policy.factor_ahead(n_rounds).is_some() && source.ahead(0).is_some();
    let is_whole = player.set.is_none() && player.plays.is_none();
    is_known && is_whole && player.policy.scores().is_some_and(|model| model.visited().is_some() && model.table().is_none())
}

impl AheadPart {
    /// Begins a round: takes points that lanes have named, or asks for more.
    fn begin(&mut self, round: u64, players: &mut [Player], sources: &[RewardSource]) -> Result<(), Error> {
        for (place, (player, source)) in players.iter_mut().zip(sources).enumerate() {
            self.trials[place].coming = self.coming(place, round, player, source);
            player.is_ahead = self.trials[place].coming != AheadRound::Screened;
            if !player.is_ahead {
                self.catch_up(place, player, false)?;
                // The screen of this round takes the change of the model.
                self.trials[place].screen = None;
            }
        }
        Ok(())
    }

    fn coming(&mut self, place: usize, round: u64, player: &mut Player, source: &RewardSource) -> AheadRound {
        let (lane, trial) = (self.first + place, &mut self.trials[place]);
        if let Some(point) = trial.named.pop_front() {
            return AheadRound::Named(point);
        }
        let n_points = source.instance.values().len();
        trial.leaves |= trial.n_asked < FEWEST_ROUNDS
            || MOST_ROUNDS <= trial.untold.len() + FEWEST_ROUNDS
            || (MANY_POINTS <= n_points && FIRST_ROUNDS <= trial.n_named && 9 * trial.n_named < 10 * trial.changes);
        // A lane leaves the first observation to the host.
        let is_prior = !trial.has_begun && trial.untold.is_empty();
        if trial.leaves || is_prior {
            return AheadRound::Screened;
        }
        let left = usize::try_from(self.n_rounds - round + 1).unwrap_or(usize::MAX);
        let wanted = trial.n_asked.min(MOST_ROUNDS - trial.untold.len()).min(left);
        let factors: Vec<f64> = (round..).map_while(|round| player.policy.factor_ahead(round)).take(wanted).collect();
        let ridge = player.policy.scores().and_then(|model| model.visited()).map(|visited| visited.ridge);
        let (Some(ridge), Some(noise), Some(clip)) = (ridge, source.ahead(factors.len()), source.clip()) else {
            trial.leaves = true;
            return AheadRound::Screened;
        };
        if factors.is_empty() {
            return AheadRound::Screened;
        }
        let mut rounds = trial.untold.clone();
        rounds.extend(factors.iter().zip(noise).map(|(&beta, (noise, added))| LaneRound::Open { beta, noise, added }));
        let function = (!trial.has_begun).then(|| Arc::clone(source.instance.values()));
        self.lanes.add(LaneJob { lane, function, ridge, clip, rounds });
        AheadRound::Asked(factors.len())
    }

    /// Returns whether a trial waits for a device.
    fn waits(&self) -> bool {
        self.trials.iter().any(|trial| matches!(trial.coming, AheadRound::Asked(_) | AheadRound::Screened))
    }

    /// Writes the points of the trials that go ahead; the host decides what lanes leave to it.
    fn decide(&mut self, Players { players, points, .. }: &mut Players) -> Result<(), Error> {
        for (place, (player, point)) in players.iter_mut().zip(points).enumerate() {
            if let AheadRound::Asked(asked) = self.trials[place].coming {
                self.trials[place].coming = match self.answer(place, asked)? {
                    Some(point) => AheadRound::Named(point),
                    None => AheadRound::Decided(self.decided(place, player)?),
                };
            }
            let trial = &mut self.trials[place];
            self.n_rounds_ahead += u64::from(trial.coming != AheadRound::Screened);
            match trial.coming {
                AheadRound::Named(named) => {
                    trial.n_named += 1;
                    trial.changes += usize::from(trial.last != Some(named));
                    trial.last = Some(named);
                    *point = named as usize;
                }
                AheadRound::Decided(decided) => {
                    *point = decided as usize;
                    player.is_ahead = false;
                }
                AheadRound::Screened | AheadRound::Asked(_) => {}
            }
        }
        Ok(())
    }

    /// Takes the answer of a lane that was asked for so many rounds; returns the point of the first, if the lane has named it.
    fn answer(&mut self, place: usize, asked: usize) -> Result<Option<u32>, Error> {
        let trial = &mut self.trials[place];
        let answer = match self.lanes.take(self.first + place) {
            Ok(answer) => answer,
            Err(error) if error.can_be_replaced() => {
                // The screen that follows meets the same device, and says what happened.
                trial.leaves = true;
                return Ok(None);
            }
            Err(error) => return Err(scoring_error(error)),
        };
        let n_told = trial.untold.len();
        let mut told = answer.actions.iter().zip(&trial.untold);
        if told.any(|(point, round)| !matches!(round, LaneRound::Forced { point: told, .. } if told == point)) {
            return Err(untrusted("a device played other points than it was told".to_owned()));
        }
        trial.has_begun = true;
        trial.leaves |= answer.is_unbounded || answer.actions.len() < n_told;
        let named = answer.actions.get(n_told..).unwrap_or(&[]);
        // A lane that was only paused has decided nothing wrong, unless it does not come forward at all.
        trial.leaves |= answer.is_paused && named.is_empty();
        let is_halted = named.len() < asked && !answer.is_paused;
        trial.n_asked = if is_halted { (trial.n_asked / 2).max(named.len()) } else { (2 * trial.n_asked).min(MOST_ROUNDS) };
        trial.untold.clear();
        trial.named.extend(named);
        Ok(trial.named.pop_front())
    }

    /// Decides a round that a lane has left to the host, after all rounds that the policy has not been told were chosen again.
    fn decided(&mut self, place: usize, player: &mut Player) -> Result<u32, Error> {
        self.catch_up(place, player, true)?;
        let screen = &mut self.trials[place].screen;
        let mut host = screen.take().unwrap_or_else(|| self.domain.open_on_host());
        let point = chosen(player, host.as_mut())?;
        *screen = Some(host).filter(|_| player.number.is_multiple_of(CHECKED));
        Ok(point)
    }

    /// Takes the released rewards of a round, of which lanes are told those that they have not named the points of.
    fn learned(&mut self, points: &[usize], released: &[Option<f64>]) {
        for ((trial, &point), reward) in self.trials.iter_mut().zip(points).zip(released) {
            if !matches!(trial.coming, AheadRound::Named(_)) && !trial.leaves {
                match *reward {
                    Some(reward) => trial.untold.push(LaneRound::Forced { point: point as u32, reward }),
                    None => trial.leaves = true,
                }
            }
        }
    }

    /// Tells the policy of a trial what it has not been told; chooses the points again in every 64th trial, and if asked to.
    fn catch_up(&mut self, place: usize, player: &mut Player, is_checked: bool) -> Result<(), Error> {
        let trial = &mut self.trials[place];
        let is_sampled = player.number.is_multiple_of(CHECKED);
        let pending = std::mem::take(&mut player.pending);
        if pending.is_empty() {
            return Ok(());
        }
        let mut host = (is_checked || is_sampled).then(|| trial.screen.take().unwrap_or_else(|| self.domain.open_on_host()));
        for (point, signal) in pending {
            if let Some(screen) = &mut host {
                let expected = chosen(player, screen.as_mut())?;
                if expected as usize != point {
                    return Err(untrusted(format!(
                        "a device played point {point} in trial {}, and the host chooses point {expected}",
                        player.number
                    )));
                }
            }
            player.policy.update(point, &signal);
        }
        trial.screen = host;
        Ok(())
    }

    /// Tells the policies of all trials that choose every round again what they have not been told.
    fn end(&mut self, players: &mut [Player]) -> Result<(), Error> {
        for (place, player) in players.iter_mut().enumerate() {
            if player.number.is_multiple_of(CHECKED) {
                self.catch_up(place, player, true)?;
            }
        }
        Ok(())
    }
}

/// Returns the point that a policy plays by a screen of the processor.
fn chosen(player: &mut Player, screen: &mut dyn Screen) -> Result<u32, Error> {
    let Proposal::Score { beta } = player.policy.propose(&mut player.streams) else {
        return Err(untrusted("a device played a round that has no exploration factor".to_owned()));
    };
    let Some(model) = player.policy.model() else {
        return Err(untrusted("a device played a round of a policy without a model".to_owned()));
    };
    let mut found = [Candidates::default()];
    let (scores, change) = model.scored();
    screen.round(&[TrialScore::new(0, change, beta, scores)], &mut found).map_err(scoring_error)?;
    let point = decide(&found[0], scores, beta, &mut Vec::new())?;
    model.screened();
    Ok(point as u32)
}

fn untrusted(problem: String) -> Error {
    Error::Untrusted { problem, hint: None }
}
