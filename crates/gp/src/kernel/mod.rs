//! Kernels, one file each. Each reads its own keys; which names they go by is the registry's business, not this room's.

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
