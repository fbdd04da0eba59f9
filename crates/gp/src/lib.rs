//! Gaussian-process mathematics: points, kernels, Gram sources, feature maps, posteriors.
//!
//! **Invariant:** this crate does not depend on privacy, trials or files. Everything that enters recorded numbers is
//! computed in f64, with `libm` and in one fixed order of summation.

pub mod features;
mod gram;
pub mod kernel;
mod kernel_sum;
pub mod nystrom;
mod points;
pub mod posterior;
mod product;
mod readings;
pub mod sample;
pub mod score;
mod sorted_rewards;
pub mod special;
pub mod truncation;

pub use gram::{KernelGram, TableGram, tabulated};
pub use kernel_sum::{FunctionValues, KernelSum};
pub use points::{Points, grid_axis};
pub use product::{Plays, ProductDomain};
pub use readings::TrainReadings;
pub use sorted_rewards::SortedRewards;
