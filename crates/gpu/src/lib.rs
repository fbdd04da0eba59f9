//! Implements a [`Device`](privateer_backend::device::Device) by compute shaders, through wgpu.
//!
//! `Gpu::open` selects an adapter; tables and slots are buffers on it. A round is one submission: parameters, rows and
//! factors are uploaded, a few passes run, and answers are read back. Every failure (no adapter, no memory, a lost or
//! hanging device, a failed mapping) is a [`BackendError`](privateer_backend::BackendError), never a panic. **Invariant:** this
//! crate computes what the device contract asks for, and decides nothing.

#![cfg(feature = "wgpu")]

mod adapters;
mod buffers;
mod ceilings;
mod clock;
mod device;
mod functions;
mod lanes;
mod layout;
mod made;
mod pipeline;
mod readback;
mod self_test;
mod slots;
mod tables;
mod workgroup;

#[cfg(test)]
mod functions_tests;
#[cfg(test)]
mod lanes_tests;
#[cfg(test)]
mod layout_tests;
#[cfg(test)]
mod limits_tests;
#[cfg(test)]
mod math_tests;
#[cfg(test)]
mod tests;

pub use adapters::{ADAPTER_VARIABLE, AdapterChoice, AdapterFacts, PreferredAdapter, adapters, prefer};
pub use ceilings::GpuCeilings;
pub use clock::{PASSES, PassTimes};
pub use device::{Gpu, GpuOptions, Replacement};
