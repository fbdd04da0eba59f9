//! Times whole runs: a spec is run as `privateer run` runs it, into a folder of its own, and measured from outside.
//!
//! The specs are the shipped ones of `examples/speed/`, any other, or a stored instance that other programs run too.
//! **Invariant:** nothing here takes part in a run; a figure is what a user gets.

mod ceiling;
mod job;
mod measure;
mod npy;
mod outcome;
mod stored;
mod table;
mod work;

pub use ceiling::Ceilings;
pub use job::{JOBS, Size, SpeedJob};
pub use measure::{BenchOptions, Machine, Overrides, PassTimer, measure, measure_stored};
pub use outcome::Measured;
pub use stored::StoredInstance;
pub use table::table;
