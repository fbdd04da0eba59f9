//! Writes the report of a folder.

use super::answer::Answer;
use super::collect::ReportRun;
use super::compare::Costs;
use super::lead_figures::lead_figures;
use super::page::page;
use super::page_tables::{false_while, terminal_table};
use super::settings::Settings;
use super::summary::SummaryRow;
use super::{figures, page_audit, summary};
use crate::record::{FileState, WrittenRows, compare_file, remove_unfinished, write_pieces};
use privateer_config::error::Error;
use std::fs;
use std::iter::once;
use std::path::{Path, PathBuf};

const SUMMARY_NAME: &str = "summary.csv";
const PAGE_NAME: &str = "report.html";

/// Returns whether a folder has a page and a summary.
pub fn exists(out: &Path) -> bool {
    [SUMMARY_NAME, PAGE_NAME].iter().all(|name| out.join(name).is_file())
}

/// Holds the parts of a report.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    run: ReportRun,
    costs: Costs,
    /// Path of the page.
    pub report_path: PathBuf,
    /// Path of the summary file.
    pub summary_path: PathBuf,
    /// What makes the answer false.
    pub warnings: Vec<String>,
    /// The answer over all settings, in at most two sentences.
    pub answer: Vec<String>,
    /// The least epsilon, or where runs differ in their number of rounds alone the least number of rounds, from which on at least 80 % of what can be learnt is kept, in the median over settings, interpolated.
    pub enough: Option<f64>,
    /// Each epsilon, ascending, with the row of the best private policy in the first setting; over numbers of rounds, of each.
    pub best: Vec<(f64, usize)>,
    /// Number of removed unfinished files, left by killed commands.
    pub removed: usize,
}

impl Outcome {
    /// Returns the number of cells.
    pub fn n_cells(&self) -> usize {
        self.run.cells.len()
    }

    /// Returns the numbers of a cell, less than [`Outcome::n_cells`].
    pub fn row(&self, cell: usize) -> SummaryRow {
        summary::row(&self.run, &self.costs, cell)
    }

    /// Returns the table for a terminal: at most 25 rows unless `all` are wanted, and lines of at most `width` columns, where given.
    pub fn table(&self, width: Option<usize>, all: bool) -> String {
        terminal_table(&self.run, &self.costs, width, all)
    }
}

/// Reads a finished folder and writes `summary.csv`, `plots/` and `report.html` into it.
///
/// Calls `each` after every cell that is read, with the number of cells.
///
/// # Errors
/// [`Error::Incomplete`] if blocks are missing, [`Error::Corrupt`] if one cannot be read, [`Error::Folder`] if the folder is
/// not one of results, [`Error::Io`] if the disk fails.
pub fn write_report(out: &Path, each: &(dyn Fn(u64) + Sync)) -> Result<Outcome, Error> {
    write(out, ReportRun::read(out, None, each)?)
}

/// Writes the report of a folder whose parts this process has written, as [`write_report`].
///
/// If `written` holds the rows of all parts, these are not read again.
pub fn write_report_of(out: &Path, written: WrittenRows, each: &(dyn Fn(u64) + Sync)) -> Result<Outcome, Error> {
    write(out, ReportRun::of_written(out, written, each)?)
}

fn write(out: &Path, run: ReportRun) -> Result<Outcome, Error> {
    let removed = remove_unfinished(out)?;
    let plots = out.join("plots");
    fs::create_dir_all(&plots).map_err(|source| Error::io("create the folder", &plots, source))?;
    let outcome = make(out, run, &mut |name, pieces| write_pieces(&out.join(name), pieces, "write the report"))?;
    Ok(Outcome { removed, ..outcome })
}

/// Takes a file: its name relative to the folder, and its contents in pieces.
type TakeFile<'t> = &'t mut dyn FnMut(&str, &mut dyn Iterator<Item = String>) -> Result<(), Error>;

/// Makes every file of a report, one after the other, the page last: a function of the manifest, the parts and the audit alone.
fn make(out: &Path, run: ReportRun, take: TakeFile<'_>) -> Result<Outcome, Error> {
    let (report_path, summary_path) = (out.join(PAGE_NAME), out.join(SUMMARY_NAME));
    let settings = Settings::of(&run);
    take(SUMMARY_NAME, &mut summary::csv(&run, &settings.costs))?;
    take("plots/curves.csv", &mut figures::curves_csv(&run))?;
    let mut figures = lead_figures(&run, &settings);
    let has_maps = figures.iter().flat_map(|figure| &figure.chart.panels).any(|panel| !panel.tiles.is_empty());
    figures.extend(figures::figures(&run.with_references_everywhere(), has_maps));
    let answer = Answer::of(&run, &settings);
    for figure in &figures {
        take(&format!("plots/{}.svg", figure.stem), &mut once(figure.chart.svg()))?;
    }
    take(PAGE_NAME, &mut once(page(&run, &settings.costs, &answer, &figures, page_audit::section(out)?)))?;
    let warnings = [false_while(&run), answer.weak_references].concat();
    let answer = answer.lead;
    let (enough, best, costs) = (settings.enough(), settings.best(), settings.costs);
    Ok(Outcome { run, costs, report_path, summary_path, warnings, answer, enough, best, removed: 0 })
}

/// States how the report in a folder compares with the one that its parts give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedReport {
    /// Number of files whose bytes are those that the parts give.
    pub n_intact: usize,
    /// Files with other bytes.
    pub altered: Vec<String>,
    /// Files that are not there.
    pub missing: Vec<String>,
}

/// Makes the report of a finished folder again, in memory, and compares every file; changes nothing.
///
/// Calls `each` as [`write_report`] does.
pub fn compare_report(out: &Path, each: &(dyn Fn(u64) + Sync)) -> Result<ComparedReport, Error> {
    let mut compared = ComparedReport::default();
    let _ = make(out, ReportRun::read(out, None, each)?, &mut |name, pieces| {
        match compare_file(out, name, pieces)? {
            FileState::Intact => compared.n_intact += 1,
            FileState::Missing => compared.missing.push(name.to_owned()),
            _ => compared.altered.push(name.to_owned()),
        }
        Ok(())
    })?;
    Ok(compared)
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, plant};
    use super::*;

    #[test]
    fn a_report_is_whole_and_the_same_every_time() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[0.5, 2.0, 8.0], &[PRIVATE, OPEN], 6);
        let outcome = write_report(folder.path(), &|_| ()).expect("reported");
        let page = fs::read_to_string(&outcome.report_path).expect("page");
        let summary = fs::read(&outcome.summary_path).expect("summary");
        for part in [
            "invented &lt;run&gt;",
            "matern 5/2 &lt;lengthscale &amp; co&gt;",
            "# a &lt; b &amp; c",
            "At ε\u{a0}=\u{a0}0.5 nothing can be said of the only private policy, tgp-ucb, because no policy guesses.",
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
        let again = write_report(folder.path(), &|_| ()).expect("reported again");
        assert_eq!(fs::read(&again.summary_path).expect("summary"), summary);
        assert_eq!(fs::read_to_string(&again.report_path).expect("page"), page);
    }

    #[test]
    fn one_policy_one_trial_one_point_works() {
        let folder = tempfile::tempdir().expect("a folder");
        let broken = Planted { noise: Some(0.5), ..PRIVATE };
        plant(folder.path(), &[1.0], &[broken], 1);
        let outcome = write_report(folder.path(), &|_| ()).expect("reported");
        assert_eq!(outcome.row(0).main.expect("mean").half, None);
        let page = fs::read_to_string(outcome.report_path).expect("page");
        assert!(page.contains("no guarantee: the noise is too small (E1)") && !page.contains("NaN"));
    }
}
