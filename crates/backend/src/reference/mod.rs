//! Implements a device by plain loops on the CPU, for tests.
//!
//! Each pass is the reference implementation of a shader, with the same buffers, the same padding and the same order of
//! sums, so both can be compared buffer by buffer. It is not fast. Faults can be planted ([`Fault`]), to test that the code
//! that uses a device detects them.

pub(crate) mod arithmetic;
mod buffers;
mod device;
mod factor;
mod fault;
mod features;
mod gram;
mod kernel;
mod project;
mod select;
mod slots;
mod update;

#[cfg(test)]
pub(crate) mod cases_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod math_tests;
#[cfg(test)]
pub(crate) mod played_planes_tests;
#[cfg(test)]
pub(crate) mod referee_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod trial;

pub use device::ReferenceDevice;
pub use fault::Fault;
