//! Exports one figure or table of a folder, as SVG, CSV, LaTeX or PDF.

use super::canvas::Chart;
use super::collect::ReportRun;
use super::compare::costs;
use super::figures::{Along, ChartPlan, Height, chart};
use super::page_tables;
use super::text::short_key;
use crate::record::write_whole;
use privateer_config::error::{Diagnostic, Error, suggestion};
use std::path::Path;

/// States what [`export`] writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The quantity, by the name of its column; the usual one of this kind of run if absent.
    pub measure: Option<String>,
    /// What the x axis shows: `round`, or a swept key or its last word; the budgets if absent.
    pub x: Option<String>,
    /// What the lines are: `policy`, or a swept key or its last word.
    pub by: String,
    /// What the y axis shows.
    pub y: Height,
    /// Whether the table of results is written in place of a figure.
    pub is_table: bool,
    /// The format.
    pub format: ExportFormat,
}

/// Names a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExportFormat {
    /// A drawing for web pages.
    Svg,
    /// One row for each point.
    Csv,
    /// TikZ for `pgfplots`, or a table for `booktabs`.
    Tex,
    /// A drawing for documents, with an embedded font.
    Pdf,
}

impl ExportFormat {
    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Csv => "csv",
            Self::Tex => "tex",
            Self::Pdf => "pdf",
        }
    }
}

/// Returns a figure or table of a finished folder, computed from its parts alone.
///
/// # Errors
/// Those of [`super::write_report`]; [`Error::Input`] if the run has no such quantity, key or format.
pub fn export(out: &Path, what: &Export) -> Result<Vec<u8>, Error> {
    let run = ReportRun::read(out, what.measure.as_deref(), &|_| ())?;
    if what.is_table {
        let grid = page_tables::numbers(&run, &costs(&run), true, usize::MAX).0;
        return match what.format {
            ExportFormat::Csv => Ok(grid.csv().into_bytes()),
            ExportFormat::Tex => Ok(grid.tex().into_bytes()),
            ExportFormat::Svg | ExportFormat::Pdf => {
                let problem = Diagnostic::new("a table is text, not a drawing");
                problem.expected("`--format csv` or `--format tex`").refuse()
            }
        };
    }
    let chart = planned(&run.with_references_everywhere(), what)?;
    match what.format {
        ExportFormat::Svg => Ok(chart.svg().into_bytes()),
        ExportFormat::Csv => Ok(chart.csv().into_bytes()),
        ExportFormat::Tex => Ok(chart.tikz().into_bytes()),
        ExportFormat::Pdf => pdf(&chart.svg()),
    }
}

/// Exports to a file; see [`export`].
///
/// # Errors
/// As [`export`], if the file is one of the folder's own or exists and is no such export, or if the disk fails.
pub fn export_to(out: &Path, what: &Export, file: &Path) -> Result<(), Error> {
    if let Ok(there) = file.canonicalize() {
        let within = out.canonicalize().ok().and_then(|out| there.strip_prefix(out).ok().map(Path::to_path_buf));
        let own = ["cells", "parameters", "summary.csv", "timings.csv"];
        let is_own = within.is_some_and(|inner| own.iter().any(|own| inner.starts_with(own)));
        let extension = what.format.extension();
        if is_own || !there.is_file() || there.extension().is_none_or(|found| !found.eq_ignore_ascii_case(extension)) {
            let whose = if is_own { "belongs to the results" } else { "exists and is no such export" };
            let problem = Diagnostic::new(format!("`{}` {whose}: it is not overwritten", file.display()));
            return problem.expected(format!("a new file, as `figure.{extension}`")).refuse();
        }
    }
    write_whole(file, &export(out, what)?, "write the export")
}

fn planned(run: &ReportRun, what: &Export) -> Result<Chart, Error> {
    let height = what.y;
    let along = match what.x.as_deref() {
        Some("round" | "rounds") => Along::Rounds,
        Some(key) => Along::Key(whole_key(run, key, &["round"])?),
        None => Along::Budgets,
    };
    if along == Along::Rounds && height != Height::Mean {
        let problem = Diagnostic::new("the cost of privacy is known at the last round alone");
        return problem.expected("`--y mean` along the rounds, or another `--x`").refuse();
    }
    let by = if what.by == "policy" { what.by.clone() } else { whole_key(run, &what.by, &["policy"])? };
    if matches!(&along, Along::Key(key) if *key == by) {
        return Diagnostic::new(format!("`{by}` cannot be both the x axis and the lines")).expected("two keys").refuse();
    }
    let plan = ChartPlan { along, height, by };
    chart(run, &plan).map(|(chart, _)| chart).ok_or_else(|| {
        let x = what.x.as_deref().unwrap_or("epsilon");
        let problem = Diagnostic::new(format!("this run has fewer than two values of `{x}` to draw against"));
        let hint = if height == Height::Mean {
            "draw against the rounds with `--x round`"
        } else {
            "a cost of privacy needs a sweep and a policy without privacy; `--x round --y mean` draws the curves"
        };
        problem.hint(hint).error()
    })
}

/// Returns the swept key that a name, whole or its last word, stands for.
fn whole_key(run: &ReportRun, name: &str, others: &[&str]) -> Result<String, Error> {
    let keys = run.swept_keys();
    let ends = |key: &&&str| key.rsplit('.').next() == Some(name);
    let found = keys.iter().find(|key| **key == name).or_else(|| keys.iter().find(ends));
    found.map(|key| (*key).to_owned()).ok_or_else(|| {
        let words = keys.iter().map(|key| short_key(key, &keys));
        let known: Vec<&str> = words.chain(others.iter().copied()).collect();
        let problem = Diagnostic::new(format!("this run sweeps no `{name}`")).expected(format!("one of {}", known.join(", ")));
        Diagnostic { hint: suggestion(name, known.iter().copied()), ..problem }.error()
    })
}

/// Converts a drawing to PDF with the free font Ubuntu Light embedded.
#[cfg(feature = "pdf")]
fn pdf(svg: &str) -> Result<Vec<u8>, Error> {
    use svg2pdf::usvg;
    let failed = |problem: String| Error::failed(problem, "export `--format svg` and report this");
    let mut options = usvg::Options { font_family: "Ubuntu".to_owned(), ..usvg::Options::default() };
    options.fontdb_mut().load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    options.fontdb_mut().set_sans_serif_family("Ubuntu");
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| failed(format!("the drawing: {error}")))?;
    svg2pdf::to_pdf(&tree, svg2pdf::ConversionOptions::default(), svg2pdf::PageOptions::default())
        .map_err(|error| failed(format!("the PDF: {error}")))
}

#[cfg(not(feature = "pdf"))]
fn pdf(_svg: &str) -> Result<Vec<u8>, Error> {
    Diagnostic::new("this build writes no PDF")
        .expected("`--format svg`, `csv` or `tex`")
        .hint("build with `cargo build --release --features pdf`; or compile the `tex` with LaTeX")
        .refuse()
}
