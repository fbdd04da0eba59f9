//! Writes `summary.csv`: one row per cell, computed from the parts alone.

use super::cell_data::CellData;
use super::collect::ReportRun;
use super::compare::{ComparedPoint, Paired, PrivacyCost, cost, paired};
use super::stats::{Quantiles, SampleMoments};
use super::text::{csv_text, number};
use super::words::ReportWords;
use crate::record::{Measures, Quantity};
use privateer_config::error::Error;
use privateer_config::params::Scalar;
use std::path::Path;

/// Holds the numbers of one cell; `None` if too few trials or no finite values make one undefined.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRow {
    /// Index of the cell.
    pub cell: u32,
    /// The cell's policy.
    pub policy: String,
    /// The cell's environment.
    pub environment: String,
    /// The cell's swept keys.
    pub swept: Vec<(String, Scalar)>,
    /// Number of trials.
    pub trials: usize,
    /// Number of rounds of each trial.
    pub rounds: u32,
    /// Cumulative regret, or risk, at the last round.
    pub main: Option<SampleMoments>,
    /// Quantiles of `main` over trials.
    pub main_quantiles: Option<Quantiles>,
    /// Cumulative regret at the last round, per round.
    pub average_regret: Option<SampleMoments>,
    /// Quantiles of `average_regret` over trials.
    pub average_quantiles: Option<Quantiles>,
    /// Simple regret, or suboptimality, at the last round.
    pub second: Option<SampleMoments>,
    /// Quantiles of `second` over trials.
    pub second_quantiles: Option<Quantiles>,
    /// Regret of the recommended point at the last round.
    pub recommended_regret: Option<SampleMoments>,
    /// Final cumulative regret minus that of the first policy at the sweep point, trial by trial.
    ///
    /// `None` for the first policy itself.
    pub paired_difference: Option<Paired>,
    /// What privacy costs, in the quantity of the page; `None` for cells without privacy or without a reference.
    pub cost: Option<PrivacyCost>,
    /// Fitted exponent of cumulative regret, or of suboptimality, in the round.
    pub exponent: Option<f64>,
}

/// Returns the rows, in the order of cells.
pub(super) fn rows(run: &ReportRun, points: &[ComparedPoint]) -> Vec<SummaryRow> {
    let first_of = |cell_idx: usize| points[run.index.point_of[cell_idx]].cells[0];
    run.cells
        .iter()
        .enumerate()
        .map(|(cell_idx, cell)| {
            let first = first_of(cell_idx);
            let gap = (first != cell_idx).then(|| paired(cell, &run.cells[first], run.words.columns[0].1)).flatten();
            row(&run.words, cell, gap, cost(run, points, cell_idx, 0.95))
        })
        .collect()
}

fn row(words: &ReportWords, cell: &CellData, paired_difference: Option<Paired>, cost: Option<PrivacyCost>) -> SummaryRow {
    let [(_, main), (_, second)] = words.columns;
    let finals = cell.finals(main);
    let averages: Vec<f64> = finals.iter().map(|regret| regret / f64::from(cell.last_round)).collect();
    let seconds = cell.finals(second);
    SummaryRow {
        cell: cell.info.cell,
        policy: cell.info.policy.clone(),
        environment: cell.info.environment.clone(),
        swept: cell.info.swept.clone(),
        trials: cell.ends.len(),
        rounds: cell.last_round,
        main: SampleMoments::of(&finals),
        main_quantiles: Quantiles::of(&finals),
        average_regret: SampleMoments::of(&averages),
        average_quantiles: Quantiles::of(&averages),
        second: SampleMoments::of(&seconds),
        second_quantiles: Quantiles::of(&seconds),
        recommended_regret: SampleMoments::of(&cell.finals(Quantity::RecommendedRegret)),
        paired_difference,
        cost,
        exponent: cell.exponent,
    }
}

const QUANTILE_NAMES: [&str; 5] = ["q05", "q25", "q50", "q75", "q95"];

/// Returns the file's bytes.
///
/// # Errors
/// [`Error::Io`] if the writer fails, which writing to memory does not.
pub(super) fn csv(path: &Path, words: &ReportWords, rows: &[SummaryRow]) -> Result<Vec<u8>, Error> {
    let io = |source: csv::Error| Error::io("write the summary", path, source.into());
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header(words, rows)).map_err(io)?;
    for row in rows {
        writer.write_record(record(words, row)).map_err(io)?;
    }
    writer.into_inner().map_err(|source| Error::io("write the summary", path, source.into_error()))
}

/// Returns the columns of `summary.csv` for a kind of run, without those of swept keys.
pub fn summary_columns(measures: Measures) -> Vec<String> {
    header(&ReportWords::of(measures, false, None), &[])
}

fn header(words: &ReportWords, rows: &[SummaryRow]) -> Vec<String> {
    let ([main, second], full) = (words.columns.map(|column| column.0), ["mean", "sd", "se", "ci95_low", "ci95_high"]);
    let mut names: Vec<String> = ["cell", "policy", "environment"].map(str::to_owned).to_vec();
    names.extend(rows.first().map_or(Vec::new(), |row| row.swept.iter().map(|(key, _)| csv_text(key)).collect()));
    names.extend(["trials", "rounds"].map(str::to_owned));
    let mut add = |quantity: &str, columns: &[&str]| {
        names.extend(columns.iter().map(|column| format!("{quantity}_{column}")));
    };
    add(main, &full);
    add(main, &QUANTILE_NAMES);
    if words.adds_up {
        add("average_regret", &["mean", "se"]);
        add("average_regret", &QUANTILE_NAMES);
    }
    add(second, &full);
    add(second, &["median"]);
    if words.recommends {
        add("recommended_regret", &["mean", "se"]);
    }
    add("paired_difference", &["mean", "se", "ci95_low", "ci95_high"]);
    add("excess", &["mean", "ci95_low", "ci95_high"]);
    add("ratio", &["mean", "ci95_low", "ci95_high"]);
    add("share", &["mean", "ci95_low", "ci95_high"]);
    names.extend(["reference".to_owned(), words.exponent.to_owned()]);
    names
}

fn record(words: &ReportWords, row: &SummaryRow) -> Vec<String> {
    let mut fields = vec![row.cell.to_string(), csv_text(&row.policy), csv_text(&row.environment)];
    fields.extend(row.swept.iter().map(|(_, value)| match value {
        Scalar::Text(text) => csv_text(text),
        other => other.to_string(),
    }));
    fields.extend([row.trials.to_string(), row.rounds.to_string()]);
    let mut add = |values: &[Option<f64>]| {
        fields.extend(values.iter().map(|value| value.filter(|x| x.is_finite()).map_or(String::new(), number)));
    };
    let full = |m: Option<SampleMoments>| {
        [m.map(|m| m.mean), m.and_then(|m| m.sd), m.and_then(|m| m.se), m.and_then(|m| m.low()), m.and_then(|m| m.high())]
    };
    let quantiles = |q: Option<Quantiles>| q.map_or([None; 5], |q| q.0.map(Some));
    add(&full(row.main));
    add(&quantiles(row.main_quantiles));
    if words.adds_up {
        add(&[row.average_regret.map(|m| m.mean), row.average_regret.and_then(|m| m.se)]);
        add(&quantiles(row.average_quantiles));
    }
    add(&full(row.second));
    add(&[row.second_quantiles.map(|q| q.median())]);
    if words.recommends {
        add(&[row.recommended_regret.map(|m| m.mean), row.recommended_regret.and_then(|m| m.se)]);
    }
    let [mean, _, se, low, high] = full(row.paired_difference);
    add(&[mean, se, low, high]);
    let excess = row.cost.and_then(|cost| cost.excess);
    add(&[excess.map(|m| m.mean), excess.and_then(|m| m.low()), excess.and_then(|m| m.high())]);
    for ratio in [row.cost.and_then(|cost| cost.ratio), row.cost.and_then(|cost| cost.share?.left)] {
        let interval = ratio.and_then(|ratio| ratio.interval);
        add(&[ratio.map(|ratio| ratio.value), interval.map(|ends| ends.0), interval.map(|ends| ends.1)]);
    }
    fields.push(row.cost.map_or(String::new(), |cost| cost.reference.to_string()));
    fields.push(row.exponent.filter(|x| x.is_finite()).map_or(String::new(), number));
    fields
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, plant};
    use super::super::compare::sweep_points;
    use super::*;
    use std::collections::BTreeMap;

    fn table(epsilons: &[f64], n_trials: u32) -> Vec<BTreeMap<String, String>> {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), epsilons, &[OPEN, PRIVATE], n_trials);
        let run = ReportRun::read(folder.path(), None).expect("read");
        let bytes = csv(Path::new("x"), &run.words, &rows(&run, &sweep_points(&run))).expect("csv");
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        reader.deserialize().map(|row| row.expect("row")).collect()
    }

    #[test]
    fn numbers_are_those_planted() {
        let rows = table(&[0.5, 2.0], 10);
        assert_eq!(rows.len(), 4);
        let (open, private) = (&rows[0], &rows[1]);
        assert_eq!((open["final_regret_mean"].as_str(), open["paired_difference_mean"].as_str()), ("40", ""));
        assert_eq!((private["final_regret_mean"].as_str(), private["privacy.epsilon"].as_str()), ("160", "0.5"));
        assert_eq!((private["paired_difference_mean"].as_str(), private["paired_difference_ci95_low"].as_str()), ("120", "120"));
        let get = |name: &str| private[name].parse::<f64>().expect("a number");
        // Five trials at +5 and five at -5: sd² = 250/9, se = sd/sqrt(10), t(9) = 2.262157163.
        let se = (250.0_f64 / 9.0 / 10.0).sqrt();
        assert!((get("final_regret_se") - se).abs() < 1e-12);
        assert!((get("final_regret_ci95_high") - (160.0 + 2.262_157_163 * se)).abs() < 1e-9);
        assert!((get("regret_exponent") - 0.75).abs() < 1e-9);
        assert_eq!((get("average_regret_mean"), get("final_regret_q05"), get("simple_regret_median")), (0.4, 155.0, 0.0025));
        assert_eq!(private["recommended_regret_mean"], "");
    }

    #[test]
    fn one_trial_has_empty_intervals() {
        let rows = table(&[1.0], 1);
        assert_eq!((rows[1]["final_regret_mean"].as_str(), rows[1]["trials"].as_str()), ("105", "1"));
        for empty in ["final_regret_sd", "final_regret_se", "final_regret_ci95_low", "paired_difference_se"] {
            assert_eq!(rows[1][empty], "", "{empty}");
        }
    }
}
