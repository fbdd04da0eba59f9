//! The answer in words: a short paragraph made of recorded numbers and of nothing else.

use super::collect::{CellData, Run};
use super::compare::{SweepPoint, best, paired, reference};
use super::stats::Moments;
use super::text::plus_minus;

/// Sweep points of which the paragraph speaks: the first and the last; the table has the others.
const N_POINTS: usize = 2;
/// Policies of which it speaks at each.
const N_POLICIES: usize = 4;

/// The paragraph.
pub(super) fn answer(run: &Run, points: &[SweepPoint]) -> String {
    let mut chosen: Vec<&SweepPoint> = points.first().into_iter().chain(points.get(1..).and_then(<[_]>::last)).collect();
    chosen.truncate(N_POINTS);
    let mut sentences: Vec<String> = chosen.iter().flat_map(|point| at_point(run, point)).collect();
    if chosen.len() < points.len() {
        let n_others = points.len() - chosen.len();
        let points = if n_others == 1 { "sweep point" } else { "sweep points" };
        sentences.push(format!("The table has the other {n_others} {points}."));
    }
    if run.manifest.trials < 2 {
        sentences.push("One trial tells nothing about chance: no interval can be given.".to_owned());
    }
    sentences.extend(unprotected(run));
    sentences.join(" ")
}

fn at_point(run: &Run, point: &SweepPoint) -> Vec<String> {
    let mut sentences = Vec::new();
    let at = if point.label.is_empty() { String::new() } else { format!("At {}, ", point.label) };
    for &cell_idx in point.cells.iter().filter(|&&cell_idx| !run.cells[cell_idx].is_not_private()) {
        if let Some(other) = reference(run, point, cell_idx)
            && let Some(sentence) = against(&at, &run.cells[cell_idx], &run.cells[other], true)
        {
            sentences.push(sentence);
        }
    }
    if sentences.is_empty() {
        sentences = without_reference(run, point, &at);
    }
    if N_POLICIES < sentences.len() {
        sentences.truncate(N_POLICIES);
    }
    sentences
}

/// Where nothing is non-private: the policies against the best one, or the means alone.
fn without_reference(run: &Run, point: &SweepPoint, at: &str) -> Vec<String> {
    if let Some(winner) = best(run, point) {
        let others = point.cells.iter().filter(|&&other| other != winner);
        return others.filter_map(|&other| against(at, &run.cells[other], &run.cells[winner], false)).collect();
    }
    let means: Vec<String> = point
        .cells
        .iter()
        .take(N_POLICIES)
        .filter_map(|&cell_idx| {
            let cell = &run.cells[cell_idx];
            let moments = Moments::of(&cell.finals())?;
            Some(format!("{} lost {} in {} rounds", cell.info.policy, plus_minus(moments.mean, moments.half), cell.last_round))
        })
        .collect();
    if means.is_empty() {
        return Vec::new();
    }
    let verdict = if 1 < means.len() && 1 < run.manifest.trials { "; no policy is clearly the best" } else { "" };
    vec![format!("{at}{}{verdict}.", means.join(", "))]
}

/// One comparison, per thousand rounds.
fn against(at: &str, cell: &CellData, other: &CellData, other_is_open: bool) -> Option<String> {
    let per_1000 = 1000.0 / f64::from(cell.last_round.max(1));
    let gap = paired(cell, other)?;
    let half = gap.half.map(|half| half * per_1000);
    let name = if !other_is_open {
        other.info.policy.clone()
    } else if other.info.policy == cell.info.policy {
        "the same policy without privacy".to_owned()
    } else {
        format!("{}, which is not private", other.info.policy)
    };
    let policy = &cell.info.policy;
    if half.is_some() && !gap.excludes_zero() {
        let shown = plus_minus(gap.mean * per_1000, half);
        return Some(format!("{at}the regret of {policy} cannot be told from that of {name} (difference {shown} per 1000 rounds)."));
    }
    let word = if gap.mean < 0.0 { "less" } else { "more" };
    let shown = plus_minus(gap.mean.abs() * per_1000, half);
    Some(format!("{at}{policy} lost {shown} per 1000 rounds {word} than {name}."))
}

/// Private runs whose guarantee does not hold are named, whatever the numbers say.
fn unprotected(run: &Run) -> Option<String> {
    let mut policies: Vec<&str> = Vec::new();
    for cell in &run.cells {
        let policy = cell.info.policy.as_str();
        if cell.ledger_text("guarantee").starts_with("no guarantee") && !policies.contains(&policy) {
            policies.push(policy);
        }
    }
    let (last, others) = policies.split_last()?;
    let names = if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
    Some(format!("The privacy claimed for {names} does not hold as calibrated here: see the ledger."))
}

#[cfg(test)]
mod tests {
    use super::super::collect::tests::{OPEN, PRIVATE, Planted, plant};
    use super::super::compare::sweep_points;
    use super::*;

    fn said(epsilons: &[f64], policies: &[Planted], n_trials: u32) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), epsilons, policies, n_trials);
        let run = Run::read(folder.path()).expect("read");
        answer(&run, &sweep_points(&run))
    }

    #[test]
    fn the_price_of_privacy_is_said_per_thousand_rounds() {
        // 60/epsilon more than the non-private policy in 400 rounds, the same luck in both.
        assert_eq!(
            said(&[0.5, 1.0, 2.0], &[PRIVATE, OPEN], 6),
            "At privacy.epsilon = 0.5, tgp-ucb lost 300 ± 0 per 1000 rounds more than igp-ucb, which is not private. \
             At privacy.epsilon = 2, tgp-ucb lost 75 ± 0 per 1000 rounds more than igp-ucb, which is not private. \
             The table has the other 1 sweep point."
        );
    }

    #[test]
    fn ties_single_trials_and_broken_promises_are_said() {
        let twin = Planted { policy: "twin", guarantee: "holds", ..OPEN };
        assert!(said(&[1.0], &[twin, OPEN], 6).contains("cannot be told from that of igp-ucb"));
        let alone = Planted { guarantee: "no guarantee: the noise is too small", ..PRIVATE };
        assert_eq!(
            said(&[1.0], &[alone], 1),
            "tgp-ucb lost 105 in 400 rounds. One trial tells nothing about chance: no interval can be given. \
             The privacy claimed for tgp-ucb does not hold as calibrated here: see the ledger."
        );
    }
}
