//! Runs a sweep into a results folder: opens or resumes the folder, simulates, records, audits and reports.
//!
//! [`run_in_memory`] writes nothing and returns the rows. [`run_to_folder`] is `privateer run` without its messages: the caller hears of progress and of anything unusual through a
//! [`RunObserver`]. [`run_again`] computes recorded parts again and compares their bytes. **Invariant:** prints nothing.

mod backends;
#[cfg(feature = "gpu")]
mod drivers;
#[cfg(feature = "report")]
mod folder;
#[cfg(feature = "report")]
mod manifest;
#[cfg(all(feature = "gpu", feature = "report"))]
mod measure;
#[cfg(all(feature = "gpu", feature = "report"))]
mod measured;
mod memory;
mod memory_peak;
mod notices;
mod observer;
mod options;
#[cfg(feature = "report")]
mod plan;
#[cfg(feature = "report")]
mod recorder;
#[cfg(feature = "report")]
mod rerun;
mod threads;

#[doc(hidden)]
pub use backends::{
    BACKEND_NAMES, OpenedBackend, cpu_backend, dense_backend, gpu_backend, open_backend, prefer_adapter, with_hint,
};
#[cfg(feature = "gpu")]
#[doc(hidden)]
pub use drivers::{quietly, this_is_the_program};
#[cfg(feature = "report")]
pub use folder::{RunFolder, run_to_folder};
#[cfg(all(feature = "gpu", feature = "report"))]
#[doc(hidden)]
pub use measure::measure;
#[cfg(all(feature = "gpu", feature = "report"))]
#[doc(hidden)]
pub use measured::{AutoChoice, MachineRates, RatesFile, choose, shape};
pub use memory::{MemoryRun, run_in_memory};
pub use memory_peak::{forget_peak, peak_bytes};
pub use observer::{Notice, ReleaseSummary, RunObserver};
pub use options::RunOptions;
#[cfg(feature = "report")]
pub use plan::{Plan, PlannedTask, PlannedUnit};
#[cfg(feature = "report")]
pub use rerun::{choose_parts, run_again};
pub use threads::{ThreadSetup, check_threads, started_threads, thread_pool};
