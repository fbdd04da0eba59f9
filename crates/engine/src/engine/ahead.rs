//! Lets a device play rounds of trials ahead of the host.
//!
//! A lane of the device names the points of the next rounds, each of which the model that decides must choose
//! (`docs/derivations/device-loop.md`), and after recorded rounds the point that the policy recommends. Rewards are drawn, released and
//! counted as in any run. The policy is updated when it is asked for something that its lane leaves to the host. Where that is a round,
//! and in every 64th trial, all rounds are chosen again on the way: one difference ends the run.

use super::decide::decide;
use super::lockstep::LockstepTrials;
use super::observer::{Observer, TrialEnd};
use super::player::Player;
use super::players::Players;
use super::reward_source::RewardSource;
use super::rounds::Trials;
use super::scoring_error;
use crate::policy::Proposal;
use privateer_backend::{Ahead, Counters, Domain, LaneJob, LaneRound, MOST_ROUNDS, Screen};
use privateer_config::error::Error;
use privateer_gp::score::{Candidates, TrialScore};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Distance of the trials that choose every round again.
pub(super) const CHECKED: u64 = 64;

/// Most rounds that a policy has not been told at a recorded round.
const MOST_PENDING: usize = 1024;

/// Fewest rounds that are asked of a lane: below, its trial is screened round by round.
const FEWEST_ROUNDS: usize = 4;

/// From this number of points on, a trial that plays another point in nine of ten of at least [`FIRST_ROUNDS`] rounds is screened:
/// its rows are not shared by lanes.
const MANY_POINTS: usize = 10_000;
const FIRST_ROUNDS: usize = 64;

/// How the point of the coming round is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AheadRound {
    /// By the policy and the screen.
    Screened,
    /// The lane has named it.
    Named(u32),
    /// The lane is asked, for this number of rounds after those that it is told.
    Asked(usize),
    /// The host has decided it instead of the lane.
    Decided,
}

/// Holds trials that a device screens, and the lanes in which it plays their rounds ahead, if it does.
pub(super) struct DeviceTrials {
    pub(super) lockstep: LockstepTrials,
    /// The lane of each trial; none if rounds are not played ahead.
    lanes: Vec<LaneTrial>,
}

/// A trial whose rounds a lane plays.
struct LaneTrial {
    lanes: Arc<Ahead>,
    lane: usize,
    domain: Arc<dyn Domain>,
    n_rounds: u64,
    /// The recorded rounds, ascending: after them the policy recommends a point.
    recorded: Arc<Vec<u64>>,
    coming: AheadRound,
    named: VecDeque<u32>,
    /// The recommended points after the named rounds that are recorded; `None` where the host finds it.
    recommended: VecDeque<Option<u32>>,
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
    /// Rounds without a screen: the lane or the host has decided them.
    n_ahead: u64,
    /// The processor's screen of a trial that chooses rounds again; it has followed all of the policy's changes.
    screen: Option<Box<dyn Screen>>,
}

impl DeviceTrials {
    pub(super) fn new(lockstep: LockstepTrials) -> Self {
        Self { lockstep, lanes: Vec::new() }
    }

    /// Returns whether lanes could play the rounds of all trials.
    pub(super) fn suit(&mut self, n_rounds: u64) -> bool {
        let Players { players, decider, .. } = &mut self.lockstep.players;
        let mut trials = players.iter_mut().zip(&mut self.lockstep.sources);
        decider.is_screened() && trials.all(|(player, source)| suits(player, source, n_rounds))
    }

    /// Lets lanes play the rounds of all trials ahead, before the first round.
    ///
    /// * `first` — lane of the first trial
    /// * `recorded` — the recorded rounds, ascending
    pub(super) fn go_ahead(
        &mut self,
        lanes: &Arc<Ahead>,
        domain: &Arc<dyn Domain>,
        first: usize,
        n_rounds: u64,
        recorded: &Arc<Vec<u64>>,
    ) {
        let lane = |lane| LaneTrial {
            lanes: Arc::clone(lanes),
            lane,
            domain: Arc::clone(domain),
            n_rounds,
            recorded: Arc::clone(recorded),
            coming: AheadRound::Screened,
            named: VecDeque::new(),
            recommended: VecDeque::new(),
            untold: Vec::new(),
            has_begun: false,
            leaves: false,
            n_asked: MOST_ROUNDS,
            n_named: 0,
            changes: 0,
            last: None,
            n_ahead: 0,
            screen: None,
        };
        self.lanes = (first..first + self.lockstep.sources.len()).map(lane).collect();
    }

    /// Returns how many rounds all lanes have named beyond those that were played.
    pub(super) fn n_named(&self) -> usize {
        self.lanes.iter().map(|lane| lane.named.len()).min().unwrap_or(0)
    }

    /// Plays rounds of the trial at a place that its lane has named.
    pub(super) fn play_named(&mut self, place: usize, rounds: Range<u64>, observer: &dyn Observer) -> Result<(), Error> {
        for round in rounds {
            let Some(point) = self.lanes[place].named.pop_front() else { return Ok(()) };
            let point = self.lanes[place].count(point);
            self.lockstep.players.points[place] = point;
            let signal = self.lockstep.reward(place, round, observer)?;
            self.lockstep.players.players[place].pending.push((point, signal));
        }
        Ok(())
    }

    /// Returns whether the coming round waits for a device.
    pub(super) fn wait(&self) -> bool {
        let waits = |lane: &LaneTrial| matches!(lane.coming, AheadRound::Asked(_) | AheadRound::Screened);
        self.lockstep.players.is_on_device() && (self.lanes.is_empty() || self.lanes.iter().any(waits))
    }
}

impl Trials for DeviceTrials {
    type Row = <LockstepTrials as Trials>::Row;

    fn propose(&mut self, round: u64) -> Result<(), Error> {
        let LockstepTrials { players, sources, .. } = &mut self.lockstep;
        for ((lane, player), source) in self.lanes.iter_mut().zip(&mut players.players).zip(sources) {
            lane.propose(round, player, source)?;
        }
        self.lockstep.propose(round)
    }

    fn decide(&mut self) -> Result<(), Error> {
        self.lockstep.decide()?;
        let Players { players, points, .. } = &mut self.lockstep.players;
        for ((lane, player), point) in self.lanes.iter_mut().zip(players).zip(points) {
            lane.decide(player, point)?;
        }
        Ok(())
    }

    fn learn(&mut self, round: u64, observer: &dyn Observer) -> Result<(), Error> {
        self.lockstep.learn(round, observer)?;
        let LockstepTrials { players, released, .. } = &self.lockstep;
        for ((lane, &point), &reward) in self.lanes.iter_mut().zip(&players.points).zip(released) {
            lane.learn(point, reward);
        }
        Ok(())
    }

    fn row(&mut self, place: usize) -> Result<(Option<usize>, Self::Row), Error> {
        let Some(lane) = self.lanes.get_mut(place) else { return self.lockstep.row(place) };
        let recommended = lane.recommended(&mut self.lockstep.players.players[place])?;
        Ok(self.lockstep.row_of(place, recommended))
    }

    fn end(mut self) -> Result<(Counters, Vec<TrialEnd>), Error> {
        for (lane, player) in self.lanes.iter_mut().zip(&mut self.lockstep.players.players) {
            if player.number.is_multiple_of(CHECKED) {
                lane.catch_up(player, true)?;
            }
        }
        let n_ahead: u64 = self.lanes.iter().map(|lane| lane.n_ahead).sum();
        let (mut counters, ends) = self.lockstep.end()?;
        counters.rounds += n_ahead;
        counters.candidates += n_ahead;
        Ok((counters, ends))
    }
}

/// Returns whether a lane could play the trial's rounds.
fn suits(player: &mut Player, source: &mut RewardSource, n_rounds: u64) -> bool {
    let is_known = player.policy.factors_ahead(n_rounds..n_rounds + 1).is_some() && source.ahead(0).is_some();
    let is_whole = player.set.is_none() && player.plays.is_none();
    is_known && is_whole && player.policy.scores().is_some_and(|model| model.visited().is_some() && model.table().is_none())
}

impl LaneTrial {
    /// Begins a round: takes a point that the lane has named, or asks for more.
    fn propose(&mut self, round: u64, player: &mut Player, source: &mut RewardSource) -> Result<(), Error> {
        self.coming = self.coming(round, player, source);
        player.is_ahead = self.coming != AheadRound::Screened;
        if !player.is_ahead {
            self.catch_up(player, false)?;
            // The screen of this round takes the change of the model.
            self.screen = None;
        }
        Ok(())
    }

    fn coming(&mut self, round: u64, player: &mut Player, source: &mut RewardSource) -> AheadRound {
        if let Some(point) = self.named.pop_front() {
            return AheadRound::Named(point);
        }
        let n_points = source.instance.values().n_points();
        self.leaves |= self.n_asked < FEWEST_ROUNDS
            || MOST_ROUNDS <= self.untold.len() + FEWEST_ROUNDS
            || (MANY_POINTS <= n_points && FIRST_ROUNDS <= self.n_named && 9 * self.n_named < 10 * self.changes);
        // A lane leaves the first observation to the host.
        let is_prior = !self.has_begun && self.untold.is_empty();
        if self.leaves || is_prior {
            return AheadRound::Screened;
        }
        let left = usize::try_from(self.n_rounds - round + 1).unwrap_or(usize::MAX);
        let wanted = self.n_asked.min(MOST_ROUNDS - self.untold.len()).min(left);
        let Some((factors, growth)) = player.policy.factors_ahead(round..round + wanted as u64) else {
            return AheadRound::Screened;
        };
        let ridge = player.policy.scores().and_then(|model| model.visited()).map(|visited| visited.ridge);
        let (clip, function) = (source.clip(), (!self.has_begun).then(|| source.instance.values().clone()));
        let (Some(ridge), Some(noise), Some(clip)) = (ridge, source.ahead(factors.len()), clip) else {
            self.leaves = true;
            return AheadRound::Screened;
        };
        let first = self.recorded.partition_point(|&recorded| recorded < round);
        let asked = self.recorded[first..].iter().map(|recorded| recorded - round);
        let asked = asked.take_while(|&at| at < factors.len() as u64);
        let recorded = asked.fold(0, |bits, at| bits | 1 << (self.untold.len() as u64 + at));
        let mut rounds = Vec::with_capacity(self.untold.len() + factors.len());
        rounds.extend(&self.untold);
        rounds.extend(factors.iter().zip(noise).map(|(&least, (noise, added))| LaneRound::Open { least, noise, added }));
        self.lanes.add(LaneJob { lane: self.lane, function, ridge, growth, clip, rounds, recorded });
        AheadRound::Asked(factors.len())
    }

    /// Writes the point of the round if the lane names it; the host decides what the lane leaves to it.
    fn decide(&mut self, player: &mut Player, point: &mut usize) -> Result<(), Error> {
        if let AheadRound::Asked(asked) = self.coming {
            self.coming = self.answer(asked)?.map_or(AheadRound::Decided, AheadRound::Named);
        }
        match self.coming {
            AheadRound::Named(named) => *point = self.count(named),
            AheadRound::Decided => {
                *point = self.decided(player)? as usize;
                player.is_ahead = false;
                self.n_ahead += 1;
            }
            AheadRound::Screened | AheadRound::Asked(_) => {}
        }
        Ok(())
    }

    /// Counts a round that the lane has named; returns its point.
    fn count(&mut self, point: u32) -> usize {
        self.coming = AheadRound::Named(point);
        self.n_named += 1;
        self.n_ahead += 1;
        self.changes += usize::from(self.last != Some(point));
        self.last = Some(point);
        point as usize
    }

    /// Takes the lane's answer for `asked` rounds; returns the point of the first, if the lane has named it.
    fn answer(&mut self, asked: usize) -> Result<Option<u32>, Error> {
        let answer = match self.lanes.take(self.lane) {
            Ok(answer) => answer,
            Err(error) if error.can_be_replaced() => {
                // The screen that follows meets the same device, and says what happened.
                self.leaves = true;
                return Ok(None);
            }
            Err(error) => return Err(scoring_error(error)),
        };
        let n_told = self.untold.len();
        let mut told = answer.actions.iter().zip(&self.untold);
        if told.any(|(point, round)| !matches!(round, LaneRound::Forced { point: told, .. } if told == point)) {
            return Err(untrusted("a device played other points than it was told".to_owned()));
        }
        self.has_begun = true;
        self.leaves |= answer.is_unbounded || answer.actions.len() < n_told;
        let named = answer.actions.get(n_told..).unwrap_or(&[]);
        // A lane that was only paused has decided nothing wrong, unless it does not come forward at all.
        self.leaves |= answer.is_paused && named.is_empty();
        let is_halted = named.len() < asked && !answer.is_paused;
        self.n_asked = if is_halted { (self.n_asked / 2).max(named.len()) } else { (2 * self.n_asked).min(MOST_ROUNDS) };
        self.untold.clear();
        self.named.extend(named);
        self.recommended.extend(answer.recommended);
        Ok(self.named.pop_front())
    }

    /// Decides a round that the lane has left to the host, after all rounds that the policy has not been told were chosen again.
    fn decided(&mut self, player: &mut Player) -> Result<u32, Error> {
        self.catch_up(player, true)?;
        let mut host = self.screen.take().unwrap_or_else(|| self.domain.open_on_host());
        let point = chosen(player, host.as_mut())?;
        self.screen = Some(host).filter(|_| player.number.is_multiple_of(CHECKED));
        Ok(point)
    }

    /// Takes the released reward of a round; the lane is told it unless it has named the point.
    fn learn(&mut self, point: usize, reward: Option<f64>) {
        if matches!(self.coming, AheadRound::Named(_)) || self.leaves {
            return;
        }
        match reward {
            Some(reward) => self.untold.push(LaneRound::Forced { point: point as u32, reward }),
            None => self.leaves = true,
        }
    }

    /// Returns the point that the policy recommends after a recorded round, if the lane has named it; compares it in every 64th
    /// trial.
    ///
    /// Where the lane has not, the policy is told all that it recommends from.
    fn recommended(&mut self, player: &mut Player) -> Result<Option<usize>, Error> {
        let named = if let AheadRound::Named(_) = self.coming { self.recommended.pop_front().flatten() } else { None };
        if named.is_some() && !player.number.is_multiple_of(CHECKED) && player.pending.len() < MOST_PENDING {
            return Ok(named.map(|point| point as usize));
        }
        self.catch_up(player, false)?;
        let expected = player.policy.recommend();
        match named.map(|point| point as usize) {
            Some(point) if expected != Some(point) => Err(untrusted(format!(
                "a device recommended point {point} in trial {}, and the host recommends {expected:?}",
                player.number
            ))),
            _ => Ok(expected),
        }
    }

    /// Tells the policy what it has not been told; chooses the points again in every 64th trial, and if asked to.
    fn catch_up(&mut self, player: &mut Player, is_checked: bool) -> Result<(), Error> {
        let mut pending = std::mem::take(&mut player.pending);
        if pending.is_empty() {
            return Ok(());
        }
        let is_checked = is_checked || player.number.is_multiple_of(CHECKED);
        let mut host = is_checked.then(|| self.screen.take().unwrap_or_else(|| self.domain.open_on_host()));
        for (point, signal) in pending.drain(..) {
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
        player.pending = pending;
        self.screen = host;
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
