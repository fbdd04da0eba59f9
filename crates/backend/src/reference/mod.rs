//! Implements a device by plain loops on the CPU, for tests.
//!
//! Each pass is the reference implementation of a shader, with the same buffers, the same padding and the same order of
//! sums, so both can be compared buffer by buffer; `exp`, `sin` and `cos` are those of libm, where shaders have polynomials. It is not fast. Faults can be planted ([`Fault`]), to test that the code
//! that uses a device detects them.

mod buffers;
pub mod cases;
mod device;
mod factor;
mod fault;
mod features;
mod gram;
mod kernel;
mod player;
mod project;
pub mod referee;
mod select;
mod slots;
pub mod trial;
mod update;

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod math_tests;
#[cfg(test)]
mod tests;

pub use device::ReferenceDevice;
pub use fault::Fault;
pub use player::ReferencePlayer;
