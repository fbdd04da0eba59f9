//! Writes the report of a folder.

use super::collect::ReportRun;
use super::compare::sweep_points;
use super::page::page;
use super::summary::SummaryRow;
use super::{figures, page_audit, page_tables, summary};
use crate::record::{WrittenRows, remove_unfinished, write_whole};
use privateer_config::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Holds the parts of a report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// One row per cell.
    pub summary: Vec<SummaryRow>,
    /// Path of the page.
    pub report_path: PathBuf,
    /// Path of the summary file.
    pub summary_path: PathBuf,
    /// The table for the terminal.
    pub table: String,
    /// Number of removed unfinished files, left by killed commands.
    pub removed: usize,
}

/// Reads a finished folder and writes `summary.csv`, `plots/` and `report.html` into it.
///
/// # Errors
/// [`Error::Incomplete`] if blocks are missing, [`Error::Corrupt`] if one cannot be read, [`Error::Folder`] if the folder is
/// not one of results, [`Error::Io`] if the disk fails.
pub fn write_report(out: &Path) -> Result<Outcome, Error> {
    write(out, ReportRun::read(out, None)?)
}

/// Writes the report of a folder whose parts this process has written, as [`write_report`].
///
/// If `written` holds the rows of all parts, these are not read again.
///
/// # Errors
/// As [`write_report`].
pub fn write_report_of(out: &Path, written: WrittenRows) -> Result<Outcome, Error> {
    write(out, ReportRun::of_written(out, written)?)
}

fn write(out: &Path, run: ReportRun) -> Result<Outcome, Error> {
    let removed = remove_unfinished(out)?;
    let points = sweep_points(&run);
    let rows = summary::rows(&run, &points);
    let summary_path = out.join("summary.csv");
    write_whole(&summary_path, &summary::csv(&summary_path, &run.words, &rows)?, "write the summary")?;

    let plots = out.join("plots");
    fs::create_dir_all(&plots).map_err(|source| Error::io("create the folder", &plots, source))?;
    let drawn = run.with_references_everywhere();
    let figures = figures::figures(&drawn, &sweep_points(&drawn));
    for figure in &figures {
        write_whole(&plots.join(format!("{}.svg", figure.stem)), figure.chart.svg().as_bytes(), "write the plot")?;
    }
    write_whole(&plots.join("curves.csv"), figures::curves_csv(&run).as_bytes(), "write the curves")?;

    let report_path = out.join("report.html");
    write_whole(&report_path, page(&run, &points, &rows, &figures, page_audit::section(out)?).as_bytes(), "write the page")?;
    let table = page_tables::terminal(&run, &points, &rows);
    Ok(Outcome { summary: rows, report_path, summary_path, table, removed })
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, plant};
    use super::*;

    #[test]
    fn a_report_is_whole_and_the_same_every_time() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[0.5, 2.0, 8.0], &[PRIVATE, OPEN], 6);
        let outcome = write_report(folder.path()).expect("reported");
        let page = fs::read_to_string(&outcome.report_path).expect("page");
        let summary = fs::read(&outcome.summary_path).expect("summary");
        for part in [
            "invented &lt;run&gt;",
            "matern 5/2 &lt;lengthscale &amp; co&gt;",
            "# a &lt; b &amp; c",
            "At ε = 0.5 how much of what can be learnt privacy leaves cannot be said of the only private policy, tgp-ucb (final",
            "simulated: not a private release",
            "Mean over 6 trials",
        ] {
            assert!(
                page.contains(part),
                "{part}: {}",
                page.split("class=\"answer\"").nth(1).unwrap_or("").get(..400).unwrap_or("")
            );
        }
        assert!(!page.contains("<run>") && !page.contains("http://localhost"));
        assert_eq!(page.matches("<svg ").count(), page.matches("</svg>").count());
        assert_eq!(page.matches("<svg ").count(), 14);
        let mut names: Vec<String> = fs::read_dir(folder.path().join("plots"))
            .expect("plots")
            .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["cost-excess.svg", "cost-ratio.svg", "curves.csv", "curves.svg", "final-0-privacy-epsilon.svg",]);
        let again = write_report(folder.path()).expect("reported again");
        assert_eq!(fs::read(&again.summary_path).expect("summary"), summary);
        assert_eq!(fs::read_to_string(&again.report_path).expect("page"), page);
    }

    #[test]
    fn the_summary_knows_nothing_of_the_machine() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut manifest = plant(folder.path(), &[0.5, 2.0], &[PRIVATE, OPEN], 6);
        let first = fs::read(write_report(folder.path()).expect("reported").summary_path).expect("summary");
        manifest.backend = "gpu".to_owned();
        manifest.threads = 64;
        manifest.save(folder.path()).expect("saved");
        let second = fs::read(write_report(folder.path()).expect("reported").summary_path).expect("summary");
        assert_eq!(first, second);
    }

    #[test]
    fn one_policy_one_trial_one_point_works() {
        let folder = tempfile::tempdir().expect("a folder");
        let broken = Planted { guarantee: "no guarantee: the noise is too small (E1)", ..PRIVATE };
        plant(folder.path(), &[1.0], &[broken], 1);
        let outcome = write_report(folder.path()).expect("reported");
        assert_eq!(outcome.summary[0].main.expect("mean").half, None);
        let page = fs::read_to_string(outcome.report_path).expect("page");
        assert!(page.contains("no guarantee: the noise is too small (E1)") && !page.contains("NaN"));
    }
}
