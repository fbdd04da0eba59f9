//! One line per kernel, noise, feature map, mechanism, environment, policy, problem, set, loss and learner. Holds no meaning.
//!
//! Listing, the spec's "expected one of", and the contract tests all walk these lists.

mod entry;
mod lists;
mod lookup;

pub use entry::{Entry, Kind, documentation, kinds};
pub use lists::{
    CONTEXTUAL_ENVIRONMENTS, CONTEXTUAL_POLICIES, CURATORS, ENVIRONMENTS, FEATURES, GRADIENT_NOISES, KERNELS, KernelBuild,
    LEARNERS, LOSSES, MECHANISMS, NOISES, POLICIES, PROBLEMS, SETS, SUMS,
};
pub use lookup::{Registry, find, names};
