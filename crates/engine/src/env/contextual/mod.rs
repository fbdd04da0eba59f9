//! Defines the contextual problems, one file per environment.
//!
//! Every round a user comes with a context, and each arm has a mean reward for that user.

mod contract;
mod fn_contexts;
pub(super) mod generalized_linear;
pub(super) mod logged;
mod synthetic;
pub(super) mod table;
mod table_features;
mod user_file;

pub use contract::{Contextual, Logged, User, Users};
pub use fn_contexts::FnContexts;
