//! Report.

/// STUB
pub struct Outcome { pub table: String, pub report_path: std::path::PathBuf }
/// STUB
pub fn write_report(out: &std::path::Path) -> Result<Outcome, crate::error::Error> { Ok(Outcome { table: String::new(), report_path: out.join("report.html") }) }
