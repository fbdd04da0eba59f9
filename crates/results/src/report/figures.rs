//! Builds the charts of a run: a quantity, its excess or its ratio over the run without privacy, against budgets, keys or rounds.
//!
//! One builder serves the page and the exported figures. What is neither on the x axis nor a line distinguishes the panels.

use super::axis::Axis;
use super::canvas::{Chart, Panel, Series};
use super::cell_data::{CellData, grouped};
use super::collect::ReportRun;
use super::compare::cost;
use super::guide;
use super::stats::{Ratio, SampleMoments};
use super::text::{csv_text, safe_name, short_key, swept_text, write_number};
use super::words::capital;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Largest number of panels in one chart.
pub(super) const N_PANELS: usize = 12;
/// Largest number of lines in one panel.
const N_LINES: usize = 12;
/// Label of shares.
pub(super) const KEPT: &str = "% of what can be learnt";

/// Names what a chart shows along its x axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Along {
    Rounds,
    /// The stated budgets.
    Budgets,
    /// A swept key with numbers.
    Key(String),
}

/// Names what a chart shows along its y axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Height {
    /// The quantity itself.
    Mean,
    /// The quantity minus that of the run without privacy.
    Excess,
    /// The quantity over that of the run without privacy.
    Ratio,
    /// How much of what can be learnt privacy leaves, in percent.
    Share,
}

impl Height {
    /// Returns the height of the run without privacy; `None` for the quantity itself.
    fn without_privacy(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::Excess => Some(0.0),
            Self::Ratio => Some(1.0),
            Self::Share => Some(100.0),
        }
    }
}

/// Says what a chart shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChartPlan {
    pub(super) along: Along,
    pub(super) height: Height,
    /// What the lines are: `policy`, or a swept key.
    pub(super) by: String,
}

#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) group: Group,
    /// Name of the file, without its ending.
    pub(super) stem: String,
    /// The swept key that distinguishes the figure from others of its group, which a reader chooses; empty if none does.
    pub(super) x: String,
    pub(super) chart: Chart,
    pub(super) caption: String,
}

/// Names the page's section of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// The first figures: what is kept of what can be learnt.
    Lead,
    /// Cost of privacy against the budget.
    Cost,
    /// The quantity against a swept number.
    Swept,
    /// The quantity against the round.
    Curves,
}

/// Returns the figures after the first ones, in the order of the page.
///
/// Of many settings, heat maps show what privacy costs (`has_maps`), and a panel for each is left to `privateer report --y ratio`.
pub(super) fn figures(run: &ReportRun, has_maps: bool) -> Vec<Figure> {
    let (trials, words) = (run.manifest.trials, &run.words);
    let over = if trials == 1 { "One trial".to_owned() } else { format!("Mean over {trials} trials") };
    let bars = if trials < 2 { "no interval" } else { "bars are 95 % intervals" };
    let mut figures = Vec::new();
    let mut add = |group, stem: &str, along: Along, height, mut caption: String| {
        let x = match (group, &along) {
            (Group::Swept, Along::Key(key)) => key.clone(),
            _ => String::new(),
        };
        let plan = ChartPlan { along, height, by: "policy".to_owned() };
        if has_maps && group == Group::Cost {
            return;
        }
        if let Some((chart, n_left_out)) = chart(run, &plan) {
            if 0 < n_left_out {
                caption +=
                    &format!(" {n_left_out} more panels or lines are in the files; `privateer report --format svg` draws them.");
            }
            if chart.panels.iter().flat_map(|panel| &panel.series).any(|series| series.guide && series.name.contains("slope")) {
                caption += guide::CAPTION;
            }
            figures.push(Figure { group, stem: stem.to_owned(), x, chart, caption });
        }
    };
    let paired = if trials < 2 { "no interval" } else { "bars are paired 95 % intervals" };
    let bounded = if trials < 2 { "" } else { ", where these are bounded" };
    let dagger = " A dagger marks policies without a guarantee; the grey line is the result without privacy.";
    let with = named_companions(run, &Along::Budgets);
    let with = if with.is_empty() { with } else { format!(" against epsilon{with}") };
    let caption =
        format!("Cost of privacy{with}: {} over that without privacy. Pairs of trials; {paired}{bounded}.{dagger}", words.long);
    add(Group::Cost, "cost-ratio", Along::Budgets, Height::Ratio, caption);
    let caption = format!("Cost of privacy{with}: {} minus that without privacy. Pairs of trials; {paired}.{dagger}", words.long);
    add(Group::Cost, "cost-excess", Along::Budgets, Height::Excess, caption);
    for (i, key) in run.swept_keys().into_iter().enumerate() {
        let along = Along::Key(key.to_owned());
        let with = named_companions(run, &along);
        let caption = format!("{} against {key}{with}. {over}; {bars}.", words.title());
        let stem = format!("final-{i}-{}", safe_name(key));
        add(Group::Swept, &stem, along, Height::Mean, caption);
    }
    let band = if trials < 2 { "no band" } else { "bands are 95 % intervals of the mean" };
    let late = if run.words.who == "learner" { " A curve begins with the learner's first answer." } else { "" };
    let caption = format!("{} against the round. {over}; {band}.{late}", capital(words.curve));
    add(Group::Curves, "curves", Along::Rounds, Height::Mean, caption);
    figures
}

/// Returns a chart with the number of panels and lines that were omitted; `None` if its x axis has fewer than two values.
pub(super) fn chart(run: &ReportRun, plan: &ChartPlan) -> Option<(Chart, usize)> {
    let keys = run.swept_keys();
    let companions = companions(run, &plan.along);
    let mut xs: BTreeMap<i64, f64> = BTreeMap::new();
    let mut styles: BTreeMap<String, usize> = BTreeMap::new();
    // The first panels, each with the coordinates that distinguish it; the lines of others are only counted.
    let mut number_of: BTreeMap<String, usize> = BTreeMap::new();
    let mut shown: Vec<PanelCells> = Vec::new();
    for (cell_idx, cell) in run.cells.iter().enumerate() {
        let (name, rest) = place(run, plan, &companions, cell);
        let line = line(run, plan, cell_idx);
        // The same policy has the same colour in every chart of a page.
        if (line.is_some() || plan.by == "policy") && !styles.contains_key(&name) {
            styles.insert(name.clone(), styles.len());
        }
        let Some(line) = line else { continue };
        xs.extend(line.iter().map(|((x, _), _)| (in_order(*x), *x)));
        let next = number_of.len();
        let number = *number_of.entry(format!("{rest:?}")).or_insert(next);
        if number == shown.len() && number < N_PANELS {
            shown.push((rest, Vec::new()));
        }
        if let Some((_, lines)) = shown.get_mut(number) {
            lines.push((name, line));
        }
    }
    let xs: Vec<f64> = xs.into_values().collect();
    if xs.len() < 2 {
        return None;
    }
    let series = |same: Vec<(String, Vec<PointInterval>)>| {
        let name = same[0].0.clone();
        let bars = plan.along != Along::Rounds;
        let mut series = Series { style: styles[&name], name, bars, ..Series::default() };
        let mut known = BTreeSet::new();
        for (point, interval) in same.into_iter().flat_map(|(_, line)| line) {
            // Policies without privacy repeat their result at every budget that shares a panel.
            if known.insert((in_order(point.0), in_order(point.1))) {
                series.points.push(point);
                series.intervals.push(interval);
            }
        }
        sort_by_x(&mut series);
        series
    };
    let mut n_left_out = number_of.len() - shown.len();
    let mut panel = |(rest, lines): PanelCells| {
        let lines = grouped(lines.into_iter().map(|line| (line.0.clone(), line)));
        n_left_out += lines.len().saturating_sub(N_LINES);
        (rest, lines.into_iter().take(N_LINES).map(series).collect())
    };
    let panels: Vec<PanelLines> = shown.into_iter().map(&mut panel).collect();
    let varying = |coordinate: &(String, String)| panels.iter().any(|(rest, _)| !rest.contains(coordinate));
    let titles: Vec<String> = panels
        .iter()
        .map(|(rest, _)| {
            let shown = rest.iter().filter(|coordinate| varying(coordinate));
            let shown = shown.map(|(key, value)| match key.as_str() {
                "policy" | "environment" => value.clone(),
                key => format!("{} = {value}", short_key(key, &keys)),
            });
            shown.collect::<Vec<_>>().join(", ")
        })
        .collect();
    let (x, y) = axes(run, plan, &xs, &panels);
    let panels: Vec<Panel> = panels
        .into_iter()
        .zip(titles)
        .map(|((rest, mut series), title)| {
            let mut cells = run.cells.iter().filter(|cell| place(run, plan, &companions, cell).1 == rest);
            series.extend(guides(run, plan, &mut cells, &series, &xs, &y));
            Panel { title, x: x.clone(), y: y.clone(), series, tiles: Vec::new() }
        })
        .collect();
    let title = format!("{} against {}", capital(&y.label), x.label);
    Some((Chart { title, panels }, n_left_out))
}

/// The coordinates that distinguish a panel, as keys and values, with its lines.
type PanelLines = (Vec<(String, String)>, Vec<Series>);

/// The coordinates that distinguish a panel, with the name of each cell's line and its points.
type PanelCells = (Vec<(String, String)>, Vec<(String, Vec<PointInterval>)>);

/// The name of a cell's line, and the coordinates of its panel.
type Place = (String, Vec<(String, String)>);

type PointInterval = ((f64, f64), Option<(f64, f64)>);

/// Returns the points that a cell adds to a chart; `None` if it has none.
fn line(run: &ReportRun, plan: &ChartPlan, cell_idx: usize) -> Option<Vec<PointInterval>> {
    let cell = &run.cells[cell_idx];
    let moments = |m: &SampleMoments| (m.mean, m.low().zip(m.high()));
    let at = |x: f64, (y, interval)| Some(vec![((x, y), interval)]);
    let x = match &plan.along {
        Along::Rounds => {
            let known = cell.curve.points().filter_map(|(round, (m, _))| m.map(|m| (f64::from(round), moments(&m))));
            return Some(known.map(|(x, (y, interval))| ((x, y), interval)).collect());
        }
        Along::Budgets => cell.epsilon().filter(|_| !cell.is_not_private()).or_else(|| swept_epsilon(cell))?,
        Along::Key(key) => cell.swept(key)?.as_f64()?,
    };
    let x = Some(x).filter(|x| x.is_finite())?;
    match plan.height {
        Height::Mean => at(x, moments(&cell.moments(run.words.measure)?)),
        Height::Excess => at(x, moments(&cost(run, cell_idx)?.excess?)),
        Height::Ratio => {
            let Ratio { value, interval } = cost(run, cell_idx)?.ratio?;
            at(x, (value, interval))
        }
        Height::Share => at(x, cost(run, cell_idx)?.share?.left?.percent()),
    }
}

/// Returns the budget that a sweep states for a cell.
fn swept_epsilon(cell: &CellData) -> Option<f64> {
    cell.swept.iter().find(|(key, _)| is_budget(key)).and_then(|(_, value)| value.as_f64())
}

fn is_budget(key: &str) -> bool {
    key.rsplit('.').next() == Some("epsilon")
}

/// Returns whether the values of a swept key are places on the x axis.
fn is_on_x(along: &Along, key: &str) -> bool {
    match along {
        Along::Rounds => false,
        Along::Budgets => is_budget(key),
        Along::Key(known) => known == key,
    }
}

/// Returns the swept keys whose value follows from that on the x axis, as in `[sweep.zip]`.
///
/// They divide no panel.
fn companions<'a>(run: &'a ReportRun, along: &Along) -> Vec<&'a str> {
    let keys = run.swept_keys();
    let Some(known) = keys.iter().copied().find(|key| is_on_x(along, key)) else { return Vec::new() };
    let follows = |key: &str| {
        let mut value_at: BTreeMap<String, String> = BTreeMap::new();
        let alike = run.cells.iter().all(|cell| match (cell.swept(known), cell.swept(key)) {
            (Some(x), Some(value)) => {
                let value = value.to_string();
                value_at.entry(x.to_string()).or_insert_with(|| value.clone()) == &value
            }
            (None, None) => true,
            _ => false,
        });
        alike && value_at.values().any(|value| Some(value) != value_at.values().next())
    };
    keys.into_iter().filter(|key| !is_on_x(along, key) && follows(key)).collect()
}

/// Returns the part of a caption that names the companions; empty without any.
fn named_companions(run: &ReportRun, along: &Along) -> String {
    let keys = companions(run, along);
    if keys.is_empty() { String::new() } else { format!(" (with it: {})", keys.join(", ")) }
}

/// Returns the name of a cell's line, and the coordinates of its panel.
fn place(run: &ReportRun, plan: &ChartPlan, companions: &[&str], cell: &CellData) -> Place {
    let broken = run.index.unguaranteed.contains(&cell.info.policy);
    let policy = format!("{}{}", cell.info.policy, if broken { " †" } else { "" });
    let mut coordinates = vec![("policy".to_owned(), policy), ("environment".to_owned(), cell.info.environment.to_string())];
    let swept = cell.swept.iter().filter(|(key, _)| !is_on_x(&plan.along, key) && !companions.contains(&&**key));
    coordinates.extend(swept.map(|(key, value)| (key.to_string(), swept_text(value))));
    let at = coordinates.iter().position(|(key, _)| *key == plan.by).unwrap_or(0);
    let (key, value) = coordinates.remove(at);
    (if key == "policy" { value } else { format!("{} = {value}", short_key(&key, &run.swept_keys())) }, coordinates)
}

fn axes(run: &ReportRun, plan: &ChartPlan, xs: &[f64], panels: &[PanelLines]) -> (Axis, Axis) {
    let lines = || panels.iter().flat_map(|(_, lines)| lines);
    let means = || lines().flat_map(|line| line.points.iter().map(|point| point.1));
    let ends = || lines().flat_map(|line| line.intervals.iter().flatten());
    let (least, greatest) = means().fold((f64::INFINITY, 0.0_f64), |(low, high), y| (low.min(y), high.max(y)));
    let (label, logarithmic) = match plan.height {
        Height::Mean if plan.along == Along::Rounds => (run.words.curve.to_owned(), false),
        Height::Mean => (run.words.long.to_owned(), 0.0 < least && 30.0 * least < greatest),
        Height::Excess => (format!("excess {}", run.words.short), false),
        Height::Ratio => ("times without privacy".to_owned(), 0.0 < least && 5.0 * least < greatest),
        Height::Share => (KEPT.to_owned(), false),
    };
    // On a logarithmic axis the means alone set the floor, because a band that reaches zero would stretch it without end.
    let line_at = plan.height.without_privacy();
    let (low, high) = (ends().map(|end| if logarithmic { end.1 } else { end.0 }), ends().map(|end| end.1));
    // An interval that is many times wider than all means would press the curves together.
    let most = 3.0 * greatest.max(1e-300);
    let y = Axis::holding(&label, logarithmic, means().chain(low.chain(high).filter(|y| y.abs() <= most)).chain(line_at))
        .with_air(0.03);
    let x = match &plan.along {
        Along::Rounds => Axis::holding(if run.words.who == "learner" { "sample" } else { "round" }, false, xs.iter().copied()),
        Along::Budgets => Axis::marking("ε", Axis::suits_logarithm(xs), xs).with_air(0.03),
        Along::Key(key) => Axis::marking(key, Axis::suits_logarithm(xs), xs).with_air(0.03),
    };
    (x, y)
}

/// Returns the grey lines of a panel: no privacy, and the slope of a lower bound.
fn guides(
    run: &ReportRun,
    plan: &ChartPlan,
    cells: &mut dyn Iterator<Item = &CellData>,
    series: &[Series],
    xs: &[f64],
    y: &Axis,
) -> Vec<Series> {
    let least = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        points.filter(|(_, y)| 0.0 < *y).min_by(|left, right| left.1.total_cmp(&right.1))
    };
    let adds_up = run.words.measure == crate::record::Quantity::CumulativeRegret;
    match (plan.height, &plan.along) {
        (Height::Mean, Along::Rounds) if adds_up => {
            let lowest = least(&mut series.iter().filter_map(|line| line.points.last().copied()));
            guide::shared(cells).zip(lowest).map(|(guide, lowest)| guide.over_rounds(xs, lowest, y.low)).into_iter().collect()
        }
        (Height::Mean, Along::Key(key)) if adds_up && is_budget(key) && 0.0 < xs[0] => {
            let lowest =
                least(&mut series.iter().filter_map(|line| line.points.first().copied()).filter(|point| point.0 == xs[0]));
            guide::shared(cells).zip(lowest).map(|(guide, lowest)| guide.over_budgets(xs, lowest)).into_iter().collect()
        }
        _ => plan.height.without_privacy().map(|height| Series::flat(height, xs)).into_iter().collect(),
    }
}

/// Returns a number that is ordered as `x` is, equal for both zeros.
fn in_order(x: f64) -> i64 {
    let bits = (x + 0.0).to_bits().cast_signed();
    if bits < 0 { !(bits & i64::MAX) } else { bits }
}

pub(super) fn sort_by_x(line: &mut Series) {
    let mut order: Vec<usize> = (0..line.points.len()).collect();
    order.sort_by(|&left, &right| line.points[left].0.total_cmp(&line.points[right].0));
    line.points = order.iter().map(|&i| line.points[i]).collect();
    line.intervals = order.iter().map(|&i| line.interval(i)).collect();
}

/// Returns `plots/curves.csv`, cell by cell: mean, interval and quantiles of the curves' quantity at the plotted rounds.
pub(super) fn curves_csv(run: &ReportRun) -> impl Iterator<Item = String> {
    let lines = |cell: &CellData| {
        let mut text = String::new();
        let policy = csv_text(&cell.info.policy).replace(['"', ',', '\n', '\r'], " ");
        for (round, (moments, quantiles)) in cell.curve.points() {
            let _ = write!(text, "{},{policy},{round}", cell.info.cell);
            let low_high = [moments.and_then(|m| m.low()), moments.and_then(|m| m.high())];
            let numbers = [moments.map(|m| m.mean)].into_iter().chain(low_high);
            for value in numbers.chain(quantiles.map_or([None; 5], |q| q.0.map(Some))) {
                text.push(',');
                value.into_iter().for_each(|value| write_number(&mut text, value));
            }
            text.push('\n');
        }
        text
    };
    let header = "cell,policy,round,mean,ci95_low,ci95_high,q05,q25,q50,q75,q95\n".to_owned();
    std::iter::once(header).chain(run.cells.iter().map(lines))
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, planted};
    use super::*;

    fn drawn(epsilons: &[f64], along: Along, height: Height) -> Option<Chart> {
        let plan = ChartPlan { along, height, by: "policy".to_owned() };
        chart(&planted(epsilons, &[PRIVATE, OPEN], 6), &plan).map(|(chart, _)| chart)
    }

    #[test]
    fn costs_are_drawn_against_the_budget() {
        let chart = drawn(&[4.0, 0.25, 1.0], Along::Budgets, Height::Ratio).expect("a chart");
        let [panel] = &chart.panels[..] else { panic!("one panel") };
        assert!(panel.x.logarithmic && panel.title.is_empty());
        assert_eq!(panel.series[0].points, [(0.25, 7.0), (1.0, 2.5), (4.0, 1.375)]);
        // The policy without privacy is the grey line at 1.
        assert_eq!((panel.series[1].guide, panel.series[1].points.as_slice()), (true, &[(0.25, 1.0), (4.0, 1.0)][..]));
        let chart = drawn(&[4.0, 0.25, 1.0], Along::Budgets, Height::Excess).expect("a chart");
        assert_eq!(chart.panels[0].series[0].points, [(0.25, 240.0), (1.0, 60.0), (4.0, 15.0)]);
        assert_eq!(drawn(&[1.0], Along::Budgets, Height::Ratio), None);
    }

    #[test]
    fn curves_are_small_multiples_with_one_scale() {
        let chart = drawn(&[0.5, 2.0], Along::Rounds, Height::Mean).expect("a chart");
        let titles: Vec<&str> = chart.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["epsilon = 0.5", "epsilon = 2"]);
        assert_eq!(chart.panels[0].y, chart.panels[1].y);
        assert_eq!(chart.legend().iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["tgp-ucb", "igp-ucb"]);
        assert_eq!(chart.panels[0].series[0].points.last(), Some(&(400.0, 160.0)));
        let key = Along::Key("privacy.epsilon".to_owned());
        assert_eq!(
            drawn(&[0.5, 2.0], key, Height::Mean).expect("a chart").panels[0].series[0].points,
            [(0.5, 160.0), (2.0, 70.0)]
        );
    }
}
