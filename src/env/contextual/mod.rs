//! Contextual problems: every round a person comes with a context, and each arm has a mean reward for that person; one file each.

mod contract;
pub mod generalized_linear;
mod link;
pub mod logged;
mod stand_in;
pub mod table;
mod table_features;

pub use contract::{ContextInstance, Contextual, ContextualPlan, Logged};
