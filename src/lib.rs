//! privateer answers one question for people who set privacy budgets: *what does privacy cost this optimizer?*
//!
//! Rooms, lowest first; a room imports only from rooms above it in this list (`tests/it/tidy.rs` reads the imports).
//! `ARCHITECTURE.md` says what lives where.

pub mod error;
pub mod rng;
pub mod params;
pub mod score;
pub mod linalg;
pub mod gp;
pub mod privacy;
pub mod env;
pub mod record;
pub mod report;
