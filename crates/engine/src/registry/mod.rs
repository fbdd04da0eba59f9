//! Gathers the lists of everything that a spec can name, from kernels to learners, and adds to them.
//!
//! Each list stands beside the trait that it lists, with one line per item, which holds no meaning of its own. The listing, the
//! spec's "expected one of", and the contract tests all iterate over these lists.

mod listing;
mod open;

pub use crate::env::list::{CONTEXTUAL_ENVIRONMENTS, ENVIRONMENTS};
pub use crate::env::noise::NOISES;
pub use crate::oco::learner::{GRADIENT_NOISES, LEARNERS};
pub use crate::oco::loss::LOSSES;
pub use crate::oco::problem::PROBLEMS;
pub use crate::oco::set::SETS;
pub use crate::policy::contextual::CONTEXTUAL_POLICIES;
pub use crate::policy::{FEATURES, POLICIES};
pub use listing::{Kind, documentation, kinds};
pub use open::Registry;
pub use privateer_config::params::{Named, find, names};
pub use privateer_gp::kernel::{KERNELS, KernelBuild};
pub use privateer_privacy::curator::CURATORS;
pub use privateer_privacy::mechanism::MECHANISMS;
pub use privateer_privacy::sums::SUMS;
