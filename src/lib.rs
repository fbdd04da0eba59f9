//! privateer answers one question for people who set privacy budgets: *what does privacy cost this optimizer?*
//!
//! The crates below this one are [`numerics`], [`config`], [`privacy`], [`gp`] and [`backend`]; their manifests say which may
//! use which. Among the rooms of this crate, `tests/it/tidy.rs` holds the table. `ARCHITECTURE.md` says what lives where.

pub use privateer_backend as backend;
pub use privateer_config as config;
pub use privateer_gp as gp;
pub use privateer_numerics as numerics;
pub use privateer_privacy as privacy;

pub mod audit;
pub mod bench;
pub mod cli;
pub mod engine;
pub mod env;
pub mod fit;
pub mod oco;
pub mod policy;
pub mod record;
pub mod registry;
pub mod report;
pub mod spec;
