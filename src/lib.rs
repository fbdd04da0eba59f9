//! privateer answers one question for people who set privacy budgets: *what does privacy cost this optimizer?*
//!
//! Rooms, lowest first; a room imports only from rooms to its left (`tests/it/tidy.rs` reads the imports and knows the
//! table). `ARCHITECTURE.md` says what lives where.

pub mod error;
pub mod rng;
pub mod params;
pub mod score;
pub mod linalg;
pub mod gp;
pub mod privacy;
pub mod env;
pub mod policy;
pub mod registry;
pub mod spec;
pub mod backend;
pub mod engine;
pub mod record;
pub mod report;
pub mod cli;
