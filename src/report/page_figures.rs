//! Selects the page's figures, with their files and captions.

use super::canvas::Chart;
use super::collect::ReportRun;
use super::compare::ComparedPoint;
use super::text::safe_name;
use super::{guide, plot_curves, plot_final};

/// Names the two kinds of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// Final regret against a swept number.
    Final,
    /// Regret against the round.
    Curves,
}

/// Holds a figure before it is drawn.
#[derive(Clone, Debug)]
pub(super) struct FigurePlan {
    pub(super) group: Group,
    /// File name and chart.
    pub(super) charts: Vec<(String, Chart)>,
    pub(super) caption: String,
}

/// Returns all figures, in the order of the page.
pub(super) fn figures(run: &ReportRun, points: &[ComparedPoint]) -> Vec<FigurePlan> {
    let (n_trials, words) = (run.manifest.trials, run.words());
    let mut figures = Vec::new();
    for (i, plot) in plot_final::plots(run).into_iter().enumerate() {
        let bars = if n_trials < 2 { "One trial: no interval" } else { "Bars are 95 % Student-t intervals of the mean" };
        let mut caption =
            format!("{} against {}. {}. {bars}; what else differs is in the legend.", plot.title, plot.key, over(n_trials));
        if 0 < plot.n_left_out {
            caption +=
                &format!(" The first {} lines are drawn; {} more are in summary.csv.", plot_final::N_LINES, plot.n_left_out);
        }
        caption += guide_caption(std::slice::from_ref(&plot.chart));
        let name = format!("{}-{i}-{}.svg", plot.stem, safe_name(&plot.key));
        figures.push(FigurePlan { group: Group::Final, charts: vec![(name, plot.chart)], caption });
    }
    for (i, point) in points.iter().take(plot_curves::N_POINTS).enumerate() {
        let band = if n_trials < 2 { "One trial: no band" } else { "The band is the 95 % Student-t interval of the mean" };
        let at = plot_curves::at(point);
        let at = if at.is_empty() { String::new() } else { format!(" {at}") };
        let mut caption = format!(
            "{} against the round{at}, on linear (left) and logarithmic (right) axes. {}. {band}.",
            words.curve_title,
            over(n_trials)
        );
        let drawn = plot_curves::charts(run, point);
        caption += guide_caption(&drawn);
        let [linear, loglog] = drawn;
        let charts = vec![(format!("curves-p{i:03}-linear.svg"), linear), (format!("curves-p{i:03}-loglog.svg"), loglog)];
        figures.push(FigurePlan { group: Group::Curves, charts, caption });
    }
    figures
}

fn guide_caption(charts: &[Chart]) -> &'static str {
    if charts.iter().any(|chart| chart.series.iter().any(|series| series.guide)) { guide::CAPTION } else { "" }
}

fn over(n_trials: u32) -> String {
    if n_trials == 1 { "One trial".to_owned() } else { format!("Mean over {n_trials} trials") }
}
