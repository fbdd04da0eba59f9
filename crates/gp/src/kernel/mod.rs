//! Kernels, one file each; each reads its own keys, and the registry names them.

pub mod additive;
mod contract;
pub mod empirical;
mod lengthscales;
pub mod linear;
pub mod matern;
pub mod squared_exponential;

pub use contract::{Kernel, KernelRegistry, Summand};
pub use lengthscales::Lengthscales;

#[cfg(test)]
mod tests;
