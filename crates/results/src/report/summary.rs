//! Writes `summary.csv`: one row per cell, computed from the parts alone.

use super::cell_data::CellData;
use super::collect::ReportRun;
use super::compare::{Costs, PrivacyCost, paired};
use super::stats::{Quantiles, SampleMoments};
use super::text::{csv_text, number};
use super::words::ReportWords;
use crate::record::{Measures, Quantity};
use privateer_config::params::Scalar;
use std::sync::Arc;

/// Holds the numbers of one cell; `None` if too few trials or no finite values make one undefined.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummaryRow {
    /// Index of the cell.
    pub cell: u32,
    /// The cell's policy.
    pub policy: Arc<str>,
    /// The cell's environment.
    pub environment: Arc<str>,
    /// The cell's swept keys.
    pub swept: Arc<[(Arc<str>, Scalar)]>,
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
    pub paired_difference: Option<SampleMoments>,
    /// What privacy costs, in the quantity of the page; `None` for cells without privacy or without a reference.
    pub cost: Option<PrivacyCost>,
    /// Fitted exponent of cumulative regret, or of suboptimality, in the round.
    pub exponent: Option<f64>,
}

pub(super) fn row(run: &ReportRun, costs: &Costs, cell_idx: usize) -> SummaryRow {
    let [(_, main), (_, second)] = run.words.columns;
    let cell = &run.cells[cell_idx];
    let first = run.index.points[run.index.point_of[cell_idx]][0];
    let (finals, averages, seconds) = (cell.finals(main), averages(&run.words, cell), cell.finals(second));
    SummaryRow {
        cell: cell.info.cell,
        policy: Arc::clone(&cell.info.policy),
        environment: Arc::clone(&cell.info.environment),
        swept: Arc::clone(&cell.swept),
        trials: cell.ends.len(),
        rounds: cell.last_round,
        main: SampleMoments::of(&finals),
        main_quantiles: Quantiles::of(&finals),
        average_regret: SampleMoments::of(&averages),
        average_quantiles: Quantiles::of(&averages),
        second: SampleMoments::of(&seconds),
        second_quantiles: Quantiles::of(&seconds),
        recommended_regret: cell.moments(Quantity::RecommendedRegret),
        paired_difference: (first != cell_idx).then(|| paired(cell, &run.cells[first], main)).flatten(),
        cost: costs[cell_idx].as_deref().copied(),
        exponent: cell.exponent,
    }
}

/// Returns the regret per round at the last round of each trial.
pub(super) fn averages(words: &ReportWords, cell: &CellData) -> Vec<f64> {
    cell.finals(words.columns[0].1).iter().map(|regret| regret / f64::from(cell.last_round)).collect()
}

/// Returns `summary.csv` line by line.
pub(super) fn csv<'r>(run: &'r ReportRun, costs: &'r Costs) -> impl Iterator<Item = String> + 'r {
    let columns = header(&run.words, &run.cells.first().map_or_else(SummaryRow::default, |_| row(run, costs, 0)));
    let rows = (0..run.cells.len()).map(|cell_idx| fields(&run.words, &row(run, costs, cell_idx)));
    std::iter::once(columns).chain(rows.map(|row| row.into_iter().map(|(_, field)| field).collect())).map(|fields| {
        let mut line = csv::Writer::from_writer(Vec::new());
        // Writing to memory does not fail.
        let _ = line.write_record(fields);
        line.into_inner().map_or(String::new(), |line| String::from_utf8_lossy(&line).into_owned())
    })
}

/// Returns the columns of `summary.csv` for a kind of run, without those of swept keys.
pub fn summary_columns(measures: Measures) -> Vec<String> {
    header(&ReportWords::of(measures, false, None), &SummaryRow::default())
}

fn header(words: &ReportWords, row: &SummaryRow) -> Vec<String> {
    fields(words, row).into_iter().map(|(column, _)| column).collect()
}

/// Returns the columns of a row and its fields.
fn fields(words: &ReportWords, row: &SummaryRow) -> Vec<(String, String)> {
    let [(main, _), (second, _)] = words.columns;
    let text = |x: Option<f64>| x.filter(|x| x.is_finite()).map_or(String::new(), number);
    let mut fields = vec![
        ("cell".to_owned(), row.cell.to_string()),
        ("policy".to_owned(), csv_text(&row.policy)),
        ("environment".to_owned(), csv_text(&row.environment)),
    ];
    fields.extend(row.swept.iter().map(|(key, value)| match value {
        Scalar::Text(text) => (csv_text(key), csv_text(text)),
        other => (csv_text(key), other.to_string()),
    }));
    fields.extend([("trials".to_owned(), row.trials.to_string()), ("rounds".to_owned(), row.rounds.to_string())]);
    let mut add = |quantity: &str, columns: &[&str], values: &[Option<f64>]| {
        let named = columns.iter().zip(values).map(|(column, value)| (format!("{quantity}_{column}"), text(*value)));
        fields.extend(named);
    };
    let full = |m: Option<SampleMoments>| {
        [m.map(|m| m.mean), m.and_then(|m| m.sd), m.and_then(|m| m.se), m.and_then(|m| m.low()), m.and_then(|m| m.high())]
    };
    let short = |m: Option<SampleMoments>| [m.map(|m| m.mean), m.and_then(|m| m.se)];
    let quantiles = |q: Option<Quantiles>| q.map_or([None; 5], |q| q.0.map(Some));
    let (levels, ends) = (["q05", "q25", "q50", "q75", "q95"], ["mean", "ci95_low", "ci95_high"]);
    add(main, &["mean", "sd", "se", "ci95_low", "ci95_high"], &full(row.main));
    add(main, &levels, &quantiles(row.main_quantiles));
    if words.adds_up {
        add("average_regret", &["mean", "se"], &short(row.average_regret));
        add("average_regret", &levels, &quantiles(row.average_quantiles));
    }
    add(second, &["mean", "sd", "se", "ci95_low", "ci95_high"], &full(row.second));
    add(second, &["median"], &[row.second_quantiles.map(|q| q.median())]);
    if words.recommends {
        add("recommended_regret", &["mean", "se"], &short(row.recommended_regret));
    }
    let [mean, _, se, low, high] = full(row.paired_difference);
    add("paired_difference", &["mean", "se", "ci95_low", "ci95_high"], &[mean, se, low, high]);
    let [mean, _, _, low, high] = full(row.cost.and_then(|cost| cost.excess));
    add("excess", &ends, &[mean, low, high]);
    for (name, ratio) in [("ratio", row.cost.and_then(|cost| cost.ratio)), ("share", row.cost.and_then(|cost| cost.share?.left))]
    {
        let interval = ratio.and_then(|ratio| ratio.interval);
        add(name, &ends, &[ratio.map(|ratio| ratio.value), interval.map(|ends| ends.0), interval.map(|ends| ends.1)]);
    }
    fields.push(("reference".to_owned(), row.cost.map_or(String::new(), |cost| cost.reference.to_string())));
    fields.push((words.exponent.to_owned(), text(row.exponent)));
    fields
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, planted};
    use super::super::compare::costs;
    use super::*;
    use std::collections::BTreeMap;

    fn table(epsilons: &[f64], n_trials: u32) -> Vec<BTreeMap<String, String>> {
        let run = planted(epsilons, &[OPEN, PRIVATE], n_trials);
        let text: String = csv(&run, &costs(&run)).collect();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
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
