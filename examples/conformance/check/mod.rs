//! The checker behind the `conformance` example, also run by the tests. Knows no file names: a file is what its fields
//! say. Adding a kind is one file here and one line in `registry.rs`.

mod bandit;
mod benchmarks;
mod calibration;
mod curator;
mod joint;
mod kernels;
mod modeler;
mod nystrom;
mod outcome;
mod posterior;
mod qff;
mod read;
mod registry;
mod sequences;
mod truncation;

pub use outcome::{Section, Verdict};
pub use registry::{KINDS, recognise};
