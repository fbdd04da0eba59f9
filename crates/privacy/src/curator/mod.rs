//! Implements curators, who hold the inputs of an outsourced problem and release them row by row.
//!
//! The setting is that of (Kharkovskii2020). In reading order: inputs, released inputs and the interface of every curator
//! (`contract`), the paper's projection, which has no guarantee (`projection`), and Gaussian noise after a public projection,
//! which has one (`input_noise`). These are simulations over reproducible random streams.

mod contract;
pub mod input_noise;
mod list;
pub mod projection;
mod scaled;
#[cfg(test)]
mod tests;

pub use contract::{Curator, CuratorEntry, Inputs, InputsNeed, Preparation, ReleasedInputs};
pub use input_noise::{PUBLIC_SEED, largest_singular_value, public_projection};
pub use list::CURATORS;
pub(super) use projection::product;
pub use projection::{centred, lifted};
pub use scaled::Scaled;
