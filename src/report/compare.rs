//! Groups cells into sweep points, and compares policies on the same trials.

use super::cell_data::{CellData, problem_of};
use super::collect::ReportRun;
use super::share::Share;
use super::stats::{Ratio, SampleMoments, holm};
use super::text::swept_text;
use crate::record::{Quantity, Role};

/// Holds a difference of two cells, trial by trial.
pub type Paired = SampleMoments;

/// Groups the cells that differ only in the policy.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedPoint {
    /// Label like `privacy.epsilon = 0.5, environment.domain.dimension = 2`; empty without a sweep.
    pub label: String,
    /// Indices of the cells, in canonical order.
    pub cells: Vec<usize>,
}

/// Returns the sweep points, in canonical order.
pub(super) fn sweep_points(run: &ReportRun) -> Vec<ComparedPoint> {
    let many_environments = run.cells.iter().any(|cell| cell.info.environment != run.cells[0].info.environment);
    let mut points: Vec<ComparedPoint> = Vec::new();
    for ((cell_idx, cell), &point) in run.cells.iter().enumerate().zip(&run.index.point_of) {
        match points.get_mut(point) {
            Some(point) => point.cells.push(cell_idx),
            None => points.push(ComparedPoint { label: label(cell, many_environments), cells: vec![cell_idx] }),
        }
    }
    points
}

fn label(cell: &CellData, many_environments: bool) -> String {
    let keys = cell.info.swept.iter().map(|(key, value)| format!("{key} = {}", swept_text(value)));
    let environment = many_environments.then(|| cell.info.environment.clone());
    environment.into_iter().chain(keys).collect::<Vec<_>>().join(", ")
}

/// Compares a quantity at the last round: `cell` minus `reference`, over their common trials.
pub(super) fn paired(cell: &CellData, reference: &CellData, quantity: Quantity) -> Option<Paired> {
    let differences: Vec<f64> = cell.pairs(reference, quantity).into_iter().map(|(here, there)| here - there).collect();
    SampleMoments::of(&differences)
}

/// Holds what privacy costs in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrivacyCost {
    /// Index of the cell without privacy.
    pub reference: usize,
    /// The quantity at the last round minus that of the reference.
    pub excess: Option<Paired>,
    /// The quantity at the last round over that of the reference.
    pub ratio: Option<Ratio>,
    /// How much of what can be learnt privacy leaves; `None` if nobody guesses.
    pub share: Option<Share>,
}

/// Returns the cost of privacy of a private cell, with intervals of this level for ratio and share.
pub(super) fn cost(run: &ReportRun, points: &[ComparedPoint], cell_idx: usize, level: f64) -> Option<PrivacyCost> {
    let cell = &run.cells[cell_idx];
    if cell.is_not_private() || run.words.estimates {
        return None;
    }
    let reference = reference(run, &points[run.index.point_of[cell_idx]], cell_idx)?;
    let pairs = cell.pairs(&run.cells[reference], run.words.measure);
    let excess = paired(cell, &run.cells[reference], run.words.measure);
    let share = Share::of(run, cell, &run.cells[reference], run.words.measure, level);
    Some(PrivacyCost { reference, excess, ratio: Ratio::of(&pairs, level), share })
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
pub(super) fn leaders(run: &ReportRun, points: &[ComparedPoint]) -> (Vec<Leader>, usize) {
    let found: Vec<(usize, Vec<usize>)> = points.iter().flat_map(|point| rivals(run, point)).collect();
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
fn rivals(run: &ReportRun, point: &ComparedPoint) -> Vec<(usize, Vec<usize>)> {
    if run.words.estimates {
        return Vec::new();
    }
    let mut by_promise: Vec<(String, Vec<usize>)> = Vec::new();
    // A cell alone has no rival, whatever it promises.
    for cell in Some(candidates(run, &point.cells)).filter(|cells| 1 < cells.len()).unwrap_or_default() {
        let promise = run.cells[cell].promise();
        match by_promise.iter_mut().find(|(known, _)| *known == promise) {
            Some((_, cells)) => cells.push(cell),
            None => by_promise.push((promise, vec![cell])),
        }
    }
    let best = |(_, mut cells): (String, Vec<usize>)| {
        let best = best_of(run, &cells)?;
        cells.retain(|&cell| cell != best);
        (!cells.is_empty()).then_some((best, cells))
    };
    by_promise.into_iter().filter_map(best).collect()
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
    let mean = |&cell: &usize| SampleMoments::of(&run.cells[cell].finals(run.words.measure)).map(|m| (cell, sign * m.mean));
    cells.iter().filter_map(mean).min_by(|left, right| left.1.total_cmp(&right.1)).map(|(cell, _)| cell)
}

/// Returns the cell without privacy with which a private cell is compared.
///
/// It has the same environment and the same swept keys apart from those of privacy. The first choice is the one that was added
/// for this policy, then the same policy under its own label, then the same policy and parameters under another label, then the same kind of policy, then the policy with
/// the best mean. Policies that play at random are excluded.
pub(super) fn reference(run: &ReportRun, point: &ComparedPoint, cell_idx: usize) -> Option<usize> {
    let cell = &run.cells[cell_idx];
    let parameters = |cell: &CellData| {
        let mut policy = cell.info.resolved["policy"].clone();
        if let Some(keys) = policy.as_object_mut() {
            keys.retain(|key, _| key != "label" && key != "privacy" && key != "curator");
        }
        policy
    };
    let candidates = run.index.open.get(&problem_of(cell))?;
    let here: Vec<usize> = candidates.iter().copied().filter(|other| point.cells.contains(other)).collect();
    // Prefers a cell of the same sweep point.
    let here_first = |wanted: &dyn Fn(usize) -> bool| {
        let fitting = || candidates.iter().filter(|&&other| wanted(other));
        fitting().find(|other| point.cells.contains(other)).or_else(|| fitting().next())
    };
    let role = Role::WithoutPrivacy(cell.info.policy.clone());
    candidates
        .iter()
        .find(|&&other| run.cells[other].info.role == role)
        .or_else(|| candidates.iter().find(|&&other| run.cells[other].info.policy == cell.info.policy))
        .or_else(|| {
            here_first(&|other| !parameters(&run.cells[other]).is_null() && parameters(&run.cells[other]) == parameters(cell))
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
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, plant};
    use super::*;
    use privateer_privacy::{Adversary, Ledger, Unit};
    use std::sync::Arc;

    #[test]
    fn shared_luck_cancels() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[1.0, 2.0], &[PRIVATE, OPEN], 6);
        let run = ReportRun::read(folder.path(), None).expect("read");
        let points = sweep_points(&run);
        assert_eq!(points.iter().map(|p| p.label.as_str()).collect::<Vec<_>>(), ["privacy.epsilon = 1", "privacy.epsilon = 2"]);
        let gap = paired(&run.cells[0], &run.cells[1], Quantity::CumulativeRegret).expect("paired");
        assert_eq!((gap.mean, gap.sd), (60.0, Some(0.0)));
        // Only one policy is private: there is nothing to choose from.
        assert_eq!(leaders(&run, &points), (vec![], 0));
        let cost = cost(&run, &points, 0, 0.95).expect("a reference");
        assert_eq!((cost.reference, cost.ratio.expect("positive").value), (1, 2.5));
        assert_eq!(reference(&run, &points[1], 2), Some(3));
    }

    /// Uniform play is no baseline; the same policy under another label precedes a better one.
    #[test]
    fn the_price_is_counted_against_the_same_policy() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[1.0], &[PRIVATE, OPEN, OPEN, OPEN], 6);
        let mut run = ReportRun::read(folder.path(), None).expect("read");
        let policies = [("igp-ucb", 1.0), ("uniform", 1.0), ("gp-ucb", 1.0), ("igp-ucb", 1.0)];
        for (cell, (kind, ridge)) in run.cells.iter_mut().zip(policies) {
            let policy = format!("{kind} {}", cell.info.cell);
            cell.info.resolved = serde_json::json!({ "policy": { "kind": kind, "ridge": ridge, "label": policy } }).into();
            cell.info.policy = policy;
        }
        run.index = CellIndex::of(&run.cells);
        let points = sweep_points(&run);
        assert_eq!(reference(&run, &points[0], 0), Some(3));
        run.cells[3].info.resolved = serde_json::json!({ "policy": { "kind": "igp-ucb", "ridge": 2.0 } }).into();
        assert_eq!(reference(&run, &points[0], 0), Some(3));
        for kind in ["uniform", "random-arm"] {
            run.cells[3].info.resolved = serde_json::json!({ "policy": { "kind": kind } }).into();
            run.index = CellIndex::of(&run.cells);
            assert_eq!(reference(&run, &points[0], 0), Some(2));
        }
    }

    fn led(epsilons: &[f64], policies: &[Planted], n_trials: u32) -> Vec<Leader> {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), epsilons, policies, n_trials);
        let run = ReportRun::read(folder.path(), None).expect("read");
        leaders(&run, &sweep_points(&run)).0
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
        let folder = tempfile::tempdir().expect("a folder");
        let better = Planted { policy: "better", level: |_| 50.0, ..PRIVATE };
        let best = Planted { policy: "best", level: |_| 10.0, ..PRIVATE };
        plant(folder.path(), &[1.0], &[PRIVATE, better, best, OPEN], 6);
        let run = ReportRun::read(folder.path(), None).expect("read");
        let leaders_where = |change: fn(&mut Ledger)| {
            let mut run = run.clone();
            change(&mut Arc::make_mut(&mut run.cells[2].info.ledger).reward);
            leaders(&run, &sweep_points(&run)).0
        };
        assert_eq!(leaders(&run, &sweep_points(&run)).0, [Leader { cell: 2, clear: true }]);
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
