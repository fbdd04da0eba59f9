//! One line per kernel, noise, feature map, mechanism, environment and policy. Holds no meaning.
//!
//! Listing, the spec's "expected one of", and the contract tests all walk these lists.

mod entry;
mod lists;
mod shelf;

pub use entry::{Entry, Kind, documentation, kinds};
pub use lists::{CURATORS, ENVIRONMENTS, FEATURES, KERNELS, KernelBuild, MECHANISMS, NOISES, POLICIES, SUMS};
pub use shelf::{Shelf, find, names};
