//! privateer answers one question for people who set privacy budgets: *what does privacy cost this optimizer?*
//!
//! This crate simulates differentially private optimizers. Reading order of what a program needs:
//!
//! 1. [`Sweep`] is a checked specification, [`DataFolder`] the place of the files it reads;
//! 2. [`Preparation`] makes its cells ready for a [`Backend`], of which [`Cpu`] needs no device;
//! 3. [`run()`] computes all units of work and passes finished ones to an [`Observer`]; a [`Stop`] ends it early;
//!    [`run_in_memory`] and [`run_to_folder`] do it all in one call;
//! 4. an [`AskTell`] simulates the trials of a cell whose rewards the caller measures, a [`Simulator`] plays whatever points its
//!    caller chooses, and a [`Session`] protects the rewards of real people;
//! 5. a [`Registry`] adds policies ([`OwnPolicy`]), environments ([`FnEnvironment`]) and mechanisms of your own: see
//!    `docs/extending.md` and the two crates below `examples/`; [`testing`] has the contracts that they must keep;
//! 6. [`Sweep::builder`] writes a spec in Rust, with an [`Item`] for each of its tables;
//! 7. [`audit`] attacks stated guarantees, [`record`] keeps results in a folder, [`report`] turns a folder into a page;
//!    [`run_to_folder`] does all of it, as `privateer run` does.
//!
//! ```
//! use privateer::{Counters, Cpu, DataFolder, Error, Observer, Options, Preparation, Stop, Sweep, Unit, run};
//! use privateer::{Quantity, RunOptions, Trace, run_to_folder};
//! use std::collections::BTreeSet;
//! use std::sync::Mutex;
//!
//! /// Adds up the regret of the last recorded round of each trial.
//! struct LastRegret(Mutex<f64>);
//!
//! impl Observer for LastRegret {
//!     fn finished(&self, _unit: Unit, rows: Trace, _seconds: f64, _counters: &Counters) -> Result<(), Error> {
//!         let last = rows.round.iter().max().copied();
//!         let ends = rows.round.iter().zip(&rows[Quantity::CumulativeRegret]).filter(|(round, _)| Some(**round) == last);
//!         *self.0.lock().unwrap() += ends.map(|(_, regret)| regret).sum::<f64>();
//!         Ok(())
//!     }
//! }
//!
//! let text = r#"
//!     rounds = 20
//!     trials = 3
//!     environment = { kind = "rkhs", domain = { kind = "grid", points = 25 }, kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }, noise = { kind = "uniform", bound = 1.0 } }
//!     policy = [{ kind = "uniform" }]
//! "#;
//! let sweep = Sweep::parse("example.toml", text, &[])?;
//! let (data, backend, regret) = (DataFolder::default(), Cpu::default(), LastRegret(Mutex::new(0.0)));
//! let preparation = Preparation::new(&sweep, &data, &backend);
//! let tally = run(&sweep, &preparation, Options::default(), &BTreeSet::new(), &Stop::new(), &regret)?;
//! assert!(!tally.stopped && 0.0 < *regret.0.lock().unwrap());
//!
//! // The same, recorded and reported in a results folder.
//! let folder = tempfile::tempdir().expect("a temporary folder");
//! let finished = run_to_folder(&sweep, folder.path(), &RunOptions::default(), &Stop::new(), &())?;
//! assert!(finished.report.is_some_and(|report| report.report_path.exists()));
//! # Ok::<(), Error>(())
//! ```
//!
//! All of it is in crates below this one, [`numerics`], [`config`], [`privacy`], [`gp`], [`backend`] (with its `gpu`),
//! `privateer-engine`, `privateer-results` and `privateer-deploy`, which this one gathers under one name; here is the command line alone. Their manifests say
//! which may use which, and among their rooms `tests/it/tidy.rs` holds the table. `ARCHITECTURE.md` says what lives where.

#[cfg(feature = "deploy")]
#[doc(hidden)]
pub use privateer_deploy as deploy;
#[doc(inline)]
pub use privateer_engine::*;
#[doc(inline)]
pub use privateer_results::*;
pub use {privateer_config as config, privateer_gp as gp, privateer_numerics as numerics, privateer_privacy as privacy};

/// Scoring backends, with the device of compute shaders as `gpu`.
pub mod backend {
    #[doc(no_inline)]
    pub use privateer_backend::*;
    #[cfg(feature = "gpu")]
    pub use privateer_gpu as gpu;
}

#[cfg(feature = "cli")]
pub mod cli;
