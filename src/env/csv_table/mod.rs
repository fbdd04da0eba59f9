//! Tables of numbers from CSV files, plain or gzip, with errors that say where and what. No meaning of columns here: that
//! is the environments'.

mod faults;
mod read;
mod shape;
mod table;
mod text;

pub(super) use read::listed;
pub use read::{CellKind, Cells, CsvOptions, read_columns, read_table};
pub use shape::{CsvShape, text_sha256};
pub use table::CsvTable;
