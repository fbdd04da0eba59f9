//! Holds the privacy request of a spec, the public facts on the reward, and refusals of requests.
//!
//! This file adds no noise: the files of `mechanism` turn a request into a mechanism.

use super::{Calibration, Delta, Epsilon};
use std::fmt;

/// States what is publicly known about a reward `y = f(x) + noise`, in units of the reward.
#[derive(Debug, Clone, PartialEq)]
pub struct RewardFacts {
    /// `B`: `|f| <= B`.
    pub bound: f64,
    /// `R`: `|noise| <= R`; `None` if the noise is unbounded.
    pub noise_bound: Option<f64>,
    /// Hard range of the reward itself, such as (0, 1) for Bernoulli rewards.
    pub range: Option<(f64, f64)>,
    /// Variance of the noise; `None` if infinite or unknown.
    pub noise_variance: Option<f64>,
    /// Rounds of the experiment, with a new user in each.
    pub rounds: u64,
}

/// Holds what a spec asks of a mechanism.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Name of the mechanism, or `auto`, which [`super::resolve_auto`] turns into a name.
    pub mechanism: String,
    /// How the paper's formulas are calibrated.
    pub calibration: Calibration,
    /// Privacy loss per user.
    pub epsilon: Option<f64>,
    /// Failure probability of the claim; used by mechanisms that are not pure.
    pub delta: Option<f64>,
    /// Range to which rewards are clipped before any other step, in units of the reward.
    pub clip: Option<(f64, f64)>,
    /// What is publicly known about the reward.
    pub facts: RewardFacts,
}

impl Request {
    /// Returns the checked privacy loss.
    ///
    /// # Errors
    /// A refusal on `epsilon` if it is missing or is not a finite number > 0.
    pub fn epsilon(&self) -> Result<Epsilon, Refusal> {
        let expected = "a finite number > 0";
        let Some(value) = self.epsilon else {
            return Err(Refusal::new("epsilon", format!("mechanism `{}` needs a privacy loss", self.mechanism), expected)
                .hint("state `epsilon`, or `mechanism = \"none\"` for a run without privacy"));
        };
        Epsilon::try_from(value).map_err(|bad| Refusal::new("epsilon", format!("`epsilon` is {}", bad.0), expected))
    }

    /// Returns the checked failure probability.
    ///
    /// # Errors
    /// A refusal on `delta` if it is missing or is not strictly between 0 and 1.
    pub fn delta(&self) -> Result<Delta, Refusal> {
        let expected = "a number > 0 and < 1";
        let Some(value) = self.delta else {
            return Err(Refusal::new("delta", format!("mechanism `{}` needs a failure probability", self.mechanism), expected)
                .hint(format!(
                    "state `delta`, at most one over the number of users: {:e} here",
                    1.0 / self.facts.rounds.max(1) as f64
                )));
        };
        Delta::try_from(value).map_err(|bad| Refusal::new("delta", format!("`delta` is {}", bad.0), expected))
    }
}

/// Explains why a request cannot be met: a mistake at one key of the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The key at fault: `epsilon`, `delta`, `clip` or `mechanism`.
    pub key: &'static str,
    /// What is wrong.
    pub message: String,
    /// What was expected there.
    pub expected: String,
    /// What the user can do; `None` if there is no advice.
    pub hint: Option<String>,
}

impl Refusal {
    /// Makes a refusal without advice.
    pub fn new(key: &'static str, message: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { key, message: message.into(), expected: expected.into(), hint: None }
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}; expected {}", self.key, self.message, self.expected)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
