//! Runs one policy outside the loop: a batch of one trial whose rewards the caller observes.
//!
//! `ask` returns the next point, `tell` takes its released signal; the state can be saved between any two calls.

use super::decide::{decide, settled};
use super::scoring_error;
use crate::policy::{Policy, PolicyStreams, Proposal};
use privateer_backend::{Domain, Screen};
use privateer_config::error::Error;
use privateer_gp::score::{Candidates, TrialScore};
use privateer_privacy::{Query, Released, Signal};
use std::sync::Arc;

/// Combines a policy with its screening backend.
pub struct AskedPolicy {
    policy: Box<dyn Policy>,
    streams: PolicyStreams,
    screen: Option<Box<dyn Screen>>,
    asked: Option<usize>,
}

impl AskedPolicy {
    /// Creates a policy before its next round; `domain` is the prepared basis of its maker.
    #[must_use]
    pub fn new(policy: Box<dyn Policy>, streams: PolicyStreams, domain: Option<&Arc<dyn Domain>>) -> Self {
        Self { policy, streams, screen: domain.map(|domain| domain.open(1)), asked: None }
    }

    /// Resumes a policy in the middle of a round, in which `asked` was proposed.
    #[must_use]
    pub fn resumed(
        policy: Box<dyn Policy>,
        streams: PolicyStreams,
        domain: Option<&Arc<dyn Domain>>,
        asked: Option<usize>,
    ) -> Self {
        Self { asked, ..Self::new(policy, streams, domain) }
    }

    /// Replaces the random streams that the policy draws from.
    pub fn draw_from(&mut self, streams: PolicyStreams) {
        self.streams = streams;
    }

    /// Returns the next point to observe; the same point until its signal is told.
    ///
    /// # Errors
    /// If the device fails or a score is not finite.
    pub fn ask(&mut self) -> Result<usize, Error> {
        if let Some(point) = self.asked {
            return Ok(point);
        }
        let proposed = self.policy.propose(&mut self.streams);
        let point = match (settled(proposed, self.policy.model(), None, 0, &mut Vec::new())?, &mut self.screen) {
            (Proposal::Play(point), _) => point,
            (Proposal::Random { source, n_points }, _) => self.streams.of(source).index(n_points),
            (Proposal::Score { beta }, Some(screen)) if self.policy.model().is_some() => {
                let Some(model) = self.policy.model() else { return Ok(0) };
                let mut answer = [Candidates::default()];
                screen.round(&[TrialScore::new(0, self.policy.change(), beta, model)], &mut answer).map_err(scoring_error)?;
                let point = decide(&answer[0], model, beta, &mut Vec::new())?;
                self.policy.screened();
                point
            }
            (Proposal::Refused(why), _) => {
                return Err(Error::Failed { problem: why.to_owned(), hint: "run it with `run`".to_owned() });
            }
            (Proposal::Score { .. }, _) => {
                return Err(Error::Failed {
                    problem: "the policy asks for scores but has no screen".to_owned(),
                    hint: "open it with the prepared basis of its maker".to_owned(),
                });
            }
        };
        self.asked = Some(point);
        Ok(point)
    }

    /// Returns the public query to the privatizer of the asked point, whatever is released later.
    #[must_use]
    pub fn query(&self) -> Query<'_> {
        self.asked.map(|point| self.policy.query(point)).unwrap_or_default()
    }

    /// Updates the policy with the released signal of the asked point.
    pub fn tell(&mut self, signal: &Released<Signal>) {
        if let Some(point) = self.asked.take() {
            self.policy.update(point, signal);
        }
    }

    /// Returns the policy, to recommend or to save.
    #[must_use]
    pub fn policy(&self) -> &dyn Policy {
        self.policy.as_ref()
    }
}
