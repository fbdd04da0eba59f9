//! Special functions of the kernels: the modified Bessel function of the second kind and the Matern correlation; Gauss rules.
//!
//! What `libm` has (gamma, exp, ln) is taken from there. No kernels here: they are in `gp::kernel`.

mod bessel;
mod gauss;
mod pair;

pub use bessel::BesselK;
pub use gauss::{MOST_NODES, gauss_gegenbauer, gauss_hermite};
