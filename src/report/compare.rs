//! Groups cells into sweep points, and compares policies on the same trials.

use super::collect::{CellData, ReportRun};
use super::stats::SampleMoments;
use privateer_config::params::Scalar;

/// Holds the difference of final cumulative regret, or of risk, trial by trial.
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
    for (cell_idx, cell) in run.cells.iter().enumerate() {
        let known = points.iter_mut().find(|point| {
            let first = &run.cells[point.cells[0]];
            first.info.swept == cell.info.swept && first.info.environment == cell.info.environment
        });
        match known {
            Some(point) => point.cells.push(cell_idx),
            None => points.push(ComparedPoint { label: label(cell, many_environments), cells: vec![cell_idx] }),
        }
    }
    points
}

fn label(cell: &CellData, many_environments: bool) -> String {
    let keys = cell.info.swept.iter().map(|(key, value)| format!("{key} = {value}"));
    let environment = many_environments.then(|| cell.info.environment.clone());
    environment.into_iter().chain(keys).collect::<Vec<_>>().join(", ")
}

/// Compares final cumulative regret: `cell` minus `reference`, over their common trials.
pub(super) fn paired(cell: &CellData, reference: &CellData) -> Option<Paired> {
    let mut others = reference.ends.iter().peekable();
    let mut differences = Vec::with_capacity(cell.ends.len());
    for end in &cell.ends {
        while others.next_if(|other| other.trial < end.trial).is_some() {}
        if let Some(other) = others.next_if(|other| other.trial == end.trial) {
            differences.push(end.main - other.main);
        }
    }
    SampleMoments::of(&differences)
}

/// Returns the policy with the least mean regret at a sweep point, if it is beyond chance.
///
/// Its paired intervals against all others must exclude zero. `None` where values are estimates from one log.
pub(super) fn best(run: &ReportRun, point: &ComparedPoint) -> Option<usize> {
    if run.words().estimates {
        return None;
    }
    let mean = |cell_idx: usize| SampleMoments::of(&run.cells[cell_idx].finals()).map(|moments| moments.mean);
    let least = point
        .cells
        .iter()
        .copied()
        .filter_map(|cell_idx| mean(cell_idx).map(|mean| (cell_idx, mean)))
        .min_by(|left, right| left.1.total_cmp(&right.1))?
        .0;
    let clear =
        |other: usize| paired(&run.cells[other], &run.cells[least]).is_some_and(|gap| 0.0 < gap.mean && gap.excludes_zero());
    let mut others = point.cells.iter().copied().filter(|&other| other != least).peekable();
    others.peek()?;
    others.all(clear).then_some(least)
}

/// Kinds of policies that do not learn from data.
const LEARN_NOTHING: [&str; 2] = ["uniform", "random-arm"];

/// Returns the cell without privacy with which a private cell is compared.
///
/// It has the same environment and the same swept keys apart from those of privacy. The first choice is the same policy under
/// its own label, then the same policy and parameters under another label, then the same kind of policy, then the policy of
/// least mean regret. Policies that play at random are excluded.
pub(super) fn reference(run: &ReportRun, point: &ComparedPoint, cell_idx: usize) -> Option<usize> {
    let cell = &run.cells[cell_idx];
    let outside = |cell: &CellData| -> Vec<(String, Scalar)> {
        cell.info.swept.iter().filter(|(key, _)| !key.split('.').any(|part| part == "privacy")).cloned().collect()
    };
    let fits = |other: &CellData| {
        other.is_not_private()
            && !LEARN_NOTHING.contains(&kind(other))
            && other.info.environment == cell.info.environment
            && outside(other) == outside(cell)
    };
    let parameters = |cell: &CellData| {
        let mut policy = cell.info.resolved["policy"].clone();
        if let Some(keys) = policy.as_object_mut() {
            keys.retain(|key, _| key != "label" && key != "privacy");
        }
        policy
    };
    let mean = |other: &usize| SampleMoments::of(&run.cells[*other].finals()).map_or(f64::INFINITY, |moments| moments.mean);
    let candidates: Vec<usize> = (0..run.cells.len()).filter(|&other| fits(&run.cells[other])).collect();
    let least = |among: &mut dyn Iterator<Item = &usize>| among.min_by(|left, right| mean(left).total_cmp(&mean(right))).copied();
    // Prefers a cell of the same sweep point.
    let here_first = |wanted: &dyn Fn(usize) -> bool| {
        let fitting = || candidates.iter().filter(|&&other| wanted(other));
        fitting().find(|other| point.cells.contains(other)).or_else(|| fitting().next())
    };
    candidates
        .iter()
        .find(|&&other| run.cells[other].info.policy == cell.info.policy)
        .or_else(|| {
            here_first(&|other| !parameters(&run.cells[other]).is_null() && parameters(&run.cells[other]) == parameters(cell))
        })
        .or_else(|| here_first(&|other| !kind(cell).is_empty() && kind(&run.cells[other]) == kind(cell)))
        .copied()
        .or_else(|| least(&mut candidates.iter().filter(|other| point.cells.contains(other))))
        .or_else(|| least(&mut candidates.iter()))
}

/// Returns the policy's registered name; empty if the manifest does not state it.
fn kind(cell: &CellData) -> &str {
    cell.info.resolved["policy"]["kind"].as_str().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, plant};
    use super::*;

    #[test]
    fn shared_luck_cancels() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[1.0, 2.0], &[PRIVATE, OPEN], 6);
        let run = ReportRun::read(folder.path()).expect("read");
        let points = sweep_points(&run);
        assert_eq!(points.iter().map(|p| p.label.as_str()).collect::<Vec<_>>(), ["privacy.epsilon = 1", "privacy.epsilon = 2"]);
        let gap = paired(&run.cells[0], &run.cells[1]).expect("paired");
        assert_eq!((gap.mean, gap.sd), (60.0, Some(0.0)));
        assert_eq!(best(&run, &points[0]), Some(1));
        assert_eq!(reference(&run, &points[1], 2), Some(3));
    }

    /// Uniform play is no baseline; the same policy under another label precedes a better one.
    #[test]
    fn the_price_is_counted_against_the_same_policy() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[1.0], &[PRIVATE, OPEN, OPEN, OPEN], 6);
        let mut run = ReportRun::read(folder.path()).expect("read");
        let policies = [("igp-ucb", 1.0), ("uniform", 1.0), ("gp-ucb", 1.0), ("igp-ucb", 1.0)];
        for (cell, (kind, ridge)) in run.cells.iter_mut().zip(policies) {
            let policy = format!("{kind} {}", cell.info.cell);
            cell.info.resolved = serde_json::json!({ "policy": { "kind": kind, "ridge": ridge, "label": policy } });
            cell.info.policy = policy;
        }
        let points = sweep_points(&run);
        assert_eq!(reference(&run, &points[0], 0), Some(3));
        run.cells[3].info.resolved = serde_json::json!({ "policy": { "kind": "igp-ucb", "ridge": 2.0 } });
        assert_eq!(reference(&run, &points[0], 0), Some(3));
        for kind in LEARN_NOTHING {
            run.cells[3].info.resolved = serde_json::json!({ "policy": { "kind": kind } });
            assert_eq!(reference(&run, &points[0], 0), Some(2));
        }
    }

    #[test]
    fn a_tie_has_no_best() {
        let folder = tempfile::tempdir().expect("a folder");
        let twin = Planted { policy: "twin", ..OPEN };
        plant(folder.path(), &[1.0], &[twin, OPEN], 6);
        let run = ReportRun::read(folder.path()).expect("read");
        let points = sweep_points(&run);
        assert_eq!((points.len(), points[0].label.as_str()), (1, ""));
        assert_eq!(best(&run, &points[0]), None);
    }

    #[test]
    fn one_trial_has_no_best() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[1.0], &[PRIVATE, OPEN], 1);
        let run = ReportRun::read(folder.path()).expect("read");
        assert_eq!(best(&run, &sweep_points(&run)[0]), None);
    }
}
