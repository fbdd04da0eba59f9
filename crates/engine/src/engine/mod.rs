//! Runs units of work in lockstep batches, where policy and backend work together.
//!
//! A unit is a block of trials of one cell, or of several tiny ones; it becomes one part of the results. Trials of a unit run in
//! lockstep batches, batches run in parallel, and nothing that is recorded depends on how. The engine is given the units that are already done,
//! and passes finished ones to an [`Observer`]. **Invariant:** prints nothing, writes nothing, reads no result.

mod ahead;
mod ask_tell;
mod cell_info;
mod cell_warning;
mod contexts;
mod decide;
mod decider;
mod environment_cache;
mod functions;
mod lock;
mod lockstep;
mod observer;
mod online;
mod player;
mod players;
mod plays;
mod prepare;
mod rates;
mod ready_cell;
mod replay;
mod reward_source;
mod rounds;
mod run;
mod scoring_error;
mod screened;
mod session;
mod session_parts;
mod share;
mod simulator;
mod table_warnings;
mod trace;
mod tuned;
mod unit_job;
mod verifying_screen;
mod warnings;
mod wide;
mod workload;

pub use crate::spec::{ByText, Resolved, Role, is_privacy_key};
pub use ask_tell::{AskTell, AskTellState};
pub use cell_info::{CellFacts, CellInfo, CellLedger, unify_swept};
pub use cell_warning::{CellWarning, GroupedWarnings, grouped_warnings};
pub use contexts::ContextualCell;
pub use decide::{decide, decide_by_axis};
pub use observer::{Observer, Place, Stop, TrialEnd, Unit};
pub use prepare::Preparation;
pub use run::{Tally, parts, run, units};
pub use scoring_error::scoring_error;
pub use screened::Screened;
pub use session::{Session, ToldRound};
pub use share::{Shard, Share, UnitList};
pub use simulator::{Simulator, SimulatorStep};
pub use trace::{Measures, Quantity, Trace};
pub use unit_job::Options;
pub use workload::{WorkColumns, Workload, workloads};
