//! Curators: who holds the inputs of an outsourced problem, and gives out released inputs by row (Kharkovskii2020).
//!
//! In reading order: inputs and their released inputs, and what every curator can do (`contract`), the paper's projection, which has no
//! guarantee (`projection`), and Gaussian noise behind a public projection, which has one (`input_noise`). These are simulations
//! over reproducible streams.

mod contract;
pub mod input_noise;
pub mod projection;
mod scaled;
#[cfg(test)]
mod tests;

pub use contract::{Curator, CuratorEntry, CuratorRequest, Inputs, ReleasedInputs, resolve_curator};
pub use input_noise::{PUBLIC_SEED, largest_singular_value, public_projection};
pub(super) use projection::product;
pub use projection::{centred, lifted};
pub use scaled::Scaled;
