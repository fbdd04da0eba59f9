//! What a contextual environment is.

use crate::env::{BuildContext, DerivedNumbers};
use privateer_config::error::Error;
use privateer_numerics::rng::Stream;
use privateer_privacy::Raw;
use privateer_privacy::interactions::ContextFacts;
use std::sync::Arc;

/// A contextual environment as read from a spec.
pub trait ContextualPlan: Send + Sync {
    /// Builds what all trials share.
    ///
    /// # Errors
    /// Missing or malformed data, sizes or a margin that do not suit.
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Contextual>, Error>;

    /// Whether it is a log: a run then estimates what a policy is worth, and knows no regret.
    fn replays(&self) -> bool {
        false
    }
}

/// A contextual problem: what all trials share.
pub trait Contextual: Send + Sync {
    /// What is public.
    fn facts(&self) -> &ContextFacts;

    /// The users of one trial.
    ///
    /// # Errors
    /// Parameters that do not suit.
    fn draw(&self, trial: u64) -> Result<Box<dyn ContextInstance>, Error>;

    /// Facts for the manifest and the report, as (name, value).
    fn describe(&self) -> Vec<(String, serde_json::Value)>;

    /// Numbers that this environment takes from real data; empty where it has none.
    fn derived_numbers(&self) -> DerivedNumbers {
        DerivedNumbers::default()
    }

    /// What else the ledger must say.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The users of one trial, one after the other. Nothing here depends on who chooses: all policies meet the same users.
pub trait ContextInstance: Send {
    /// The next user.
    fn next(&mut self);

    /// Their context, d numbers.
    fn context(&self) -> &[f64];

    /// Their mean reward of each arm; empty in a log.
    fn means(&self) -> &[f64];

    /// In a log: what was shown to them; `None` elsewhere.
    fn logged(&self) -> Option<Logged> {
        None
    }

    /// Their reward of one arm. Consumes the same number of words for any arm.
    fn reward(&self, arm: usize, noise: &mut Stream) -> Raw<f64>;
}

/// What a log has of a user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logged {
    /// The arm that was shown; `None` if it is none of those that policies choose among.
    pub arm: Option<usize>,
    /// What came of it.
    pub reward: f64,
    /// Probability with which the log's policy showed it to this user, in (0, 1].
    pub propensity: f64,
    /// The least propensity in the log.
    pub floor: f64,
}
