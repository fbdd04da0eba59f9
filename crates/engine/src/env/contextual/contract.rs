//! Defines the interface of contextual environments.

use crate::env::DerivedNumbers;
use crate::env::noise::Noise;
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_numerics::rng::Stream;
use privateer_privacy::Raw;
use privateer_privacy::interactions::ContextFacts;
use std::sync::Arc;

type Draw = dyn Fn(u64) -> Result<Users, Error> + Send + Sync;

/// Represents a contextual problem, shared by all trials.
pub struct Contextual {
    /// The public facts of the problem.
    pub facts: ContextFacts,
    /// Makes the sequence of users of one trial; refuses parameters that do not suit.
    pub draw: Box<Draw>,
    /// Facts for the manifest and the report, as (name, value).
    pub described: Facts,
    /// Which numbers the environment takes from real data; empty if there are none.
    pub derived_numbers: DerivedNumbers,
    /// Says that a policy can hardly learn from the log that the users come from, if they come from one.
    pub thin_log: Option<String>,
    /// Further notes for the ledger.
    pub notes: Vec<String>,
}

impl Contextual {
    /// Creates a problem that takes no numbers from real data.
    ///
    /// * `described` — facts beside the numbers of arms and features
    pub fn new(
        facts: ContextFacts,
        mut described: Facts,
        draw: impl Fn(u64) -> Result<Users, Error> + Send + Sync + 'static,
    ) -> Self {
        described.push("arms", facts.n_arms);
        described.push("features of a context", facts.dimension);
        let (draw, derived_numbers) = (Box::new(draw), DerivedNumbers::default());
        Self { facts, draw, described, derived_numbers, thin_log: None, notes: Vec::new() }
    }
}

#[derive(Debug)]
pub struct User {
    /// The user's context, d numbers.
    pub context: Vec<f64>,
    /// The user's mean reward of each arm; empty in a log.
    pub means: Vec<f64>,
    /// The reward, where it is the same whichever arm is shown; `None` elsewhere.
    pub reward: Option<f64>,
    /// In a log, what was shown to the user; `None` elsewhere.
    pub logged: Option<Logged>,
}

impl User {
    /// Creates a user of `dimension` features, all zeros, with mean rewards 0 of `n_arms` arms.
    pub fn new(dimension: usize, n_arms: usize) -> Self {
        Self { context: vec![0.0; dimension], means: vec![0.0; n_arms], reward: None, logged: None }
    }
}

/// Holds the users of one trial, one after another.
///
/// The sequence does not depend on the policy: all policies interact with the same users.
pub struct Users {
    user: User,
    noise: Option<Arc<dyn Noise>>,
    next: Box<dyn FnMut(&mut User) + Send>,
}

impl Users {
    /// Creates the users of a trial before the first one.
    ///
    /// * `user` — what `next` sees first
    /// * `noise` — noise around the mean rewards; `None` where rewards equal them
    /// * `next` — replaces a user by the next one
    pub fn new(user: User, noise: Option<Arc<dyn Noise>>, next: impl FnMut(&mut User) + Send + 'static) -> Self {
        Self { user, noise, next: Box::new(next) }
    }

    pub fn next(&mut self) {
        (self.next)(&mut self.user);
    }

    pub fn context(&self) -> &[f64] {
        &self.user.context
    }

    pub fn means(&self) -> &[f64] {
        &self.user.means
    }

    pub fn logged(&self) -> Option<Logged> {
        self.user.logged
    }

    /// Draws the user's reward of one arm; consumes the same number of words for any arm.
    pub fn reward(&self, arm: usize, noise: &mut Stream) -> Raw<f64> {
        let around_mean = || {
            let mean = self.user.means[arm];
            self.noise.as_ref().map_or(mean, |law| law.reward(mean, arm, noise))
        };
        Raw::seal(self.user.reward.unwrap_or_else(around_mean))
    }
}

/// Holds a log's record of one user.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logged {
    /// The arm that was shown; `None` if the policies cannot choose that arm.
    pub arm: Option<usize>,
    pub reward: f64,
    /// Probability with which the log's policy showed the arm to this user, in (0, 1].
    pub propensity: f64,
    /// The least propensity in the log.
    pub floor: f64,
}
