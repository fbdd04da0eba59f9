//! Compares the cells that two folders share, trial by trial.

use super::cell_data::CellData;
use super::collect::ReportRun;
use super::compare::{p_value, paired};
use super::grid::Grid;
use super::page_tables::{moments, shown};
use super::stats::holm;
use super::text::{short_key, swept_text};
use privateer_config::error::{Diagnostic, Error};
use privateer_config::facts::FactValue;
use std::collections::BTreeMap;
use std::path::Path;

/// Largest number of differing settings that are listed.
const N_SETTINGS: usize = 8;

/// Compares the cells of the same policy, environment and swept values in two finished folders.
///
/// Trials of the same number are paired: with equal seeds they share their randomness, and otherwise they are independent, for
/// which the paired t-test holds as well.
///
/// # Errors
/// Those of [`super::write_report`]; [`Error::Input`] if the folders measure different quantities or share no cell.
pub fn compare_folders(first: &Path, second: &Path, measure: Option<&str>) -> Result<Grid, Error> {
    let (left, right) = (ReportRun::read(first, measure, &|_| ())?, ReportRun::read(second, measure, &|_| ())?);
    let words = left.words;
    if words.measure != right.words.measure {
        let [a, b] = [words.measure.name(), right.words.measure.name()];
        let problem = Diagnostic::new(format!("`{}` is about {a}, and `{}` about {b}", first.display(), second.display()));
        return problem.hint("name a quantity that both measure with `--measure NAME`").refuse();
    }
    let key = |cell: &CellData| format!("{:?}", (&cell.info.policy, &cell.info.environment, &cell.swept));
    let mut others: BTreeMap<String, &CellData> = BTreeMap::new();
    for cell in &right.cells {
        others.entry(key(cell)).or_insert(cell);
    }
    let pairs: Vec<(&CellData, &CellData)> =
        left.cells.iter().filter_map(|here| Some((here, *others.get(&key(here))?))).collect();
    let Some((here, there)) = pairs.first() else {
        let problem = Diagnostic::new("the folders share no cell");
        return problem.expected("cells with the same policy, environment and swept values in both").refuse();
    };
    let keys = left.swept_keys();
    let names = if first.file_name() == second.file_name() {
        [first.display().to_string(), second.display().to_string()]
    } else {
        [first, second]
            .map(|path| path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into()))
    };
    let p_values: Vec<f64> = pairs.iter().map(|(here, there)| p_value(there, here, words.measure)).collect();
    let mut grid = Grid::default();
    keys.iter().for_each(|key| grid.column(short_key(key, &keys), key, false));
    grid.column(words.who, words.who, false);
    names.iter().for_each(|name| grid.column(name, name, true));
    grid.column("difference", "difference", true);
    for ((here, there), differs) in pairs.iter().zip(holm(&p_values, 0.05)) {
        let mut row: Vec<String> = here.swept.iter().map(|(_, value)| swept_text(value)).collect();
        row.push(here.info.policy.to_string());
        row.extend([here, there].map(|cell| moments(cell.moments(words.measure))));
        row.push(if here.result_bits(words.measure) == there.result_bits(words.measure) {
            "same in every trial".to_owned()
        } else {
            format!("{}{}", moments(paired(there, here, words.measure)), if differs { " *" } else { "" })
        });
        grid.rows.push(row);
    }
    grid.notes.push(format!("{}; difference: {} minus {}, paired by trial.", words.title(), names[1], names[0]));
    if 1 < left.manifest.trials.min(right.manifest.trials) {
        let n = p_values.len();
        grid.notes.push(format!(
            "± is half of the 95 % interval; * differs by a paired t-test at 5 % (Holm's correction for {n} comparisons)."
        ));
    }
    let alone = [(&names[0], left.cells.len()), (&names[1], right.cells.len())];
    for (name, n_cells) in alone.into_iter().filter(|(_, n_cells)| pairs.len() < *n_cells) {
        grid.notes.push(format!("{} of {n_cells} cells are in {name} alone.", n_cells - pairs.len()));
    }
    let mut settings = vec![];
    let sections = |cell: &CellData| {
        FactValue::Table(cell.info.resolved.sections().map(|(name, section)| (name.to_owned(), (**section).clone())).collect())
    };
    differing("", &sections(here), &sections(there), &mut settings);
    let (a, b) = (&left.manifest, &right.manifest);
    for (key, a, b) in [("trials", a.trials.to_string(), b.trials.to_string()), ("seed", a.seed.clone(), b.seed.clone())] {
        if a != b {
            settings.push(format!("{key}: {a} and {b}"));
        }
    }
    if !settings.is_empty() {
        let more = settings.len().saturating_sub(N_SETTINGS);
        settings.truncate(N_SETTINGS);
        let more = if 0 < more { format!("; and {more} more") } else { String::new() };
        grid.notes.push(format!("settings that differ in the first cell: {}{more}.", settings.join("; ")));
    }
    Ok(grid)
}

/// Lists the entries in which two tables differ, with both values.
fn differing(place: &str, left: &FactValue, right: &FactValue, found: &mut Vec<String>) {
    let (FactValue::Table(a), FactValue::Table(b)) = (left, right) else {
        if left != right {
            found.push(format!("{place}: {} and {}", shown(left), shown(right)));
        }
        return;
    };
    let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).filter(|key| *key != "defaults").collect();
    for key in keys {
        let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
        differing(&place, &left[key], &right[key], found);
    }
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, plant};
    use super::*;

    #[test]
    fn shared_cells_are_paired() {
        let folder = tempfile::tempdir().expect("a folder");
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        plant(&a, &[1.0, 2.0], &[PRIVATE, OPEN], 6);
        plant(&b, &[1.0, 2.0], &[Planted { level: |_| 50.0, ..PRIVATE }, OPEN], 6);
        let text = compare_folders(&a, &b, None).expect("compared").plain();
        let line = |i: usize| text.lines().nth(i).unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(line(1), "1 tgp-ucb 100.0 ± 5.7 50.0 ± 5.7 −50 ± 0 *");
        assert_eq!(line(2), "1 igp-ucb 40.0 ± 5.7 40.0 ± 5.7 same in every trial");
        let error = compare_folders(&a, &b, Some("final_regrets")).expect_err("unknown").to_string();
        assert!(error.contains("does not measure `final_regrets`"), "{error}");
    }
}
