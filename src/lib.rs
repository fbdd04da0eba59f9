//! privateer answers one question for people who set privacy budgets: *what does privacy cost this optimizer?*
//!
//! Rooms, lowest first; a room imports only from rooms to its left (`tests/it/tidy.rs` reads the imports and knows the
//! table). `ARCHITECTURE.md` says what lives where.

pub mod audit;
pub mod backend;
pub mod bench;
pub mod cli;
pub mod engine;
pub mod env;
pub mod error;
pub mod fit;
pub mod gp;
pub mod linalg;
pub mod oco;
pub mod params;
pub mod planted;
pub mod policy;
pub mod privacy;
pub mod record;
pub mod registry;
pub mod report;
pub mod rng;
pub mod score;
pub mod spec;
