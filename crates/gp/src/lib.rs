//! Gaussian-process mathematics: points, kernels, Gram sources, feature maps, posteriors.
//!
//! **Invariant:** knows no privacy, no trial, no file. Whatever enters recorded numbers is f64, uses `libm` and one fixed order of summation.

pub mod features;
mod gram;
pub mod kernel;
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
pub use points::{Points, grid_axis};
pub use product::{Plays, ProductDomain};
pub use readings::TrainReadings;
pub use sorted_rewards::SortedRewards;
