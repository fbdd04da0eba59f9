//! Times whole runs: a spec is run as `privateer run` runs it, into a folder of its own, and measured from outside.
//!
//! The specs are the shipped ones of `examples/speed/`, or any other.
//! **Invariant:** nothing here takes part in a run; a figure is what a user gets.

mod ceiling;
mod job;
mod machine;
mod measure;
mod outcome;
mod paths;
mod table;
mod work;

pub use ceiling::Ceilings;
pub use job::{JOBS, Size, SpeedJob};
pub use machine::{Machine, PassTimer};
pub use measure::{Overrides, measure};
pub use outcome::Measured;
pub use paths::{PathJob, PathTimes, path_faults, path_jobs, path_times, time_dearer_again};
pub use table::{TITLES, notes, rows};
