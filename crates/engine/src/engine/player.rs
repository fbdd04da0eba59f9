//! Chooses the points of trials: what their policies propose, and what a decider makes of it.
//!
//! Nothing here knows where rewards come from: policies are updated with released values alone.

use super::decide::settled;
use super::decider::{Decider, requests};
use super::plays::Plays;
use crate::policy::{Policy, PolicyStreams, Proposal, TrialView};
use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_gp::posterior::take_together;
use privateer_privacy::{Query, Released, Signal};

/// Holds the policy of one trial, with what it chooses from.
pub(super) struct Player {
    /// The trial, 0-based.
    pub(super) number: u64,
    pub(super) policy: Box<dyn Policy>,
    pub(super) streams: PolicyStreams,
    /// The points allowed in this round, ascending; `None` where the whole domain is allowed.
    pub(super) set: Option<Vec<u32>>,
    /// Numbers of the plays so far, by their rows, over a product domain.
    pub(super) plays: Option<Plays>,
    /// Whether a screen has applied the model's change in this round.
    is_screened: bool,
    /// Whether a device finds the point of this round: the policy proposes none, and is told of the round later.
    pub(super) is_ahead: bool,
    /// Points and signals that the policy has not been told.
    pub(super) pending: Vec<(usize, Released<Signal>)>,
    /// Whether a batch of an algorithm from outside ends with this round.
    ends_batch: bool,
}

impl Player {
    /// Creates the player of a trial who may play every point of a domain without axes.
    pub(super) fn new(number: u64, policy: Box<dyn Policy>, streams: PolicyStreams) -> Self {
        let (set, plays, pending) = (None, None, Vec::new());
        let (is_screened, is_ahead, ends_batch) = (false, false, false);
        Self { number, policy, streams, set, plays, is_screened, is_ahead, pending, ends_batch }
    }

    /// Returns what the policy proposes; a random point is drawn here, among the allowed points.
    ///
    /// * `near` and `scratch` — as in [`settled`]
    fn propose(&mut self, near: usize, scratch: &mut Vec<f64>) -> Result<Proposal, Error> {
        let proposal = match self.policy.propose(&mut self.streams) {
            Proposal::Random { source, n_points } => {
                let stream = self.streams.of(source);
                Proposal::Play(match (&self.set, &self.plays) {
                    (Some(set), _) => set[stream.index(set.len())] as usize,
                    (None, Some(plays)) => {
                        let rows = plays.random(stream);
                        self.number(&rows)
                    }
                    (None, None) => stream.index(n_points),
                })
            }
            Proposal::Refused(why) => {
                return Err(Error::Failed { problem: why.to_owned(), hint: "please report this".to_owned() });
            }
            other => other,
        };
        let Proposal::Score { .. } = proposal else { return Ok(proposal) };
        settled(proposal, self.policy.scores(), self.set.as_deref(), near, scratch)
    }

    /// Returns the number of the play of these rows of a product domain.
    pub(super) fn number(&mut self, rows: &[u32]) -> usize {
        let Some(plays) = &mut self.plays else { return 0 };
        let (number, is_new) = plays.number(rows);
        if is_new && let Some(model) = self.policy.model() {
            model.define(rows);
        }
        number
    }

    /// Updates the policy with what was released of a play.
    fn update(&mut self, point: usize, signal: &Released<Signal>) {
        if std::mem::take(&mut self.is_screened)
            && let Some(model) = self.policy.model()
        {
            model.screened();
        }
        match self.policy.server() {
            Some(server) => server.update_open(point, signal),
            None => self.policy.update(point, signal),
        }
    }
}

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
        let has_screen = matches!(self.decider, Decider::Screened { .. });
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
        let query = player.policy.query(self.points[place]);
        Query { release: query.release || player.ends_batch, ..query }
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
    pub(super) fn parameters(&mut self, place: usize) -> Result<Option<serde_json::Value>, Error> {
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
