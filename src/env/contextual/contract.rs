//! Defines the interface of contextual environments.

use crate::env::DerivedNumbers;
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::Raw;
use privateer_privacy::interactions::ContextFacts;

/// Represents a contextual problem, shared by all trials.
pub trait Contextual: Send + Sync {
    /// Returns the public facts of the problem.
    fn facts(&self) -> &ContextFacts;

    /// Makes the sequence of users of one trial.
    ///
    /// # Errors
    /// If the parameters do not suit.
    fn draw(&self, trial: u64) -> Result<Box<dyn ContextInstance>, Error>;

    /// Returns facts for the manifest and the report, as (name, value).
    fn describe(&self) -> Vec<(String, serde_json::Value)>;

    /// Returns which numbers the environment takes from real data; empty if there are none.
    fn derived_numbers(&self) -> DerivedNumbers {
        DerivedNumbers::default()
    }

    /// Says that a policy can hardly learn from the log that the users come from, if they come from one.
    fn thin_log(&self) -> Option<&str> {
        None
    }

    /// Returns further notes for the ledger.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Represents the users of one trial, one after another.
///
/// The sequence does not depend on the policy: all policies interact with the same users.
pub trait ContextInstance: Send {
    /// Advances to the next user.
    fn next(&mut self);

    /// Returns the user's context, d numbers.
    fn context(&self) -> &[f64];

    /// Returns the user's mean reward of each arm; empty in a log.
    fn means(&self) -> &[f64];

    /// Returns, in a log, what was shown to the user; `None` elsewhere.
    fn logged(&self) -> Option<Logged> {
        None
    }

    /// Draws the user's reward of one arm; consumes the same number of words for any arm.
    fn reward(&self, arm: usize, noise: &mut Stream) -> Raw<f64>;
}

/// Holds a log's record of one user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logged {
    /// The arm that was shown; `None` if the policies cannot choose that arm.
    pub arm: Option<usize>,
    /// Reward of the arm that was shown.
    pub reward: f64,
    /// Probability with which the log's policy showed the arm to this user, in (0, 1].
    pub propensity: f64,
    /// The least propensity in the log.
    pub floor: f64,
}
