//! Plots final regret, or risk, against each swept number, and the share of the best arm.
//!
//! There is one line per policy and per combination of the other keys. The share of rounds with the best arm has its own plot.

use super::axis::Axis;
use super::canvas::{Chart, Series};
use super::collect::{CellData, ReportRun};
use super::guide;
use super::stats::SampleMoments;
use super::text::short_key;

/// Largest number of lines in one chart.
pub(super) const N_LINES: usize = 12;

/// Holds a chart, and what its caption must add.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FinalPlot {
    pub(super) key: String,
    /// Description of the plotted quantity, at the start of a sentence.
    pub(super) title: &'static str,
    /// Start of the file's name.
    pub(super) stem: &'static str,
    pub(super) chart: Chart,
    /// Number of lines that were omitted for lack of room.
    pub(super) n_left_out: usize,
}

/// Returns the charts, in the order of the swept keys.
///
/// Keys that are not numbers or do not vary have none.
pub(super) fn plots(run: &ReportRun) -> Vec<FinalPlot> {
    let words = run.words();
    let main = Shown { title: words.main_title, axis: words.main_long, stem: "final", second: false };
    let second = words.second_title.map(|title| Shown { title, axis: words.second, stem: "share", second: true });
    let shown = std::iter::once(main).chain(second);
    shown.flat_map(|shown| run.swept_keys().into_iter().filter_map(move |key| plot(run, key, shown))).collect()
}

/// Names the plotted quantity.
#[derive(Clone, Copy)]
struct Shown {
    title: &'static str,
    axis: &'static str,
    stem: &'static str,
    second: bool,
}

impl Shown {
    fn of(self, cell: &CellData) -> Vec<f64> {
        if self.second { cell.ends.iter().map(|end| end.second).collect() } else { cell.finals() }
    }
}

fn plot(run: &ReportRun, key: &str, shown: Shown) -> Option<FinalPlot> {
    let value = |cell: &CellData| cell.swept(key).and_then(privateer_config::params::Scalar::as_f64).filter(|x| x.is_finite());
    let values: Vec<f64> = run.cells.iter().map(value).collect::<Option<_>>()?;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if high <= low {
        return None;
    }
    let logarithmic = 0.0 < low && 10.0 * low <= high;

    let policies = run.policies();
    let mut combinations: Vec<String> = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    for (cell, x) in run.cells.iter().zip(&values) {
        let others = others(run, cell, key);
        let combination_idx = combinations.iter().position(|known| *known == others).unwrap_or_else(|| {
            combinations.push(others.clone());
            combinations.len() - 1
        });
        let policy_idx = policies.iter().position(|policy| *policy == cell.info.policy).unwrap_or(0);
        let name = if others.is_empty() { cell.info.policy.clone() } else { format!("{} · {others}", cell.info.policy) };
        let line = match series.iter().position(|line| line.name == name) {
            Some(at) => &mut series[at],
            None => {
                series.push(Series { name, colour: policy_idx, dash: combination_idx, bars: true, ..Series::default() });
                series.last_mut()?
            }
        };
        if let Some(moments) = SampleMoments::of(&shown.of(cell)) {
            line.points.push((*x, moments.mean));
            line.intervals.push(moments.low().zip(moments.high()));
        }
    }
    let n_left_out = series.len().saturating_sub(N_LINES);
    series.truncate(N_LINES);
    series.iter_mut().for_each(sort_by_x);

    let ys = series.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let ends = series.iter().flat_map(|line| line.intervals.iter().flatten().flat_map(|(low, high)| [*low, *high]));
    let y = Axis::holding(shown.axis, false, ys.chain(ends)).with_air(0.03);
    if key == "privacy.epsilon" && 0.0 < low && !shown.second {
        let mut budgets = values.clone();
        budgets.sort_by(f64::total_cmp);
        budgets.dedup();
        let starts = series.iter().filter_map(|line| line.points.first().copied()).filter(|point| point.0 == budgets[0]);
        let lowest = starts.min_by(|left, right| left.1.total_cmp(&right.1));
        series.extend(guide::shared(run.cells.iter()).zip(lowest).map(|(guide, lowest)| guide.over_budgets(&budgets, lowest)));
    }
    let chart = Chart {
        title: format!("{} against {key}", shown.title),
        x: Axis::marking(key, logarithmic, &values).with_air(0.03),
        y,
        series,
    };
    Some(FinalPlot { key: key.to_owned(), title: shown.title, stem: shown.stem, chart, n_left_out })
}

/// Returns the other swept keys and their values, which distinguish the lines of one policy.
fn others(run: &ReportRun, cell: &CellData, key: &str) -> String {
    let keys = run.swept_keys();
    let others = cell.info.swept.iter().filter(|(known, _)| known != key);
    others.map(|(known, value)| format!("{} = {value}", short_key(known, &keys))).collect::<Vec<_>>().join(", ")
}

fn sort_by_x(line: &mut Series) {
    let mut order: Vec<usize> = (0..line.points.len()).collect();
    order.sort_by(|&left, &right| line.points[left].0.total_cmp(&line.points[right].0));
    line.points = order.iter().map(|&i| line.points[i]).collect();
    line.intervals = order.iter().map(|&i| line.intervals[i]).collect();
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, plant};
    use super::*;

    #[test]
    fn one_line_per_policy_in_order_of_the_key() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[4.0, 0.25, 1.0], &[PRIVATE, OPEN], 6);
        let plots = plots(&ReportRun::read(folder.path()).expect("read"));
        assert_eq!(plots.len(), 1);
        assert!(plots[0].chart.x.logarithmic);
        let line = &plots[0].chart.series[0];
        assert_eq!(line.points, [(0.25, 280.0), (1.0, 100.0), (4.0, 55.0)]);
    }

    /// Contextual runs have a second plot: the share of rounds with the best arm.
    #[test]
    fn the_best_arm_has_a_plot_of_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[4.0, 0.25], &[PRIVATE], 6);
        let mut run = ReportRun::read(folder.path()).expect("read");
        run.cells.iter_mut().for_each(|cell| cell.info.measures = crate::record::Measures::Contextual);
        let plots = plots(&run);
        assert_eq!(plots.iter().map(|plot| plot.stem).collect::<Vec<_>>(), ["final", "share"]);
        // The planted second quantity is one over the round.
        assert_eq!(plots[1].chart.series[0].points, [(0.25, 0.0025), (4.0, 0.0025)]);
    }

    #[test]
    fn nothing_swept_has_no_plot() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[1.0], &[PRIVATE], 1);
        assert!(plots(&ReportRun::read(folder.path()).expect("read")).is_empty());
    }
}
