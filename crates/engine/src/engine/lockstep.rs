//! Runs trials of one cell in lockstep: propose, decide, observe, release, update.
//!
//! A batch is split into as many parts as its backend keeps in flight; each part has its own screen. Trials share nothing that is
//! recorded, so the split changes no recorded byte.

use super::Measures;
use super::decider::Decider;
use super::observer::{Observer, Place, TrialEnd};
use super::player::Player;
use super::players::Players;
use super::ready_cell::ReadyCell;
use super::reward_source::RewardSource;
use super::rounds::{BatchResult, Recorded, Rounds, Trials};
use crate::env::Instance;
use crate::policy::Setting;
use privateer_backend::{Counters, Screen};
use privateer_config::error::Error;
use privateer_privacy::{Released, Signal};
use std::collections::BTreeMap;
use std::ops::Range;

/// Runs the trials `numbers` of a cell to the end; returns `None` if stopped before.
pub(super) fn batch(cell: &ReadyCell, numbers: Range<u64>, rounds: &Rounds<'_>) -> Result<Option<BatchResult>, Error> {
    let n_trials = numbers.end - numbers.start;
    let n_parts = cell.domain.as_ref().map_or(1, |domain| domain.in_flight() as u64).clamp(1, n_trials.max(1));
    let size = n_trials.div_ceil(n_parts).max(1);
    let parts = numbers.clone().step_by(size as usize).map(|first| {
        let part = first..(first + size).min(numbers.end);
        let screen = cell.open_screen((part.end - part.start) as usize, rounds.verify);
        Ok(Recorded::new(LockstepTrials::start(cell, part.clone(), screen, &BTreeMap::new())?, part, Measures::Regret))
    });
    rounds.play(cell.plan.rounds, parts.collect::<Result<_, Error>>()?)
}

/// Holds the trials that share a screen.
pub(super) struct LockstepTrials {
    pub(super) players: Players,
    /// Where the rewards of each trial come from.
    pub(super) sources: Vec<RewardSource>,
    /// Rewards that were released in the last round.
    pub(super) released: Vec<Option<f64>>,
    keeps_parameters: bool,
    cell: u32,
    /// The cell's label, for messages.
    label: String,
}

impl LockstepTrials {
    /// Makes trials before their first round.
    ///
    /// * `screen` — scores the points of all of them; `None` where none is needed
    /// * `known` — functions of trials that need not be drawn
    pub(super) fn start(
        cell: &ReadyCell,
        numbers: Range<u64>,
        screen: Option<Box<dyn Screen>>,
        known: &BTreeMap<u64, Instance>,
    ) -> Result<Self, Error> {
        let (mut players, mut sources) = (Vec::new(), Vec::new());
        for number in numbers {
            let (source, policy) = RewardSource::start(cell, number, known.get(&number))?;
            players.push(source.player(cell, number, policy));
            sources.push(source);
        }
        let settings: Vec<(u64, &Setting)> =
            players.iter().zip(&sources).map(|(player, source)| (player.number, &source.setting)).collect();
        let decider = match (cell.maker.group(&settings)?, cell.maker.axes(), screen) {
            (Some(group), _, _) => Decider::Outside(group.named(&cell.plan.policy)),
            (None, Some(axes), _) => Decider::ByAxis(axes),
            (None, None, Some(screen)) => Decider::Screened { screen, answers: Vec::new() },
            (None, None, None) => Decider::Listed,
        };
        Ok(Self::of(cell, Players::new(players, decider), sources))
    }

    /// Holds these players, each with the source of its rewards.
    pub(super) fn of(cell: &ReadyCell, players: Players, sources: Vec<RewardSource>) -> Self {
        let (keeps_parameters, cell, label) = (cell.keeps_parameters, cell.plan.index, cell.plan.label());
        Self { players, sources, released: Vec::new(), keeps_parameters, cell, label }
    }

    /// Returns what is released of the play at this place, and counts its regret.
    #[inline]
    pub(super) fn reward(&mut self, place: usize, round: u64, observer: &dyn Observer) -> Result<Released<Signal>, Error> {
        let (source, player, point) = (&mut self.sources[place], &self.players.players[place], self.players.points[place]);
        let query = self.players.query(place);
        let signal = source.released(&query, point).map_err(|bad| bad.in_round(&self.label, player.number, round))?;
        observer.released(Place { cell: self.cell, trial: player.number, round }, &query, &signal);
        source.count(point, player.set.as_deref());
        Ok(signal)
    }

    /// Returns the point of a trial, by its place, and what is measured of it with this recommended point.
    pub(super) fn row_of(&self, place: usize, recommended: Option<usize>) -> (Option<usize>, [f64; 4]) {
        let (source, [regret, cumulative, simple]) = (&self.sources[place], self.sources[place].counted);
        let recommended = recommended.map_or(f64::NAN, |point| source.instance.regret(point));
        // The plays of a product domain have no point index.
        let point = self.players.players[place].plays.is_none().then_some(self.players.points[place]);
        (point, [regret, cumulative, simple, recommended])
    }
}

impl Trials for LockstepTrials {
    type Row = [f64; 4];

    fn propose(&mut self, round: u64) -> Result<(), Error> {
        for (player, source) in self.players.players.iter_mut().zip(&mut self.sources) {
            source.draw_set(&mut player.set);
        }
        self.players.propose(round)
    }

    fn decide(&mut self) -> Result<(), Error> {
        self.players.decide()
    }

    fn learn(&mut self, round: u64, observer: &dyn Observer) -> Result<(), Error> {
        self.released.clear();
        for place in 0..self.sources.len() {
            if let Some(rows) = self.players.new_play(place) {
                self.sources[place].instance.define(&rows);
            }
            let signal = self.reward(place, round, observer)?;
            self.released.push(signal.reward());
            self.players.update(place, signal);
        }
        self.players.end_round(round)
    }

    fn row(&mut self, place: usize) -> Result<(Option<usize>, [f64; 4]), Error> {
        Ok(self.row_of(place, self.players.recommend(place)?))
    }

    fn end(mut self) -> Result<(Counters, Vec<TrialEnd>), Error> {
        self.players.close_screen();
        let ends = self.sources.iter().enumerate().map(|(place, source)| {
            let parameters = if self.keeps_parameters { self.players.parameters(place)? } else { None };
            let Player { number, policy, .. } = &mut self.players.players[place];
            let repaired = policy.server().map_or(0, |server| server.repaired());
            Ok(TrialEnd { trial: *number, counts: source.privatizer.counts(), repaired, parameters })
        });
        let ends = ends.collect::<Result<_, Error>>()?;
        Ok((self.players.counters, ends))
    }
}
