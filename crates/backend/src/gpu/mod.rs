//! A device of compute shaders, through wgpu.
//!
//! [`Gpu::open`] picks an adapter; tables and lanes are buffers on it. A round is one submission: parameters, rows and factors
//! go up, a few passes run, answers come back. Every failure (no adapter, no room, a lost or hanging device, a mapping that
//! fails) is an [`privateer_config::error::Error::Device`], never a panic.

mod adapters;
mod buffers;
mod ceilings;
mod device;
mod lanes;
mod layout;
mod made;
mod pipeline;
mod readback;
mod self_test;
mod tables;
mod workgroup;

#[cfg(test)]
mod layout_tests;
#[cfg(test)]
mod limits_tests;
#[cfg(test)]
mod math_tests;
#[cfg(test)]
mod tests;

pub use adapters::{AdapterChoice, AdapterFacts, adapters};
pub use ceilings::GpuCeilings;
pub use device::{Gpu, GpuOptions, Replacement};
