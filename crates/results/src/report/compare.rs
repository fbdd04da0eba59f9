//! Compares policies on the same trials.

use super::cell_data::{CellData, grouped, problem_of};
use super::collect::ReportRun;
use super::share::Share;
use super::stats::{Ratio, SampleMoments, holm};
use super::text::plus_minus;
use crate::record::{Quantity, Role};
use privateer_config::facts::FactValue;
use std::sync::Arc;

/// Compares a quantity at the last round: `cell` minus `reference`, over their common trials.
pub(super) fn paired(cell: &CellData, reference: &CellData, quantity: Quantity) -> Option<SampleMoments> {
    let differences: Vec<f64> = cell.pairs(reference, quantity).into_iter().map(|(here, there)| here - there).collect();
    SampleMoments::of(&differences)
}

/// Holds what privacy costs in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivacyCost {
    /// Index of the cell without privacy.
    pub reference: usize,
    /// The quantity at the last round minus that of the reference.
    pub excess: Option<SampleMoments>,
    /// The quantity at the last round over that of the reference.
    pub ratio: Option<Ratio>,
    /// How much of what can be learnt privacy leaves; `None` if nobody guesses.
    pub share: Option<Share>,
}

/// What privacy costs in each cell; few of many sweeps have a cost in every cell.
pub(super) type Costs = Vec<Option<Box<PrivacyCost>>>;

pub(super) fn costs(run: &ReportRun) -> Costs {
    (0..run.cells.len()).map(|cell_idx| cost(run, cell_idx).map(Box::new)).collect()
}

pub(super) fn cost(run: &ReportRun, cell_idx: usize) -> Option<PrivacyCost> {
    let cell = &run.cells[cell_idx];
    if cell.is_not_private() || run.words.estimates {
        return None;
    }
    let reference = reference(run, cell_idx)?;
    let pairs = cell.pairs(&run.cells[reference], run.words.measure);
    let excess = paired(cell, &run.cells[reference], run.words.measure);
    let share = Share::of(run, cell, &run.cells[reference], run.words.measure);
    Some(PrivacyCost { reference, excess, ratio: Ratio::of(&pairs), share })
}

/// Least part of what can be learnt by which a reference must be worse to be named.
const WORSE: f64 = 0.01;

/// Names the references that do worse than their own policy does with privacy, beyond chance over the whole page.
///
/// Noise teaches nothing: such a policy has parameters that suit it better, and more can be learnt than its reference learns.
pub(super) fn weak_references(run: &ReportRun, costs: &Costs) -> Vec<String> {
    let sign = if run.words.less_is_better() { 1.0 } else { -1.0 };
    let cells = costs.iter().enumerate().filter_map(|(cell, cost)| Some((cell, cost.as_ref()?)));
    let found: Vec<(usize, usize, SampleMoments, bool)> = cells
        .filter_map(|(cell, cost)| {
            let (excess, learnt) = (cost.excess?, cost.share?.learnt.mean);
            let is_twin = kind(&run.cells[cell]) == kind(&run.cells[cost.reference]);
            is_twin.then_some((cell, cost.reference, excess, sign * excess.mean < -WORSE * learnt.abs()))
        })
        .collect();
    let p_values: Vec<f64> =
        found.iter().map(|(cell, reference, ..)| p_value(&run.cells[*cell], &run.cells[*reference], run.words.measure)).collect();
    let worse = found.iter().zip(holm(&p_values, 0.05)).filter(|((.., is_worse), differs)| *is_worse && *differs);
    let by_reference = grouped(worse.map(|(&(cell, reference, excess, _), _)| (reference, (cell, excess))));
    let text = |cells: &Vec<(usize, SampleMoments)>| {
        let reference = costs[cells.first()?.0].as_ref()?.reference;
        let (cell, excess) = cells.iter().max_by(|left, right| left.1.mean.abs().total_cmp(&right.1.mean.abs()))?;
        let more = match cells.len() - 1 {
            0 => String::new(),
            1 => " (and than 1 more cell)".to_owned(),
            more => format!(" (and than {more} more cells)"),
        };
        let cell = &run.cells[*cell];
        let has_beta = cell.info.resolved["policy"]["beta"] != FactValue::Missing;
        let hint = if has_beta && cell.info.facts.get("tuned_factor_of_beta").is_none() {
            ": `beta = { kind = \"tuned\" }` chooses a factor for each"
        } else {
            ""
        };
        Some(format!(
            "“{}” does worse than {}{more}, by {}, beyond chance (paired t-tests at 5 %, Holm's correction for {}): noise teaches nothing, so \
             parameters without it are not the best, and more can be learnt than this reference learns{hint}",
            run.cells[reference].info.policy,
            cell.info.label(),
            plus_minus(excess.mean.abs(), excess.half),
            p_values.len()
        ))
    };
    by_reference.iter().filter_map(text).collect()
}

/// Names the best cell of a sweep point among those that keep a guarantee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Leader {
    pub(super) cell: usize,
    /// Whether it is better than every rival beyond chance, after Holm's correction over the whole page.
    pub(super) clear: bool,
}

/// Returns the leaders: the best cell of each sweep point among those that make the same promise.
///
/// Candidates are private with a guarantee and learn from data. Where nothing in the run is private, all that learn are candidates.
/// Cells of another budget, adversary, unit or number of participations are no rivals: less loss would buy less protection.
/// A cell without a rival leads nothing. The second result is the number of comparisons.
pub(super) fn leaders(run: &ReportRun) -> (Vec<Leader>, usize) {
    let found: Vec<(usize, Vec<usize>)> = run.index.points.iter().flat_map(|point| rivals(run, point)).collect();
    let p_values: Vec<f64> = found
        .iter()
        .flat_map(|(best, others)| others.iter().map(|&other| p_value(&run.cells[other], &run.cells[*best], run.words.measure)))
        .collect();
    let mut rejected = holm(&p_values, 0.05).into_iter();
    let mut leader = |(cell, others): (usize, Vec<usize>)| {
        let verdicts: Vec<bool> = rejected.by_ref().take(others.len()).collect();
        Leader { cell, clear: verdicts.iter().all(|verdict| *verdict) }
    };
    (found.into_iter().map(&mut leader).collect(), p_values.len())
}

/// Returns the best cell of each promise made at a sweep point, with its rivals.
fn rivals(run: &ReportRun, point: &[usize]) -> Vec<(usize, Vec<usize>)> {
    let cells = candidates(run, point);
    // A cell alone has no rival, whatever it promises.
    if run.words.estimates || cells.len() < 2 {
        return Vec::new();
    }
    let best = |mut cells: Vec<usize>| {
        let best = best_of(run, &cells)?;
        cells.retain(|&cell| cell != best);
        (!cells.is_empty()).then_some((best, cells))
    };
    grouped(cells.into_iter().map(|cell| (run.cells[cell].promise(), cell))).into_iter().filter_map(best).collect()
}

/// Returns the p-value of "both cells are equally good", by the paired t-test.
pub(super) fn p_value(cell: &CellData, other: &CellData, quantity: Quantity) -> f64 {
    paired(cell, other, quantity).map_or(1.0, |gap| gap.p_value(cell.pairs(other, quantity).len()))
}

/// Returns the cells that may be called the best.
pub(super) fn candidates(run: &ReportRun, cells: &[usize]) -> Vec<usize> {
    let may = |cell: &CellData| !cell.plays_at_random() && (run.index.nothing_is_private || cell.is_protected());
    cells.iter().copied().filter(|&cell_idx| may(&run.cells[cell_idx])).collect()
}

/// Returns the cell with the best mean.
pub(super) fn best_of(run: &ReportRun, cells: &[usize]) -> Option<usize> {
    let sign = if run.words.less_is_better() { 1.0 } else { -1.0 };
    let mean = |&cell: &usize| run.cells[cell].moments(run.words.measure).map(|m| (cell, sign * m.mean));
    cells.iter().filter_map(mean).min_by(|left, right| left.1.total_cmp(&right.1)).map(|(cell, _)| cell)
}

/// Returns the cell without privacy with which a private cell is compared.
///
/// It has the same environment and the same swept keys apart from those of privacy. The first choice is the one that was added
/// for this policy, then the same policy under its own label, then the same policy and parameters under another label, then the same kind of policy, then the policy with
/// the best mean. Policies that play at random are excluded.
pub(super) fn reference(run: &ReportRun, cell_idx: usize) -> Option<usize> {
    let (cell, point) = (&run.cells[cell_idx], &run.index.points[run.index.point_of[cell_idx]]);
    let parameters = |cell: &CellData| {
        let mut policy = cell.info.resolved["policy"].clone();
        if let FactValue::Table(keys) = &mut policy {
            keys.retain(|key, _| key != "label" && key != "privacy" && key != "curator");
        }
        policy
    };
    let candidates = run.index.open.get(&problem_of(cell))?;
    let here: Vec<usize> = candidates.iter().copied().filter(|other| point.contains(other)).collect();
    // Prefers a cell of the same sweep point.
    let here_first = |wanted: &dyn Fn(usize) -> bool| {
        let fitting = || candidates.iter().filter(|&&other| wanted(other));
        fitting().find(|other| point.contains(other)).or_else(|| fitting().next())
    };
    let role = Role::WithoutPrivacy(Arc::clone(&cell.info.policy));
    candidates
        .iter()
        .find(|&&other| run.cells[other].info.role == role)
        .or_else(|| candidates.iter().find(|&&other| run.cells[other].info.policy == cell.info.policy))
        .or_else(|| {
            here_first(&|other| {
                parameters(&run.cells[other]) != FactValue::Missing && parameters(&run.cells[other]) == parameters(cell)
            })
        })
        .or_else(|| here_first(&|other| !kind(cell).is_empty() && kind(&run.cells[other]) == kind(cell)))
        .copied()
        .or_else(|| best_of(run, &here))
        .or_else(|| best_of(run, candidates))
}

/// Returns the policy's registered name; empty if the manifest does not state it.
pub(super) fn kind(cell: &CellData) -> &str {
    cell.info.resolved["policy"]["kind"].as_str().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::super::cell_data::CellIndex;
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, planted};
    use super::*;
    use crate::record::resolved;
    use privateer_privacy::{Adversary, Ledger, Unit};
    use serde_json::json;

    #[test]
    fn shared_luck_cancels() {
        let run = planted(&[1.0, 2.0], &[PRIVATE, OPEN], 6);
        assert_eq!(run.index.points, [[0, 1], [2, 3]]);
        let gap = paired(&run.cells[0], &run.cells[1], Quantity::CumulativeRegret).expect("paired");
        assert_eq!((gap.mean, gap.sd), (60.0, Some(0.0)));
        // Only one policy is private: there is nothing to choose from.
        assert_eq!(leaders(&run), (vec![], 0));
        let cost = cost(&run, 0).expect("a reference");
        assert_eq!((cost.reference, cost.ratio.expect("positive").value), (1, 2.5));
        assert_eq!(reference(&run, 2), Some(3));
    }

    /// Uniform play is no baseline; the same policy under another label precedes a better one.
    #[test]
    fn the_price_is_counted_against_the_same_policy() {
        let mut run = planted(&[1.0], &[PRIVATE, OPEN, OPEN, OPEN], 6);
        let policies = [("igp-ucb", 1.0), ("uniform", 1.0), ("gp-ucb", 1.0), ("igp-ucb", 1.0)];
        for (cell, (kind, ridge)) in run.cells.iter_mut().zip(policies) {
            let policy = format!("{kind} {}", cell.info.cell);
            cell.info_mut().resolved = resolved(json!({ "policy": { "kind": kind, "ridge": ridge, "label": policy } }));
            cell.info_mut().policy = policy.into();
        }
        run.index = CellIndex::of(&run.cells);
        assert_eq!(reference(&run, 0), Some(3));
        run.cells[3].info_mut().resolved = resolved(json!({ "policy": { "kind": "igp-ucb", "ridge": 2.0 } }));
        assert_eq!(reference(&run, 0), Some(3));
        for kind in ["uniform", "random-arm"] {
            run.cells[3].info_mut().resolved = resolved(json!({ "policy": { "kind": kind } }));
            run.index = CellIndex::of(&run.cells);
            assert_eq!(reference(&run, 0), Some(2));
        }
    }

    fn led(epsilons: &[f64], policies: &[Planted], n_trials: u32) -> Vec<Leader> {
        leaders(&planted(epsilons, policies, n_trials)).0
    }

    #[test]
    fn the_best_has_a_guarantee_and_is_clear_of_chance() {
        let better = Planted { policy: "better", level: |_| 50.0, ..PRIVATE };
        let broken = Planted { policy: "broken", noise: Some(0.5), level: |_| 10.0, ..PRIVATE };
        // Neither the broken promise nor the policy without privacy is the best, though both lose less.
        assert_eq!(led(&[1.0], &[PRIVATE, better, broken, OPEN], 6), [Leader { cell: 1, clear: true }]);
        let twin = Planted { policy: "twin", ..PRIVATE };
        assert_eq!(led(&[1.0], &[twin, PRIVATE], 6), [Leader { cell: 0, clear: false }]);
        let better = Planted { policy: "better", level: |_| 50.0, ..PRIVATE };
        assert_eq!(led(&[1.0], &[PRIVATE, better], 1), [Leader { cell: 1, clear: false }]);
        // Nothing is private: the best of all is marked.
        let worse = Planted { policy: "worse", level: |_| 60.0, ..OPEN };
        assert_eq!(led(&[1.0], &[worse, OPEN], 6), [Leader { cell: 1, clear: true }]);
    }

    /// A weaker promise is no rival, and a cell alone with its promise leads nothing.
    #[test]
    fn rivals_make_the_same_promise() {
        let better = Planted { policy: "better", level: |_| 50.0, ..PRIVATE };
        let best = Planted { policy: "best", level: |_| 10.0, ..PRIVATE };
        let run = planted(&[1.0], &[PRIVATE, better, best, OPEN], 6);
        let leaders_where = |change: fn(&mut Ledger)| {
            let mut run = run.clone();
            change(&mut Arc::make_mut(&mut run.cells[2].info_mut().ledger).reward);
            leaders(&run).0
        };
        assert_eq!(leaders(&run).0, [Leader { cell: 2, clear: true }]);
        let changes: [fn(&mut Ledger); 5] = [
            |ledger| ledger.epsilon = Some(2.0),
            |ledger| ledger.delta = 1e-5,
            |ledger| ledger.threat_model.adversary = Adversary::OtherUsers,
            |ledger| ledger.threat_model.unit = Unit::Sample,
            |ledger| ledger.threat_model.participations.covered = 2,
        ];
        for (i, change) in changes.into_iter().enumerate() {
            assert_eq!(leaders_where(change), [Leader { cell: 1, clear: true }], "{i}");
        }
    }
}
