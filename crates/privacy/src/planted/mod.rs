//! Plants faults in the mechanisms, one at a time, to show that audits and tests detect them.
//!
//! Without the cargo feature `planted-faults`, which no release has, [`is`] is the constant `false` and the compiler removes
//! every switch. With it, the environment variable `PRIVATEER_PLANTED_FAULT` names the fault, and the program reports on stderr
//! that one is planted. The table of faults, audits and tests is in `tests/planted`; its results are in `docs/audit-faults.md`.
//!
//! **Invariant:** this module imports nothing; a switch is one line and never changes a program that is built without the
//! feature.

mod fault;
mod switch;

pub use fault::PlantedFault;
#[cfg(feature = "planted-faults")]
pub use switch::{VARIABLE, named};
pub use switch::{is, noise_share};
