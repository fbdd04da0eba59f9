//! The checker behind the `conformance` example, also run by the tests. Knows no file names: a file is what its fields
//! say. Adding a kind is one file here and one line in `registry.rs`.

mod bandit;
mod baselines;
mod benchmarks;
mod calibration;
mod contextual;
mod curator;
mod frank_wolfe;
mod joint;
mod kernels;
mod modeler;
mod noise;
mod nystrom;
mod oracles;
mod outcome;
mod posterior;
mod prefix;
mod qff;
mod read;
mod registry;
mod sequences;
mod stored;
mod truncation;

pub use outcome::{Section, Verdict};
pub use registry::{KINDS, recognise};
