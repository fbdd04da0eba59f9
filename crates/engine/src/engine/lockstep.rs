//! Runs trials of one cell in lockstep: propose, decide, observe, release, update.
//!
//! A batch is split into as many parts as its backend keeps in flight; each part has its own screen. While one part is scored
//! in the background, the others decide, observe and update. Trials share nothing that is recorded, so the split changes no
//! recorded byte.

use super::ahead::{AheadPart, suits};
use super::decider::Decider;
use super::observer::{Observer, Place, TrialEnd};
use super::player::{Player, Players};
use super::plays::Plays;
use super::ready_cell::ReadyCell;
use super::reward_source::RewardSource;
use super::rounds::{BatchResult, Rounds};
use crate::env::catch_bad_reward;
use crate::policy::{PolicyStreams, Setting};
use privateer_backend::Screen;
use privateer_config::error::Error;
use privateer_numerics::rng::Purpose;
use privateer_privacy::{Raw, Released, Signal};
use std::ops::Range;

/// Number of rounds between two checks of the stop flag.
const STOP_EVERY: u64 = 64;

/// Runs the trials `numbers` of a cell to the end; returns `None` if stopped before.
///
/// * `verify` — whether choices are compared with the best of all points, which costs as much as a run without a screen
pub(super) fn batch(
    cell: &ReadyCell,
    numbers: Range<u64>,
    verify: bool,
    rounds: &Rounds<'_>,
) -> Result<Option<BatchResult>, Error> {
    let n_trials = numbers.end - numbers.start;
    let n_parts = cell.domain.as_ref().map_or(1, |domain| domain.in_flight() as u64).clamp(1, n_trials.max(1));
    let size = n_trials.div_ceil(n_parts).max(1);
    let starts = numbers.clone().step_by(size as usize);
    let mut parts = starts
        .map(|first| LockstepPart::start(cell, first..(first + size).min(numbers.end), verify))
        .collect::<Result<Vec<LockstepPart>, Error>>()?;
    for part in &mut parts {
        part.begin(1)?;
    }
    let finished = rounds.play(cell.plan.rounds, n_trials, STOP_EVERY, |round, recorded| {
        for part in &mut parts {
            part.finish(round, recorded, rounds.observer)?;
            if round < cell.plan.rounds {
                part.begin(round + 1)?;
            }
        }
        Ok(())
    })?;
    if !finished {
        return Ok(None);
    }
    let mut result = BatchResult::default();
    for part in parts {
        result.append(part.into_result(cell.keeps_parameters)?);
    }
    Ok(Some(result))
}

/// Holds the trials that share a screen.
///
/// While the screen works in the background, other parts of the batch decide, observe and update.
pub(super) struct LockstepPart {
    pub(super) players: Players,
    /// Where the rewards of each trial come from.
    pub(super) sources: Vec<RewardSource>,
    /// What was released in the last round, if an algorithm from outside is told it.
    signals: Vec<Released<Signal>>,
    /// Rewards that were released in the last round.
    pub(super) released: Vec<Option<f64>>,
    /// The trials, if a device plays their rounds ahead.
    ahead: Option<AheadPart>,
    cell: u32,
    /// The cell's label, for messages.
    label: String,
}

impl LockstepPart {
    pub(super) fn start(cell: &ReadyCell, numbers: Range<u64>, verify: bool) -> Result<Self, Error> {
        let n_trials = (numbers.end - numbers.start) as usize;
        Self::start_on(cell, numbers, cell.domain.as_ref().map(|domain| domain.open(n_trials)), verify)
    }

    /// Starts trials whose screen is opened.
    pub(super) fn start_on(
        cell: &ReadyCell,
        numbers: Range<u64>,
        screen: Option<Box<dyn Screen>>,
        verify: bool,
    ) -> Result<Self, Error> {
        let (mut players, mut sources) = (Vec::new(), Vec::new());
        for number in numbers {
            let (source, policy) = RewardSource::start(cell, number)?;
            let of = |purpose| cell.streams.of(number, purpose);
            let streams = PolicyStreams { start: of(Purpose::Start), own: of(Purpose::Policy(&cell.plan.policy)) };
            let plays = cell.environment.product.as_ref().map(|product| Plays::of(product));
            players.push(Player::new(number, policy, streams, source.empty_set(), plays));
            sources.push(source);
        }
        let settings: Vec<(u64, &Setting)> =
            players.iter().zip(&sources).map(|(player, source)| (player.number, &source.setting)).collect();
        let decider = match (cell.maker.group(&settings)?, cell.maker.axes(), screen) {
            (Some(group), _, _) => Decider::Outside(group.named(&cell.plan.policy)),
            (None, Some(axes), _) => Decider::ByAxis(axes),
            (None, None, Some(screen)) => {
                let n_points = cell.environment.gram.n_points() as u32;
                Decider::screened(screen, players.len(), verify.then_some(n_points))
            }
            (None, None, None) => Decider::Listed,
        };
        let (cell, label) = (cell.plan.index, cell.plan.label());
        let (players, signals, released) = (Players::new(players, decider), Vec::new(), Vec::new());
        Ok(Self { players, sources, signals, released, ahead: None, cell, label })
    }

    /// Returns whether a device could play the rounds of all trials ahead.
    pub(super) fn may_go_ahead(&mut self, n_rounds: u64) -> bool {
        let mut trials = self.players.players.iter_mut().zip(&self.sources);
        self.players.decider.is_screened() && trials.all(|(player, source)| suits(player, source, n_rounds))
    }

    /// Lets a device play the rounds of all trials ahead, before the first round.
    pub(super) fn go_ahead(&mut self, ahead: AheadPart) {
        self.ahead = Some(ahead);
    }

    /// Returns whether the coming round waits for a device.
    pub(super) fn waits(&self) -> bool {
        self.players.is_on_device() && self.ahead.as_ref().is_none_or(AheadPart::waits)
    }

    /// Runs the first half of a round: proposals, and the start of the screen.
    pub(super) fn begin(&mut self, round: u64) -> Result<(), Error> {
        for (player, source) in self.players.players.iter_mut().zip(&mut self.sources) {
            source.draw_set(&mut player.set);
        }
        if let Some(ahead) = &mut self.ahead {
            ahead.begin(round, &mut self.players.players, &self.sources)?;
        }
        self.players.propose(round)
    }

    /// Runs the second half of a round: decisions, observations, releases, updates, records.
    pub(super) fn finish(&mut self, round: u64, recorded: bool, observer: &dyn Observer) -> Result<(), Error> {
        self.players.decide()?;
        if let Some(ahead) = &mut self.ahead {
            ahead.finish(&mut self.players.players, &mut self.players.points)?;
        }
        let mut observed = 0;
        let learned = catch_bad_reward(|| {
            self.learn(round, observer, |place, source, point| {
                observed = place;
                source.observe(point)
            })
        });
        learned.map_err(|bad| bad.in_round(&self.label, self.players.players[observed].number, round))??;
        self.count(round, recorded)
    }

    /// Observes the decided points, releases their rewards, and updates the policies with what is released.
    ///
    /// * `observe` — the reward of a trial, by its place in the part
    pub(super) fn learn(
        &mut self,
        round: u64,
        observer: &dyn Observer,
        mut observe: impl FnMut(usize, &mut RewardSource, usize) -> Raw<f64>,
    ) -> Result<(), Error> {
        self.released.clear();
        self.signals.clear();
        let outside = self.players.are_outside();
        let Players { players, points, .. } = &mut self.players;
        for (place, ((player, source), &point)) in players.iter_mut().zip(&mut self.sources).zip(points.iter()).enumerate() {
            if let Some(rows) = player.plays.as_mut().and_then(|plays| plays.newest.take()) {
                source.instance.define(&rows);
            }
            let reward = observe(place, source, point);
            let at = Place { cell: self.cell, trial: player.number, round };
            let query = player.query(point);
            let signal = source.release(&query, reward);
            observer.released(at, &query, &signal);
            drop(query);
            if self.ahead.as_mut().is_none_or(|ahead| ahead.learned(place, point, &signal)) {
                player.update(point, &signal);
            }
            self.released.push(signal.reward());
            if outside {
                self.signals.push(signal);
            }
        }
        self.players.end_round(round, &self.signals)
    }

    /// Counts the regret of the round, and adds rows if it is recorded.
    fn count(&mut self, round: u64, recorded: bool) -> Result<(), Error> {
        for (place, source) in self.sources.iter_mut().enumerate() {
            let point = self.players.points[place];
            let [regret, cumulative, simple] = source.count(point, self.players.players[place].set.as_deref());
            if recorded {
                if let Some(ahead) = &mut self.ahead {
                    ahead.catch_up(place, &mut self.players.players[place], false)?;
                }
                let Player { number, plays, .. } = &self.players.players[place];
                let recommended = self.players.recommend(place)?.map_or(f64::NAN, |point| source.instance.regret(point));
                // The plays of a product domain have no point index.
                let shown = plays.is_none().then_some(point);
                source.rows.push(*number, round, shown, [regret, cumulative, simple, recommended]);
            }
        }
        Ok(())
    }

    /// Returns the results of trials that have ended.
    pub(super) fn into_result(mut self, keeps_parameters: bool) -> Result<BatchResult, Error> {
        if let Some(ahead) = &mut self.ahead {
            ahead.end(&mut self.players.players)?;
            self.players.counters.rounds += ahead.n_rounds_ahead;
            self.players.counters.candidates += ahead.n_rounds_ahead;
        }
        self.players.close_screen();
        let mut result = BatchResult { counters: self.players.counters, ..BatchResult::default() };
        for (place, source) in self.sources.into_iter().enumerate() {
            let parameters = if keeps_parameters { self.players.parameters(place)? } else { None };
            let Player { number, policy, .. } = &mut self.players.players[place];
            let repaired = policy.server().map_or(0, |server| server.repaired());
            result.trials.push(TrialEnd { trial: *number, counts: source.privatizer.counts(), repaired, parameters });
            result.rows.extend(source.rows);
        }
        Ok(result)
    }
}
