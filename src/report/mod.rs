//! What a finished run says: `summary.csv`, plots, one self-contained HTML page and a table for the terminal.
//!
//! Everything here is computed from a folder's manifest and parts alone, part by part: what stays in memory is one line
//! per trial and at most two hundred rounds of each cell. Sums run in the order of cells and trials, so the summary is a
//! function of the parts and of nothing else.
//!
//! **Not here:** the engine, a policy, a number that is in no part. A report can be made again years later.

mod answer;
mod axis;
mod canvas;
mod collect;
mod compare;
mod curves;
mod guide;
mod page;
mod page_audit;
mod page_figures;
mod page_tables;
mod plot_curves;
mod plot_final;
mod stats;
mod summary;
mod table;
mod text;
mod words;
mod write;

pub use compare::{ComparedPoint, Paired};
pub use stats::{Quantiles, SampleMoments};
pub use summary::SummaryRow;
pub use write::{Outcome, write_report};
