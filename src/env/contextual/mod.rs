//! Contextual problems: every round a person comes with a context, and each arm has a mean reward for that person; one file each.

mod contract;
pub mod generalized_linear;

pub use contract::{ContextInstance, Contextual, ContextualPlan};
