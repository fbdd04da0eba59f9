//! Draws the slope of the lower bound of [Zhou2021, Theorem 1] as a guide line.
//!
//! The line passes through the least regret shown, because the bound's constants are unknown. For rewards with a second moment
//! v, no epsilon-local DP learner has smaller regret on the worst function of the kernel's space than `sqrt(v T) / zeta`, times
//! a logarithm, for squared exponential kernels, and `T^((nu+d)/(2nu+d)) (sqrt(v) / zeta)^(2nu/(2nu+d)) B^(d/(2nu+d))` for
//! Matern kernels, `zeta = e^epsilon - 1`. The bound applies only to runs of local privacy on functions of this space.

use super::canvas::Series;
use super::cell_data::CellData;
use privateer_privacy::Adversary;

/// Holds the slopes of the bound's logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Guide {
    /// Slope in `ln T`.
    pub(super) rounds: f64,
    /// Slope in `ln (e^epsilon - 1)`, negative.
    pub(super) zeta: f64,
}

impl Guide {
    /// Returns the guide of a cell; `None` where the theorem does not apply.
    pub(super) fn of(cell: &CellData) -> Option<Self> {
        let ledger = &cell.info.ledger.reward;
        let local = ledger.threat_model.adversary == Adversary::Server && ledger.epsilon.is_some();
        let environment = &cell.info.resolved["environment"];
        if !local || environment["kind"].as_str() != Some("rkhs") {
            return None;
        }
        let kernel = &environment["kernel"];
        match kernel.as_str().or(kernel["kind"].as_str())? {
            "squared-exponential" => Some(Self { rounds: 0.5, zeta: -1.0 }),
            "matern" => {
                let nu = kernel["nu"].as_f64()?;
                let d = cell.info.facts.get("dimension")?.as_f64()?;
                Some(Self { rounds: (nu + d) / (2.0 * nu + d), zeta: -2.0 * nu / (2.0 * nu + d) })
            }
            _ => None,
        }
    }

    /// Returns the line over rounds, through `(last, mean)`, down to `floor`.
    pub(super) fn over_rounds(self, rounds: &[f64], (last, mean): (f64, f64), floor: f64) -> Series {
        let at = |&round: &f64| (round, mean * (round / last).powf(self.rounds));
        let points = rounds.iter().map(at).filter(|(_, y)| floor <= *y).collect();
        line(format!("slope of a lower bound: T^{:.2}", self.rounds), points)
    }

    /// Returns the line over budgets, through the first of them, `(epsilon, mean)`.
    pub(super) fn over_budgets(self, budgets: &[f64], (epsilon, mean): (f64, f64)) -> Series {
        let at = |&budget: &f64| (budget, mean * (budget.exp_m1() / epsilon.exp_m1()).powf(self.zeta));
        let points = budgets.iter().map(at).filter(|(_, y)| y.is_finite()).collect();
        line(format!("slope of a lower bound: (e^ε − 1)^−{:.2}", -self.zeta), points)
    }
}

fn line(name: String, points: Vec<(f64, f64)>) -> Series {
    Series { name, points, guide: true, ..Series::default() }
}

/// Returns the guide that all of these cells share.
pub(super) fn shared<'c>(mut cells: impl Iterator<Item = &'c CellData>) -> Option<Guide> {
    let first = Guide::of(cells.next()?)?;
    cells.all(|cell| Guide::of(cell) == Some(first)).then_some(first)
}

/// The caption's sentence about the line.
pub(super) const CAPTION: &str = " The thin grey line has the slope of the lower bound of Theorem 1 in Zhou & Tan (2021), logarithms left out; no \
                                  constant of it is known, so that only its slope says something.";

#[cfg(test)]
mod tests {
    use super::super::collect::ReportRun;
    use super::super::collect::tests::{OPEN, PRIVATE, planted};
    use super::super::figures::{Along, ChartPlan, Height, chart, figures};
    use super::*;
    use crate::record::{resolved, test_ledger};
    use serde_json::{Value, json};
    use std::sync::Arc;

    /// Returns two planted private policies at three budgets, on functions of this kernel's space.
    fn run(kernel: Value, adversary: Adversary) -> ReportRun {
        let mut run = planted(&[0.5, 1.0, 2.0], &[PRIVATE, OPEN], 6);
        for (i, cell) in run.cells.iter_mut().enumerate() {
            cell.info_mut().resolved = resolved(json!({"environment": {"kind": "rkhs", "kernel": kernel}}));
            cell.info_mut().facts = Arc::new([("dimension", 2_u64.into())].into());
            let mut ledger = test_ledger([0.5, 1.0, 2.0][i / 2], Some(1.0));
            ledger.reward.threat_model.adversary = adversary;
            cell.info_mut().ledger = ledger.into();
        }
        run
    }

    const LOCAL: Adversary = Adversary::Server;

    #[test]
    fn slopes_are_those_of_the_theorem() {
        let of = |kernel: Value, adversary| Guide::of(&run(kernel, adversary).cells[0]);
        assert_eq!(of(json!({"kind": "squared-exponential"}), LOCAL), Some(Guide { rounds: 0.5, zeta: -1.0 }));
        let matern = of(json!({"kind": "matern", "nu": 2.5}), LOCAL).expect("d = 2");
        assert!((matern.rounds - 4.5 / 7.0).abs() < 1e-15 && (matern.zeta + 5.0 / 7.0).abs() < 1e-15);
        assert_eq!(of(json!({"kind": "linear"}), LOCAL), None);
        assert_eq!(of(json!({"kind": "squared-exponential"}), Adversary::Observer), None);
    }

    #[test]
    fn lines_pass_through_the_least_regret_and_stay_on_the_paper() {
        let run = run(json!({"kind": "squared-exponential"}), LOCAL);
        let drawn = |along| {
            let plan = ChartPlan { along, height: Height::Mean, by: "policy".to_owned() };
            chart(&run, &plan).expect("a chart").0
        };
        for panel in drawn(Along::Rounds).panels {
            let [.., least, line] = &panel.series[..] else { panic!("a line") };
            assert!(line.guide && !least.guide);
            // The regret of the best planted policy, which ends at 40, also grows like the square root.
            assert_eq!(line.points.last(), Some(&(400.0, 40.0)));
            assert!(line.points.iter().all(|&(round, y)| (y - 2.0 * round.sqrt()).abs() < 1e-9 && panel.y.low <= y));
        }
        let chart = drawn(Along::Key("privacy.epsilon".to_owned()));
        let line = chart.panels[0].series.last().expect("a line");
        assert!(line.guide);
        assert_eq!(line.points[0], (0.5, 40.0));
        assert!((line.points[2].1 - 40.0 * 0.5_f64.exp_m1() / 2.0_f64.exp_m1()).abs() < 1e-12);
        let explained = |run: &ReportRun| figures(run, false).iter().any(|figure| figure.caption.contains("Theorem 1"));
        assert!(explained(&run));
        let mut open = run.clone();
        open.cells.iter_mut().for_each(|cell| cell.info_mut().ledger = test_ledger(1.0, None).into());
        assert!(!explained(&open));
    }
}
