//! Reads tables of numbers from CSV files, plain or gzip, and reports where an error lies.
//!
//! The meaning of the columns belongs to the environments.

mod faults;
mod read;
mod shape;
mod table;
mod text;

pub(super) use read::listed;
pub use read::{CellKind, Cells, CsvOptions, read_columns, read_table};
pub use shape::{CsvShape, text_sha256};
pub use table::CsvTable;
pub use text::read_text;
