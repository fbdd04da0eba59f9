//! Gaussian-process mathematics: points, kernels, Gram sources, feature maps, posteriors.
//!
//! **Invariant:** knows no privacy, no trial, no file. Whatever enters recorded numbers is f64, uses `libm` and one fixed order of summation.

pub mod features;
pub mod posterior;
pub mod kernel;
pub mod sample;
pub mod special;
mod gram;
mod points;

pub use gram::{KernelGram, TableGram, tabulated};
pub use points::{Points, grid_axis};
