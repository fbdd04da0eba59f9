//! What a contextual environment is.

use crate::env::BuildContext;
use crate::error::Error;
use crate::privacy::Raw;
use crate::privacy::visits::ContextFacts;
use crate::rng::Stream;
use std::sync::Arc;

/// A contextual environment as read from a spec.
pub trait ContextualPlan: Send + Sync {
    /// Builds what all trials share.
    ///
    /// # Errors
    /// Missing or malformed data, sizes or a margin that do not suit.
    fn build(&self, context: &BuildContext<'_>) -> Result<Arc<dyn Contextual>, Error>;
}

/// A contextual problem: what all trials share.
pub trait Contextual: Send + Sync {
    /// What is public.
    fn facts(&self) -> &ContextFacts;

    /// The people of one trial.
    ///
    /// # Errors
    /// Parameters that do not suit.
    fn draw(&self, trial: u64) -> Result<Box<dyn ContextInstance>, Error>;

    /// Facts for the manifest and the report, as (name, value).
    fn describe(&self) -> Vec<(String, serde_json::Value)>;
}

/// The people of one trial, one after the other. Nothing here depends on who chooses: all policies meet the same people.
pub trait ContextInstance: Send {
    /// The next person.
    fn next(&mut self);

    /// Their context, d numbers.
    fn context(&self) -> &[f64];

    /// Their mean reward of each arm.
    fn means(&self) -> &[f64];

    /// Their reward of one arm. Consumes the same number of words for any arm.
    fn reward(&self, arm: usize, noise: &mut Stream) -> Raw<f64>;
}
