//! Holds the policy of one trial: it proposes points and is updated with released values alone.

use super::decide::settled;
use super::plays::Plays;
use crate::policy::{Policy, PolicyStreams, Proposal};
use privateer_config::error::Error;
use privateer_privacy::{Released, Signal};

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
    pub(super) is_screened: bool,
    /// Whether a device finds the point of this round: the policy proposes none, and is told of the round later.
    pub(super) is_ahead: bool,
    /// Points and signals that the policy has not been told.
    pub(super) pending: Vec<(usize, Released<Signal>)>,
    /// Whether a batch of an algorithm from outside ends with this round.
    pub(super) ends_batch: bool,
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
    pub(super) fn propose(&mut self, near: usize, scratch: &mut Vec<f64>) -> Result<Proposal, Error> {
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
    pub(super) fn update(&mut self, point: usize, signal: &Released<Signal>) {
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
