//! Plays trials that share a decider: proposes, decides, updates, without knowing where rewards come from.

use super::decider::{Decider, requests};
use super::player::Player;
use crate::policy::{Proposal, TrialView};
use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_config::facts::FactValue;
use privateer_gp::posterior::take_together;
use privateer_privacy::{Query, Released, Signal};

/// Holds the policies of the trials that share a decider.
pub(super) struct Players {
    pub(super) players: Vec<Player>,
    pub(super) decider: Decider,
    proposals: Vec<Proposal>,
    /// The points that the trials play in this round.
    pub(super) points: Vec<usize>,
    /// What was released in this round, if an algorithm from outside is told it.
    signals: Vec<Released<Signal>>,
    scratch: Vec<f64>,
    scores: Vec<(u32, f64)>,
    /// The counts of a closed screen, and of what was computed together.
    pub(super) counters: Counters,
}

impl Players {
    pub(super) fn new(players: Vec<Player>, decider: Decider) -> Self {
        Self {
            decider,
            proposals: vec![Proposal::Play(0); players.len()],
            points: vec![0; players.len()],
            signals: Vec::new(),
            scratch: Vec::new(),
            scores: Vec::new(),
            counters: Counters::default(),
            players,
        }
    }

    /// Takes what every policy proposes for a round, and starts to score.
    pub(super) fn propose(&mut self, round: u64) -> Result<(), Error> {
        if let Decider::Outside(group) = &mut self.decider {
            let views = self.players.iter_mut().enumerate().map(|(place, player)| {
                let Player { number: trial, ref set, ref mut streams, .. } = *player;
                TrialView { trial, place, round, allowed: set.as_deref(), random: &mut streams.own }
            });
            self.points = group.ask(views.collect())?;
            self.players.iter_mut().enumerate().for_each(|(place, player)| player.ends_batch = group.ends(place));
            return Ok(());
        }
        let has_screen = self.decider.is_screened();
        for ((player, proposal), &near) in self.players.iter_mut().zip(&mut self.proposals).zip(&self.points) {
            *proposal = if player.is_ahead { Proposal::Play(near) } else { player.propose(near, &mut self.scratch)? };
            player.is_screened = has_screen && matches!(proposal, Proposal::Score { .. });
        }
        self.decider.begin(&requests(&mut self.players, &self.proposals)?)
    }

    pub(super) fn decide(&mut self) -> Result<(), Error> {
        if let Decider::Outside(_) = self.decider {
            return Ok(());
        }
        for (point, proposal) in self.points.iter_mut().zip(&self.proposals) {
            if let Proposal::Play(played) = *proposal {
                *point = played;
            }
        }
        self.decider.finish(&mut self.players, &self.proposals, &mut self.points, &mut self.scores)
    }

    /// Returns the rows of the play at this place if it is new; `None` unless the domain is a product.
    pub(super) fn new_play(&mut self, place: usize) -> Option<Vec<u32>> {
        self.players[place].plays.as_mut()?.newest.take()
    }

    /// Returns the privatizer's query for the play at this place.
    pub(super) fn query(&self, place: usize) -> Query<'_> {
        let player = &self.players[place];
        let mut query = player.policy.query(self.points[place]);
        query.release |= player.ends_batch;
        query
    }

    /// Updates the policy at this place with what was released of its play; [`Players::end_round`] must follow.
    pub(super) fn update(&mut self, place: usize, signal: Released<Signal>) {
        let (player, point) = (&mut self.players[place], self.points[place]);
        if player.is_ahead {
            player.pending.push((point, signal));
            return;
        }
        player.update(point, &signal);
        if let Decider::Outside(_) = self.decider {
            self.signals.push(signal);
        }
    }

    /// Ends a round after every policy was updated: computes the factors that were left open, several together, and tells an
    /// algorithm from outside what was released.
    pub(super) fn end_round(&mut self, round: u64) -> Result<(), Error> {
        let mut open: (Vec<usize>, Vec<_>) = self
            .players
            .iter_mut()
            .enumerate()
            .filter_map(|(place, player)| Some((place, player.policy.server()?.open_factor()?)))
            .unzip();
        if !open.0.is_empty() {
            let made = take_together(&mut open.1);
            self.counters.together += made.together;
            for (place, repaired) in open.0.into_iter().zip(made.results) {
                if let Some(server) = self.players[place].policy.server() {
                    server.close_factor(repaired);
                }
            }
        }
        if let Decider::Outside(group) = &mut self.decider {
            let told = group.tell(round, self.players.iter().map(|player| player.number).zip(&self.signals));
            self.signals.clear();
            told?;
        }
        Ok(())
    }

    /// Returns the point that the policy at this place recommends, if there is one.
    pub(super) fn recommend(&self, place: usize) -> Result<Option<usize>, Error> {
        let stated = if let Decider::Outside(group) = &self.decider { group.recommend(place)? } else { None };
        Ok(stated.or_else(|| self.players[place].policy.recommend()))
    }

    /// Returns what the policy at this place keeps of its model after the last round, if it publishes any of it.
    pub(super) fn parameters(&mut self, place: usize) -> Result<Option<FactValue>, Error> {
        match &self.decider {
            Decider::Outside(group) => group.state(place),
            _ => Ok(self.players[place].policy.server().map(|server| server.parameters())),
        }
    }

    /// Returns whether an algorithm from outside chooses.
    pub(super) fn are_outside(&self) -> bool {
        matches!(self.decider, Decider::Outside(_))
    }

    /// Returns whether the trials wait for a device, together with others.
    pub(super) fn is_on_device(&self) -> bool {
        matches!(&self.decider, Decider::Screened { screen, .. } if screen.is_on_device())
    }

    /// Frees what the screen holds; no round may follow.
    pub(super) fn close_screen(&mut self) {
        if let Decider::Screened { screen, .. } = &self.decider {
            self.counters.add(&screen.counters());
            self.decider = Decider::Listed;
        }
    }
}
