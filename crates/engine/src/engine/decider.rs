//! Decides which points trials play, where their policies ask for the best score.

use super::decide::{decide, decide_by_axis};
use super::player::Player;
use super::scoring_error;
use crate::policy::{PolicyGroup, PolicyModel, Proposal};
use privateer_backend::Screen;
use privateer_config::error::Error;
use privateer_gp::score::{AxisFeatures, Candidates, TrialScore};
use std::sync::Arc;

/// States how the points of trials are decided.
pub(super) enum Decider {
    /// A backend returns every point that may score best, and the best of those in f64 is played.
    Screened {
        screen: Box<dyn Screen>,
        /// The backend's answers, which keep their memory from round to round.
        answers: Vec<Candidates>,
    },
    /// The best point of each round's decision set is played; the sets are too small to gain from a backend.
    Listed,
    /// The best row of each axis of a product domain is played.
    ByAxis(Arc<[AxisFeatures]>),
    /// An algorithm from outside chooses for all trials.
    Outside(PolicyGroup),
}

impl Decider {
    /// Returns whether a backend scores.
    pub(super) fn is_screened(&self) -> bool {
        matches!(self, Self::Screened { .. })
    }

    /// Starts to score; work may continue in the background.
    pub(super) fn begin(&mut self, requests: &[TrialScore<'_>]) -> Result<(), Error> {
        match self {
            Self::Screened { screen, .. } if !requests.is_empty() => screen.begin(requests).map_err(scoring_error),
            _ => Ok(()),
        }
    }

    /// Writes the points of the trials that score.
    ///
    /// * `scratch` — memory that is used again
    pub(super) fn finish(
        &mut self,
        players: &mut [Player],
        proposals: &[Proposal],
        points: &mut [usize],
        scratch: &mut Vec<(u32, f64)>,
    ) -> Result<(), Error> {
        let requests = requests(players, proposals)?;
        if requests.is_empty() {
            return Ok(());
        }
        match self {
            Self::Screened { screen, answers } => {
                answers.resize(answers.len().max(requests.len()), Candidates::default());
                let answers = &mut answers[..requests.len()];
                screen.finish(&requests, answers).map_err(scoring_error)?;
                for (request, answer) in requests.iter().zip(answers.iter()) {
                    points[request.trial] = decide(answer, request.model, request.beta, scratch)?;
                }
            }
            Self::ByAxis(axes) => {
                let mut best = Vec::with_capacity(requests.len());
                for request in &requests {
                    best.push((request.trial, decide_by_axis(axes, request.model, request.beta, scratch)?));
                }
                for (trial, rows) in best {
                    points[trial] = players[trial].number(&rows);
                }
            }
            Self::Listed | Self::Outside(_) => {
                for request in &requests {
                    let Some(set) = request.subset else { return Err(no_model(request.beta)) };
                    let candidates = Candidates { points: set.to_vec() };
                    points[request.trial] = decide(&candidates, request.model, request.beta, scratch)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the requests to the decider, one for each trial that scores.
pub(super) fn requests<'a>(players: &'a mut [Player], proposals: &[Proposal]) -> Result<Vec<TrialScore<'a>>, Error> {
    let n_scored = proposals.iter().filter(|proposal| matches!(proposal, Proposal::Score { .. })).count();
    let mut requests = Vec::with_capacity(n_scored);
    for (place, (player, proposal)) in players.iter_mut().zip(proposals).enumerate() {
        if let Proposal::Score { beta } = *proposal {
            let Some(model) = player.policy.model() else { return Err(no_model(beta)) };
            let model: &dyn PolicyModel = model;
            let (scores, change) = model.scored();
            let subset = player.set.as_deref();
            requests.push(TrialScore { subset, ..TrialScore::new(place, change, beta, scores) });
        }
    }
    Ok(requests)
}

fn no_model(beta: f64) -> Error {
    Error::Failed {
        problem: format!("a policy asked for scores (beta {beta}) without having a model"),
        hint: "this is a fault of the policy, not of the spec: please report it".to_owned(),
    }
}
