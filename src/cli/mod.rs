//! Commands, progress, messages, exit codes. Nothing depends on this room.
//!
//! Data goes to stdout, everything else to stderr.

mod account;
mod audit;
mod bench;
mod check;
mod columns;
mod commands;
mod cost;
mod curate;
mod data;
mod devices;
mod fit;
mod ledger;
#[cfg(unix)]
mod limits;
mod list;
mod look;
mod odometer;
mod output;
mod people;
mod plan;
mod predict;
mod progress;
mod release;
mod report;
mod run;
mod session;
mod share_arguments;
mod slurm;
mod source;
mod status;
mod stores;
mod verify;
mod wait;

pub use commands::{main, main_with};
