//! Defines the learners, one file each.
//!
//! A learner is two objects, a privatizer of `privacy::gradients` and a server that stores released values alone.

mod contract;
pub mod dp_ftrl;
pub mod dp_pofw;
pub mod dp_tofw;
mod frank_wolfe;
mod list;
pub mod local_md;
pub mod noisy_giga;
pub mod noisy_sfw;
pub mod noisy_sgd;
pub mod ofw;
pub mod phased_sgd;
mod prefix;
pub mod projected_sgd;
pub mod snowball_sgd;

pub use contract::{
    GradientRequest, Learner, LearnerBatch, LearnerPlan, LearnerStreams, MakeLearners, PreparedLearner, Rates, Setting, each,
};
pub use frank_wolfe::{FrankWolfe, step_size};
pub use list::{GRADIENT_NOISES, LEARNERS};
pub use prefix::{LearnerFailure, OwnLearner, PrefixLearner, SumsLearner, SumsStart};
