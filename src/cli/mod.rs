//! Commands, progress, messages, exit codes. Nothing depends on this room.
//!
//! Data goes to stdout, everything else to stderr.

mod account;
mod audit;
mod backends;
mod bench;
mod check;
mod commands;
mod curate;
mod devices;
mod fit;
mod list;
mod predict;
mod progress;
mod recorded;
mod run;
mod session;
mod source;
mod threads;
mod verify;

pub use commands::main;
