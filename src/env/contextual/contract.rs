//! Defines the interface of contextual environments.

use crate::env::DerivedNumbers;
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::Raw;
use privateer_privacy::interactions::ContextFacts;

/// Makes the sequence of users of one trial; fails if the parameters do not suit.
type Draw = dyn Fn(u64) -> Result<Box<dyn ContextInstance>, Error> + Send + Sync;

/// Represents a contextual problem, shared by all trials.
pub struct Contextual {
    /// The public facts of the problem.
    pub facts: ContextFacts,
    /// As [`Contextual::draw`].
    pub draw: Box<Draw>,
    /// Facts for the manifest and the report, as (name, value).
    pub described: Vec<(String, serde_json::Value)>,
    /// Which numbers the environment takes from real data; empty if there are none.
    pub derived_numbers: DerivedNumbers,
    /// Says that a policy can hardly learn from the log that the users come from, if they come from one.
    pub thin_log: Option<String>,
    /// Further notes for the ledger.
    pub notes: Vec<String>,
}

impl Contextual {
    /// Creates a problem that takes no numbers from real data.
    pub fn new(
        facts: ContextFacts,
        described: Vec<(String, serde_json::Value)>,
        draw: impl Fn(u64) -> Result<Box<dyn ContextInstance>, Error> + Send + Sync + 'static,
    ) -> Self {
        let (draw, derived_numbers) = (Box::new(draw), DerivedNumbers::default());
        Self { facts, draw, described, derived_numbers, thin_log: None, notes: Vec::new() }
    }

    /// Makes the sequence of users of one trial.
    ///
    /// # Errors
    /// If the parameters do not suit.
    pub fn draw(&self, trial: u64) -> Result<Box<dyn ContextInstance>, Error> {
        (self.draw)(trial)
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
