//! Special functions of the kernels: Bessel K, the Matern correlation and Gauss rules.
//!
//! Gamma, exp and ln come from `libm`. The kernels are in `gp::kernel`.

mod bessel;
mod gauss;
mod pair;

pub use bessel::BesselK;
pub use gauss::{MOST_NODES, gauss_gegenbauer, gauss_hermite};
