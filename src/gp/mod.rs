//! Gaussian-process mathematics: points, kernels, Gram sources, feature maps, posteriors.
//!
//! **Invariant:** knows no privacy, no trial, no file. Whatever enters recorded numbers is f64, uses `libm` and one fixed order of summation.

pub mod features;
mod gram;
pub mod kernel;
mod points;
pub mod posterior;
pub mod sample;
pub mod special;

pub use gram::{KernelGram, TableGram, tabulated};
pub use points::{Points, grid_axis};
