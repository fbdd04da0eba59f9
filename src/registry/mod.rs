//! Registers everything that a spec can name, from kernels to learners.
//!
//! Each kernel, noise, feature map, mechanism, environment, policy, problem, set, loss and learner has one line, which holds no
//! meaning of its own. The listing, the spec's "expected one of", and the contract tests all iterate over these lists.

mod entry;
mod lists;
mod lookup;

pub use entry::{Entry, Kind, documentation, kinds};
pub use lists::{
    CONTEXTUAL_ENVIRONMENTS, CONTEXTUAL_POLICIES, CURATORS, ENVIRONMENTS, FEATURES, GRADIENT_NOISES, KERNELS, KernelBuild,
    LEARNERS, LOSSES, MECHANISMS, NOISES, POLICIES, PROBLEMS, SETS, SUMS,
};
pub use lookup::{Registry, find, names};
