//! The native half of the Python package `privateer`: conversions, and calls into the library.
//!
//! Everything that needs no Rust is in `privateer/*.py`, which also holds the documentation.

mod arrow;
mod ask_tell;
mod contextual;
mod deploy;
mod environment;
mod failure;
mod guard;
mod items;
mod learner;
mod policy;
mod problem;
mod results;
mod run;
mod simulator;
mod spec;

use pyo3::prelude::*;

/// Native half of `privateer`; use the functions of the package instead.
#[pymodule]
mod _native {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use super::arrow::arrow_stream;
    #[pymodule_export]
    use super::ask_tell::AskedTrials;
    #[pymodule_export]
    use super::deploy::{
        account, ask, best, books, cost, curate, init, ledger, main, merge, people, release, release_table, tell,
    };
    #[pymodule_export]
    use super::learner::LearnerProblem;
    #[pymodule_export]
    use super::problem::Problem;
    #[pymodule_export]
    use super::results::{manifest, mean_interval, rows};
    #[pymodule_export]
    use super::run::{audit, finish, plan, run};
    #[pymodule_export]
    use super::simulator::Simulators;
    #[pymodule_export]
    use super::spec::{Sweep, allow_frames, spec_text, toml_as_json};
}
