//! Defines, in plain data, the work of a device for a screen.
//!
//! A device holds tables, keeps mean and posterior variance of every point of some trials, and runs the passes of a round.
//! Loops on the CPU (`reference`) and compute shaders (crate `privateer-gpu`) implement it with the same buffers and passes. Host
//! code that both share is here: the numbers of a type (`real`), tables and kernels in the layout of the passes (`tables`), a round's
//! parameters packed into buffers (`pack`), and the answers decoded from them (`answer`).

pub(crate) mod answer;
mod contract;
pub(crate) mod loop_domain;
pub(crate) mod pack;
pub(crate) mod real;
pub(crate) mod tables;
mod types;
pub(crate) mod whole;

pub use answer::{ANSWER_WORDS, Answers, MAXIMA};
pub use contract::{Device, DeviceSlots, Tables};
pub use loop_domain::{LoopDomain, MOST_VISITED};
pub use pack::{Numbers, OwnPoints, Packed, Parcel, SlotShape, TOGETHER, Upload, Work};
pub use real::Real;
pub use tables::{
    Chunk, Coordinates, DeviceColumns, Extent, KernelNumbers, MADE_GRAM_BYTES, PLANE_NUMBERS, PLANES, TILE, coordinates,
    feature_columns, features_base, features_error, gram_base, gram_columns, kernel_error, no_form,
};
pub use types::{Answer, CAPACITY, DeviceBand, NewMean, Precision, SlotWork, Start, Visit};
pub use whole::{DeviceLanes, DeviceRounds, FunctionEnds};
