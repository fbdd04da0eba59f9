//! Tables of numbers from CSV files, plain or gzip, with errors that say where and what. No meaning of columns here: that
//! is the environments'.

mod faults;
mod read;
mod table;
mod text;

pub use read::{CellKind, Cells, CsvOptions, read_columns, read_table};
pub use table::CsvTable;
