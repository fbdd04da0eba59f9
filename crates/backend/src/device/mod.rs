//! Defines, in plain data, the work of a device for a screen.
//!
//! A device holds tables, keeps mean and posterior variance of every point of some trials, and runs the passes of a round.
//! Loops on the CPU (`reference`) and compute shaders (`gpu`) implement it with the same buffers and passes. Host code that
//! both share is here: the numbers of a type (`real`), tables and kernels in the layout of the passes (`tables`), a round's
//! parameters packed into buffers (`pack`), and the answers decoded from them (`answer`).

pub(crate) mod answer;
mod contract;
pub(crate) mod pack;
pub(crate) mod real;
pub(crate) mod tables;

pub use contract::{Answer, Band4, CAPACITY, Device, DeviceSlots, NewMean, Precision, SlotWork, Start, TableSpec, Tables, Visit};
