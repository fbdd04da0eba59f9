//! A device made of plain loops on the CPU: each pass is the reference implementation of a shader, with the same buffers, the same padding and
//! the same order of sums, so that the two can be compared buffer by buffer.
//!
//! It is a reference for tests and never fast: faults can be planted ([`Fault`]) to see that whoever
//! drives a device notices them.

mod buffers;
mod device;
mod factor;
mod fault;
mod features;
mod gram;
mod kernel;
mod lanes;
mod project;
mod select;
mod update;

#[cfg(test)]
pub(crate) mod cases_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod math_tests;
#[cfg(all(test, feature = "gpu"))]
pub(crate) mod played_planes_tests;
#[cfg(test)]
pub(crate) mod referee_tests;
#[cfg(test)]
mod tests;

pub use device::ReferenceDevice;
pub use fault::Fault;
