//! Special functions of the kernels: the modified Bessel function of the second kind and the Matern correlation.
//!
//! What `libm` has (gamma, exp, ln) is taken from there. No kernels here: they are in `gp::kernel`.

mod bessel;
mod pair;

pub use bessel::BesselK;
