//! Kernels, one file each; each reads its own keys, and the registry names them.

pub mod additive;
mod contract;
pub mod empirical;
mod lengthscales;
pub mod linear;
mod list;
pub mod matern;
mod plane_sums;
mod radial;
pub mod squared_exponential;

pub use contract::{Kernel, Summand};
pub use lengthscales::Lengthscales;
pub use list::{KERNELS, KernelBuild, KernelChoice, parse_kernel};
pub use plane_sums::PlaneSums;

#[cfg(test)]
mod tests;
