//! What a device does for a screen, in plain data: hold tables, keep mean and spread² of every point of some trials, run
//! the passes of a round. Implemented by loops on the CPU (`reference`) and by compute shaders (`gpu`), from one set of
//! buffers and passes.
//!
//! What both need on the host stands here: the numbers of a type (`real`), tables and kernels as the passes read them
//! (`tables`), a round's parameters packed into buffers (`pack`), the answers read out of them (`answer`).

pub(crate) mod answer;
mod contract;
pub(crate) mod pack;
pub(crate) mod real;
pub(crate) mod tables;

pub use contract::{Answer, Band4, CAPACITY, Device, LaneWork, Lanes, NewMean, Precision, Start, TableSpec, Tables, Visit};
