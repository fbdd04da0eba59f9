//! What a device does for a screen, in plain data: hold tables, keep mean and spread² of every point of some trials, run
//! the passes of a round. Implemented by loops on the CPU (`twin`) and by compute shaders (`gpu`), from one set of
//! buffers and passes.

mod contract;
mod kernel_error;

pub use contract::{Answer, Band4, CAPACITY, Device, LaneWork, Lanes, Precision, Start, TableSpec, Tables, Visit};
pub use kernel_error::kernel_error;
