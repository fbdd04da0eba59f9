//! Plots regret, or suboptimality, against the round, and writes the numbers behind the plots.
//!
//! There is one figure with two scales per sweep point.

use super::axis::Axis;
use super::canvas::{Chart, Series};
use super::collect::ReportRun;
use super::compare::ComparedPoint;
use super::guide;
use super::text::{csv_text, number};

/// Largest number of sweep points that are drawn.
pub(super) const N_POINTS: usize = 12;

/// Returns the charts of one sweep point on both scales.
pub(super) fn charts(run: &ReportRun, point: &ComparedPoint) -> [Chart; 2] {
    let policies = run.policies();
    let series: Vec<Series> = point
        .cells
        .iter()
        .map(|&cell_idx| {
            let cell = &run.cells[cell_idx];
            let policy_idx = policies.iter().position(|policy| *policy == cell.info.policy).unwrap_or(0);
            let known = cell.curve.rounds.iter().zip(&cell.curve.moments).filter_map(|(round, m)| m.map(|m| (round, m)));
            let (points, intervals) = known.map(|(round, m)| ((f64::from(*round), m.mean), m.low().zip(m.high()))).unzip();
            let name = cell.info.policy.clone();
            Series { name, colour: policy_idx, dash: policy_idx, points, intervals, ..Series::default() }
        })
        .collect();
    let guide = guide::shared(point.cells.iter().map(|&cell_idx| &run.cells[cell_idx]));
    let ends = series.iter().filter_map(|series| series.points.last().copied());
    let lowest = ends.filter(|(_, mean)| 0.0 < *mean).min_by(|left, right| left.1.total_cmp(&right.1));
    let rounds: Vec<f64> = series.first().map_or(Vec::new(), |series| series.points.iter().map(|point| point.0).collect());
    [false, true].map(|logarithmic| {
        let xs = series.iter().flat_map(|series| series.points.iter().map(|point| point.0));
        let means = series.iter().flat_map(|series| series.points.iter().map(|point| point.1));
        // On a logarithmic axis the means alone set the floor, because a band that reaches zero would stretch it without end.
        let ends = series.iter().flat_map(|series| series.intervals.iter().flatten());
        let ends = ends.flat_map(|(low, high)| [if logarithmic { *high } else { *low }, *high]);
        let y = Axis::holding(run.words().curve, logarithmic, means.chain(ends)).with_air(0.03);
        let line = guide.zip(lowest).map(|(guide, lowest)| guide.over_rounds(&rounds, lowest, y.low));
        Chart {
            title: format!("{} against the round {}", run.words().curve_title, at(point)),
            x: Axis::holding("round", logarithmic, xs),
            y,
            series: series.iter().cloned().chain(line).collect(),
        }
    })
}

/// Returns "at privacy.epsilon = 1"; empty if nothing is swept.
pub(super) fn at(point: &ComparedPoint) -> String {
    if point.label.is_empty() { String::new() } else { format!("at {}", point.label) }
}

/// Returns `plots/curves.csv`, for the plotted rounds of all cells.
///
/// The columns are mean, interval and quantiles of cumulative regret.
pub(super) fn csv(run: &ReportRun) -> String {
    let mut text = "cell,policy,round,mean,ci95_low,ci95_high,q05,q25,q50,q75,q95\n".to_owned();
    for cell in &run.cells {
        let policy = csv_text(&cell.info.policy).replace(['"', ',', '\n', '\r'], " ");
        for ((round, moments), quantiles) in cell.curve.rounds.iter().zip(&cell.curve.moments).zip(&cell.curve.quantiles) {
            let mut fields = vec![cell.info.cell.to_string(), policy.clone(), round.to_string()];
            let low_high = [moments.and_then(|m| m.low()), moments.and_then(|m| m.high())];
            let numbers = [moments.map(|m| m.mean)].into_iter().chain(low_high);
            let numbers = numbers.chain(quantiles.map_or([None; 5], |q| q.0.map(Some)));
            fields.extend(numbers.map(|value| value.map_or(String::new(), number)));
            text += &fields.join(",");
            text.push('\n');
        }
    }
    text
}
