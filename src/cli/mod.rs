//! Commands, progress, messages, exit codes. Nothing depends on this room.
//!
//! Data goes to stdout, everything else to stderr.

mod account;
mod audit;
mod backends;
mod bench;
mod check;
mod columns;
mod commands;
mod cost;
mod curate;
mod data;
mod deployment;
mod devices;
#[cfg(feature = "gpu")]
mod drivers;
mod fit;
mod ledger;
mod limits;
mod list;
mod look;
mod odometer;
mod output;
mod plan;
mod predict;
mod price;
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

pub use backends::{OpenedBackend, open as open_backend, with_hint};
pub use commands::{captured, main, main_with};
pub use output::CapturedText;
