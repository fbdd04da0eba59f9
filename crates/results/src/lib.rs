//! What becomes of simulations: results folders, audits of stated epsilons, pages, answers and benches.
//!
//! Users name these items by the crate `privateer`, which gathers them with those of `privateer-engine`. `tests/it/tidy.rs` says which
//! room may import which.

#[doc(inline)]
pub use self::run::{MemoryRun, Notice, RunObserver, RunOptions, ThreadSetup, run_in_memory};
#[cfg(feature = "report")]
#[doc(inline)]
pub use self::run::{RunFolder, run_to_folder};

pub mod audit;
#[cfg(feature = "parquet")]
pub mod record;
#[cfg(feature = "report")]
pub mod report;
pub mod run;
pub mod testing;

// The rooms behind the facade: the program, its tests and examples use them, and no version keeps them as they are.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod bench;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cost;
#[doc(hidden)]
pub mod fit;
#[cfg(feature = "stores")]
#[doc(hidden)]
pub mod store;
