//! Defines, in plain data, the work of a device for a screen.
//!
//! A device holds tables, keeps mean and posterior variance of every point of some trials, and runs the passes of a round.
//! Loops on the CPU (`reference`) and compute shaders (`gpu`) implement it with the same buffers and passes. Host code that
//! both share is here: the numbers of a type (`real`), tables and kernels in the layout of the passes (`tables`), a round's
//! parameters packed into buffers (`pack`), and the answers decoded from them (`answer`).

pub(crate) mod answer;
mod contract;
#[cfg_attr(not(any(feature = "gpu", feature = "reference-device", test)), expect(dead_code, reason = "no device is compiled"))]
pub(crate) mod loop_domain;
#[cfg_attr(not(any(feature = "gpu", feature = "reference-device", test)), expect(dead_code, reason = "no device is compiled"))]
pub(crate) mod pack;
#[cfg_attr(not(any(feature = "gpu", feature = "reference-device", test)), expect(dead_code, reason = "no device is compiled"))]
pub(crate) mod real;
#[cfg_attr(not(any(feature = "gpu", feature = "reference-device", test)), expect(dead_code, reason = "no device is compiled"))]
pub(crate) mod tables;
mod types;
pub(crate) mod whole;

pub use answer::Answers;
pub use contract::{Device, DeviceSlots, Tables};
pub use loop_domain::LoopDomain;
pub use pack::{Parcel, SlotShape};
pub use types::{Answer, CAPACITY, DeviceBand, NewMean, Precision, SlotWork, Start, Visit};
pub use whole::{DeviceLanes, DeviceRounds};
