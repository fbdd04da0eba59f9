//! Draws the first figures of a page: what the best private policy keeps of what can be learnt, over all settings.
//!
//! Few settings are lines. Many settings are heat maps, one for each swept key, and the distribution of the cost over settings.

use super::axis::Axis;
use super::canvas::{Chart, Panel, Series, Tile};
use super::cell_data::grouped;
use super::collect::ReportRun;
use super::compare::best_of;
use super::figures::{Figure, Group, KEPT, sort_by_x};
use super::page_tables::cut;
use super::settings::{Settings, median};
use super::stats::Ratio;
use super::text::{safe_name, share_text, short, short_key, swept_text};
use crate::record::is_privacy_key;
use privateer_config::params::Scalar;
use std::collections::BTreeMap;

/// Largest number of settings, and of policies of one setting, that have a line each.
const N_LINES: usize = 6;
/// Numbers of epsilons and settings from which on these are heat maps.
const MANY: (usize, usize) = (8, 4);

/// Returns the first figures; none where no share is known.
pub(super) fn lead_figures(run: &ReportRun, settings: &Settings) -> Vec<Figure> {
    let n_settings = settings.names.len();
    if settings.epsilons.iter().all(|epsilon| settings.shares_at(*epsilon).is_empty()) {
        return Vec::new();
    }
    let is_many = N_LINES < n_settings || (MANY.0 <= settings.epsilons.len() && MANY.1 <= n_settings);
    if is_many {
        heat_maps(run, settings).into_iter().chain(distribution(run, settings)).collect()
    } else if 1 < settings.epsilons.len() {
        vec![lines(run, settings)]
    } else {
        heat_maps(run, settings)
    }
}

fn figure(stem: String, x: &str, title: String, panel: Panel, caption: String) -> Figure {
    Figure { group: Group::Lead, stem, x: x.to_owned(), chart: Chart { title, panels: vec![panel] }, caption }
}

/// Returns the shares against epsilon: a line for each setting, or for each guaranteed policy of the only setting.
fn lines(run: &ReportRun, settings: &Settings) -> Figure {
    let is_one = settings.names.len() < 2;
    let mut series: Vec<Series> = Vec::new();
    let mut add = |name: String, epsilon: f64, share: Ratio| {
        let style = series.len();
        let at = series.iter().position(|known| known.name == name).unwrap_or_else(|| {
            series.push(Series { name, style, bars: true, ..Series::default() });
            style
        });
        let (height, interval) = share.percent();
        series[at].points.push((epsilon, height));
        series[at].intervals.push(interval);
    };
    for group in &settings.groups {
        let best: Vec<usize> = group.best.into_iter().collect();
        for &cell in if is_one { &group.candidates } else { &best } {
            let name = if is_one { Settings::name_in(run, cell, &group.cells) } else { settings.names[group.setting].clone() };
            settings.share(cell).into_iter().for_each(|share| add(name.clone(), group.epsilon, share));
        }
    }
    let n_more = series.len().saturating_sub(N_LINES);
    series.truncate(N_LINES);
    series.iter_mut().for_each(sort_by_x);
    // An interval that is much wider than what can be learnt would press the lines together.
    let ends = series.iter().flat_map(|line| line.intervals.iter().flatten().flat_map(|(low, high)| [*low, *high]));
    let means = series.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let held = means.chain(ends.filter(|end| (-50.0..=150.0).contains(end))).chain([0.0, 100.0]);
    let y = Axis::holding(KEPT, false, held).with_air(0.03);
    let x = Axis::marking("ε", Axis::suits_logarithm(&settings.epsilons), &settings.epsilons).with_air(0.03);
    series.push(Series::flat(100.0, &settings.epsilons));
    let whose = if is_one { "each private policy with a guarantee" } else { "the best private policy of each setting" };
    let mut caption =
        format!("What {whose} keeps: 0 is guessing, 100 its reference without privacy. Bars are 95 % intervals, one by one.");
    if 0 < n_more {
        caption += &format!(" {n_more} more are in the table.");
    }
    let panel = Panel { title: String::new(), x, y, series, tiles: Vec::new() };
    figure("share".to_owned(), "", "Share of what can be learnt against ε".to_owned(), panel, caption)
}

/// Returns a heat map of the share by epsilon for each swept key, the environments and the policies, with at least two values.
fn heat_maps(run: &ReportRun, settings: &Settings) -> Vec<Figure> {
    let keys = run.swept_keys();
    let (privacy, problem): (Vec<&str>, Vec<&str>) = keys.iter().copied().partition(|key| is_privacy_key(key));
    let privacy = privacy.into_iter().filter(|key| key.rsplit('.').next() != Some("epsilon"));
    let rows = problem.into_iter().chain(privacy).chain(["environment", "policy"]);
    rows.enumerate().filter_map(|(number, key)| {
        let value_of = |cell: usize| {
            let info = &run.cells[cell].info;
            match key {
                "environment" => Some(Scalar::Text(info.environment.to_string())),
                "policy" => Some(Scalar::Text(info.policy.to_string())),
                key => run.cells[cell].swept(key).cloned(),
            }
        };
        let candidates = settings.groups.iter().enumerate();
        let candidates = candidates.flat_map(|(place, group)| group.candidates.iter().map(move |&cell| (place, cell)));
        let of_value = grouped(candidates.filter_map(|at| Some((format!("{:?}", value_of(at.1)?), at))));
        let values: Vec<Scalar> = of_value.iter().filter_map(|cells| value_of(cells[0].1)).collect();
        if values.len() < 2 {
            return None;
        }
        let key_text = short_key(key, &keys);
        let texts: Vec<String> = values.iter().map(|value| cut(&swept_text(value), 16)).collect();
        let epsilons: Vec<String> = settings.epsilons.iter().map(|epsilon| short(*epsilon)).collect();
        let mut tiles = Vec::new();
        for (row, (value, cells)) in values.iter().zip(of_value).enumerate() {
            // The share of the best policy with this value, in each setting, by epsilon.
            let mut played_at: BTreeMap<u64, Vec<Option<f64>>> = BTreeMap::new();
            for cells in grouped(cells.into_iter().map(|(place, cell)| (place, (place, cell)))) {
                let (epsilon, cells) = (settings.groups[cells[0].0].epsilon, cells.iter().map(|at| at.1).collect::<Vec<_>>());
                let share = best_of(run, &cells).and_then(|best| Some(settings.share(best)?.value));
                played_at.entry(epsilon.to_bits()).or_default().push(share);
            }
            for (column, epsilon) in settings.epsilons.iter().enumerate() {
                let played = played_at.remove(&epsilon.to_bits()).unwrap_or_default();
                let mut shares: Vec<f64> = played.iter().copied().flatten().collect();
                shares.sort_by(f64::total_cmp);
                let unknown = match played.len() - shares.len() {
                    0 => String::new(),
                    n => format!("; unknown in {n}"),
                };
                let share = median(&shares);
                let at = format!("{key_text} = {}, ε = {}", swept_text(value), epsilons[column]);
                let of = |value: f64| share_text(Ratio { value, interval: None });
                let reading = match (share, &shares[..]) {
                    (Some(share), [least, .., greatest]) => {
                        format!("{at}: {} (median of {} settings; {} to {}{unknown})", of(share), shares.len(), of(*least), of(*greatest))
                    }
                    (Some(share), _) if played.len() == 1 => format!("{at}: {}", of(share)),
                    (Some(share), _) => format!("{at}: {} in one setting{unknown}", of(share)),
                    (None, _) if played.is_empty() => format!("{at}: not played"),
                    (None, _) => format!("{at}: unknown"),
                };
                tiles.push(Tile { place: (column, row), share, reading });
            }
        }
        let (x, y) = (Axis::of_texts("ε", &epsilons, 10), Axis::of_texts(key_text, &texts, 14));
        let panel = Panel { title: KEPT.to_owned(), x, y, series: Vec::new(), tiles };
        let title = format!("Share of what can be learnt by {key_text} and ε");
        let caption = format!(
            "What the best private policy with a guarantee keeps, by {key} and epsilon: the median over the other settings; 0 is \
             guessing, 100 no privacy."
        );
        Some(figure(format!("share-{number}-{}", safe_name(key)), key, title, panel, caption))
    })
    .collect()
}

/// Returns the distribution of the cost over settings, a line for each of a few epsilons.
fn distribution(run: &ReportRun, settings: &Settings) -> Option<Figure> {
    let (n, chosen) = (settings.epsilons.len(), settings.epsilons.len().min(N_LINES));
    let mut series = Vec::new();
    for style in 0..chosen {
        let epsilon = settings.epsilons[style * (n - 1) / (chosen - 1).max(1)];
        let shares = settings.shares_at(epsilon);
        // The greatest share costs least.
        let mut points = vec![(0.0, 0.0)];
        for (below, share) in shares.iter().rev().enumerate() {
            let cost = (100.0 * (1.0 - share)).clamp(0.0, 100.0);
            let at = |count: usize| (cost, 100.0 * count as f64 / shares.len() as f64);
            points.extend([at(below), at(below + 1)]);
        }
        if 1 < shares.len() {
            series.push(Series { name: format!("ε = {}", short(epsilon)), style, points, ..Series::default() });
        }
    }
    if series.is_empty() {
        return None;
    }
    let percent = |label: &str| Axis::holding(label, false, [0.0, 100.0].into_iter());
    let (x, y) = (percent("cost: % of what can be learnt"), percent("% of settings"));
    let panel = Panel { title: String::new(), x, y, series, tiles: Vec::new() };
    let title = "Distribution of the cost of privacy over settings".to_owned();
    let caption = format!(
        "Settings in which privacy costs the best private {} at most the amount on the x axis; costs below 0 and above 100 % are \
         drawn at the ends, and settings with an unknown share are left out.",
        run.words.who
    );
    Some(figure("share-distribution".to_owned(), "", title, panel, caption))
}

#[cfg(test)]
mod tests {
    use super::super::answer::Answer;
    use super::super::cell_data::CellIndex;
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, planted};
    use super::*;
    use std::sync::Arc;

    /// Returns a run over these epsilons in which the private policy keeps `shares` of 200, a setting each.
    fn keeping(epsilons: &[f64], shares: &[fn(f64) -> f64]) -> (ReportRun, Settings) {
        let guess = Planted { policy: "uniform", level: |_| 240.0, ..OPEN };
        let mut run = planted(epsilons, &[PRIVATE, OPEN, guess], 6);
        let played = std::mem::take(&mut run.cells);
        for (setting, share) in shares.iter().enumerate() {
            for mut cell in played.clone() {
                if let Some(epsilon) = cell.epsilon().filter(|_| !cell.is_not_private()) {
                    Arc::make_mut(&mut cell.ends)
                        .iter_mut()
                        .for_each(|end| end.values[1] += 240.0 - 200.0 * share(epsilon) - (40.0 + 60.0 / epsilon));
                }
                cell.info_mut().cell = run.cells.len() as u32;
                let setting = ("environment.dimension".into(), Scalar::Integer(setting as i64 + 1));
                cell.swept = cell.swept.iter().cloned().chain([setting]).collect();
                run.cells.push(cell);
            }
        }
        run.index = CellIndex::of(&run.cells);
        let settings = Settings::of(&run);
        (run, settings)
    }

    fn lead(run: &ReportRun, settings: &Settings) -> String {
        Answer::of(run, settings).lead.join(" ")
    }

    #[test]
    fn three_settings_are_lines_and_a_median() {
        let (run, settings) = keeping(&[1.0, 4.0], &[|_| 0.9, |epsilon| 0.25 * epsilon, |epsilon| 0.1 + 0.1 * epsilon]);
        let expected = "At ε = 1 the best private policy keeps 25 % of what can be learnt (median of 3 settings; range 20 to 90 %). \
                        80 % or more is kept from ε = 3.3 on in the median of 3 settings.";
        assert_eq!(lead(&run, &settings), expected);
        let [figure] = &lead_figures(&run, &settings)[..] else { panic!("one figure") };
        let series = &figure.chart.panels[0].series;
        let names: Vec<&str> = series.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["dimension = 1", "dimension = 2", "dimension = 3", "without privacy"]);
        let heights: Vec<f64> = series[1].points.iter().map(|point| point.1.round()).collect();
        assert_eq!(heights, [25.0, 100.0]);
    }

    /// Keys with the same letters and digits have files of their own, and policies at one budget each say nothing of others.
    #[test]
    fn keys_alike_have_files_of_their_own_and_unlike_policies_no_threshold() {
        let shares: [fn(f64) -> f64; 7] = [|_| 0.1, |_| 0.2, |_| 0.3, |_| 0.4, |_| 0.5, |_| 0.6, |epsilon| 0.2 * epsilon];
        let (mut run, settings) = keeping(&[1.0, 4.0], &shares);
        assert!(settings.are_alike && settings.enough_text().is_some());
        for cell in &mut run.cells {
            let value = cell.swept.last().expect("a key").1.clone();
            let more = ["policy.a b.ridge", "policy.a-b.ridge"].map(|key| (key.into(), value.clone()));
            cell.swept = cell.swept.iter().cloned().chain(more).collect();
        }
        run.index = CellIndex::of(&run.cells);
        let mut stems: Vec<String> = lead_figures(&run, &Settings::of(&run)).into_iter().map(|figure| figure.stem).collect();
        let n_figures = stems.len();
        stems.sort();
        stems.dedup();
        assert!(3 < n_figures && stems.len() == n_figures, "{stems:?}");
        for cell in &mut run.cells {
            let epsilon = cell.epsilon();
            if epsilon == Some(4.0) {
                cell.info_mut().policy = format!("{} of another kind", cell.info.policy).into();
            }
        }
        run.index = CellIndex::of(&run.cells);
        let settings = Settings::of(&run);
        assert!(!settings.are_alike && settings.enough_text().is_none());
    }

    #[test]
    fn many_settings_are_a_heat_map_and_a_distribution() {
        let shares: [fn(f64) -> f64; 7] = [|_| 0.1, |_| 0.2, |_| 0.3, |_| 0.4, |_| 0.5, |_| 0.6, |epsilon| 0.2 * epsilon];
        let (run, settings) = keeping(&[1.0, 4.0], &shares);
        let figures = lead_figures(&run, &settings);
        let [map, distribution] = &figures[..] else { panic!("two figures") };
        assert_eq!((map.stem.as_str(), map.x.as_str()), ("share-0-environment-dimension", "environment.dimension"));
        let tiles = &map.chart.panels[0].tiles;
        assert_eq!(tiles.len(), 14);
        let tile = tiles.iter().find(|tile| tile.place == (1, 6)).expect("a tile");
        assert!(tile.share.is_some_and(|share| (share - 0.8).abs() < 1e-6), "{tile:?}");
        assert_eq!(tile.reading, "dimension = 7, ε = 4: 80 %");
        // At epsilon 4 one of seven settings costs 20 %, and all cost at most 90 %.
        let line = &distribution.chart.panels[0].series[1];
        let near = |point: (f64, f64)| line.points.iter().any(|at| (at.0 - point.0).abs() + (at.1 - point.1).abs() < 1e-3);
        assert!(near((20.0, 100.0 / 7.0)) && near((90.0, 100.0)) && line.points.len() == 15, "{line:?}");
        assert!(map.chart.svg().contains("dimension = 7, ε = 4: 80 %</title>"));
    }
}
