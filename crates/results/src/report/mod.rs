//! Reports a finished run: `summary.csv`, plots, one self-contained HTML page, a terminal table.
//!
//! Everything is computed from a folder's manifest and the rows of its parts alone, part by part. Memory holds one line per
//! trial and at most two hundred rounds of each cell. Sums run in the order of cells and trials, so the summary is a function of
//! the parts alone.
//!
//! **Not here:** the engine, policies, and numbers that are in no part. A report can be repeated years later.

mod answer;
mod axis;
mod canvas;
mod cell_data;
mod collect;
mod compare;
mod curves;
mod export;
mod figures;
mod folders;
mod grid;
mod guide;
mod lead_figures;
mod page;
mod page_audit;
mod page_ledger;
mod page_tables;
mod settings;
mod share;
mod shown;
mod stats;
mod summary;
mod text;
mod tikz;
mod words;
mod write;

pub use compare::PrivacyCost;
pub use export::{Export, ExportFormat, export, export_to};
pub use figures::Height;
pub use folders::compare_folders;
pub use grid::Grid;
#[doc(hidden)]
pub use page::{head, with_code};
pub use share::Share;
pub use stats::{Quantiles, Ratio, SampleMoments, widened};
pub use summary::{SummaryRow, summary_columns};
#[doc(hidden)]
pub use text::csv_field;
pub use text::share_text;
pub use write::{ComparedReport, Outcome, compare_report, exists, write_report, write_report_of};
