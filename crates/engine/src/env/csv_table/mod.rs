//! Reads tables of numbers from CSV files, plain or gzip, and from Parquet, and reports where an error lies.
//!
//! The meaning of the columns belongs to the environments.

mod card;
mod choice;
mod dialect;
mod faults;
mod parquet_text;
mod read;
mod shape;
mod table;
mod text;

pub(super) use card::dropped;
pub use card::{ColumnCard, ColumnFinding, Spread, counts_up, digits, outlier};
pub(super) use choice::listed;
pub(super) use read::drops_missing;
pub use read::{CellKind, Cells, CsvOptions, MOST_BYTES, read_columns, read_table};
pub use shape::{CsvShape, text_sha256};
pub use table::CsvTable;
pub use text::read_text;
