//! Writes the answer in words: a short paragraph computed from recorded numbers alone.

use super::collect::{CellData, ReportRun};
use super::compare::{ComparedPoint, best, paired, reference};
use super::stats::{SampleMoments, known};
use super::text::{plus_minus, short, short_key};
use super::words::ReportWords;

/// Number of sweep points in the paragraph: the first and the last; the table has the others.
const N_POINTS: usize = 2;
/// Largest number of policies that the paragraph names at each sweep point.
const N_POLICIES: usize = 4;

/// Returns the paragraph.
pub(super) fn answer(run: &ReportRun, points: &[ComparedPoint]) -> String {
    let mut chosen: Vec<&ComparedPoint> = points.first().into_iter().chain(points.get(1..).and_then(<[_]>::last)).collect();
    chosen.truncate(N_POINTS);
    let mut sentences: Vec<String> = chosen.iter().flat_map(|point| at_point(run, point)).collect();
    if chosen.len() < points.len() {
        let n_others = points.len() - chosen.len();
        sentences.push(match n_others {
            1 => "The table has the other sweep point.".to_owned(),
            many => format!("The table has the other {many} sweep points."),
        });
    }
    if run.manifest.trials < 2 {
        sentences.push("One trial tells nothing about chance: no interval can be given.".to_owned());
    }
    sentences.extend(unprotected(run));
    sentences.join(" ")
}

/// Returns one sentence per reference policy: which policies lost how much more than it.
fn at_point(run: &ReportRun, point: &ComparedPoint) -> Vec<String> {
    let at = place(run, point);
    if run.words().estimates {
        return estimates(run, point, &at).into_iter().collect();
    }
    let is_private = |cell_idx: &&usize| !run.cells[**cell_idx].is_not_private();
    let mut pairs: Vec<(usize, usize)> = point
        .cells
        .iter()
        .filter(is_private)
        .filter_map(|&cell_idx| reference(run, point, cell_idx).map(|other| (other, cell_idx)))
        .collect();
    let against_open = !pairs.is_empty();
    if let (false, Some(winner)) = (against_open, best(run, point)) {
        pairs = point.cells.iter().filter(|&&other| other != winner).map(|&other| (winner, other)).collect();
    }
    pairs.truncate(N_POLICIES);
    if pairs.is_empty() {
        return means(run, point, &at).into_iter().collect();
    }
    let mut sentences: Vec<String> = Vec::new();
    for group in pairs.chunk_by(|left, right| name(run, *left) == name(run, *right)) {
        let other = name(run, group[0]);
        let than = if against_open { format!("{other}, which is not private") } else { other.to_owned() };
        let than = if other.is_empty() { format!("the same {} without privacy", run.words().who) } else { than };
        let clauses: Vec<String> =
            group.iter().filter_map(|&(other, cell)| clause(run.words(), &run.cells[cell], &run.cells[other])).collect();
        if !clauses.is_empty() {
            let compared = if at.is_empty() { "Compared" } else { "compared" };
            sentences.push(format!("{at}{compared} with {than}, {}.", clauses.join("; ")));
        }
    }
    sentences
}

/// Returns "At epsilon = 0.5, dimension = 1, "; empty if nothing is swept.
fn place(run: &ReportRun, point: &ComparedPoint) -> String {
    let keys = run.swept_keys();
    let swept = run.cells[point.cells[0]].info.swept.iter();
    let short: Vec<String> = swept.map(|(key, value)| format!("{} = {value}", short_key(key, &keys))).collect();
    match (short.is_empty(), point.label.is_empty()) {
        (false, _) => format!("At {}, ", short.join(", ")),
        (true, false) => format!("On {}, ", point.label),
        (true, true) => String::new(),
    }
}

/// Returns the name of a pair's reference policy; empty if both are the same policy.
fn name(run: &ReportRun, (other, cell): (usize, usize)) -> &str {
    let (other, cell) = (&run.cells[other].info.policy, &run.cells[cell].info.policy);
    if other == cell { "" } else { other }
}

/// Returns the means alone, if nothing can be compared or no difference is beyond chance.
fn means(run: &ReportRun, point: &ComparedPoint, at: &str) -> Option<String> {
    let said = |&cell_idx: &usize| {
        let cell = &run.cells[cell_idx];
        let moments = SampleMoments::of(&cell.finals())?;
        let regret = plus_minus(moments.mean, moments.half);
        Some(if run.words().adds_up {
            format!("{} lost {regret} in {} rounds", cell.info.policy, cell.last_round)
        } else {
            format!("{} has risk {regret} after {} samples", cell.info.policy, cell.last_round)
        })
    };
    let means: Vec<String> = point.cells.iter().take(N_POLICIES).filter_map(said).collect();
    let no_best = format!("; no {} is clearly the best", run.words().who);
    let verdict = if 1 < means.len() && 1 < run.manifest.trials { &no_best } else { "" };
    (!means.is_empty()).then(|| format!("{at}{}{verdict}.", means.join(", ")))
}

/// Returns the estimates from a log with the standard errors that the log's chance causes.
fn estimates(run: &ReportRun, point: &ComparedPoint, at: &str) -> Option<String> {
    let said = |&cell_idx: &usize| {
        let cell = &run.cells[cell_idx];
        let (name, values) = (&cell.info.policy, cell.finals());
        let errors: Vec<f64> = known(&cell.ends.iter().map(|end| end.second).collect::<Vec<_>>());
        let (Some(value), Some(error)) = (SampleMoments::of(&values), SampleMoments::of(&errors)) else {
            return Some(format!("{name} has no estimate: no row matched its choices"));
        };
        let (n, unmatched) = (cell.ends.len(), cell.ends.len() - values.len());
        let without =
            if unmatched == 0 { String::new() } else { format!(", without {unmatched} of {n} trials, which no row matched") };
        Some(format!("{name} is estimated to be worth {} (standard error {}{without})", short(value.mean), short(error.mean)))
    };
    let said: Vec<String> = point.cells.iter().take(N_POLICIES).filter_map(said).collect();
    (!said.is_empty()).then(|| format!("{at}{} a round.", said.join(", ")))
}

/// Returns one comparison: regret per thousand rounds, or risk.
fn clause(words: &ReportWords, cell: &CellData, other: &CellData) -> Option<String> {
    let gap = paired(cell, other)?;
    let (factor, unit) =
        if words.adds_up { (1000.0 / f64::from(cell.last_round.max(1)), " per 1000 rounds") } else { (1.0, " in risk") };
    let half = gap.half.map(|half| half * factor);
    let policy = &cell.info.policy;
    if half.is_some() && !gap.excludes_zero() {
        let shown = plus_minus(gap.mean * factor, half).replace('-', "−");
        return Some(format!("{policy} shows no difference beyond chance ({shown}{unit})"));
    }
    let word = if gap.mean < 0.0 { "less" } else { "more" };
    let shown = plus_minus(gap.mean.abs() * factor, half);
    Some(if words.adds_up {
        format!("{policy} lost {shown} {word} per 1000 rounds")
    } else {
        format!("{policy} has {shown} {word} risk after {} samples", cell.last_round)
    })
}

/// Names the private runs without a guarantee, and where it fails if it holds elsewhere.
fn unprotected(run: &ReportRun) -> Option<String> {
    let mut named: Vec<(&str, Vec<&str>, bool)> = Vec::new();
    for cell in &run.cells {
        let (policy, guarantee) = (cell.info.policy.as_str(), cell.ledger_text("guarantee"));
        let at = match named.iter().position(|(known, ..)| *known == policy) {
            Some(at) => at,
            None => {
                named.push((policy, Vec::new(), false));
                named.len() - 1
            }
        };
        if cell.has_no_guarantee() {
            let label = cell.info.label.as_str();
            named[at].1.push(label.strip_prefix(policy).map_or(label, |rest| rest.trim_start_matches(" · ")));
        } else {
            named[at].2 |= guarantee == "holds";
        }
    }
    let shown: Vec<String> = named
        .iter()
        .filter(|(_, failing, _)| !failing.is_empty())
        .map(|(policy, failing, elsewhere)| match (failing.as_slice(), elsewhere) {
            ([only], true) => format!("{policy} (at {only} alone)"),
            (many, true) => format!("{policy} (in {} of its cells, the first at {})", many.len(), many[0]),
            (_, false) => (*policy).to_owned(),
        })
        .collect();
    let (last, others) = shown.split_last()?;
    let names = if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
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
        let run = ReportRun::read(folder.path()).expect("read");
        answer(&run, &sweep_points(&run))
    }

    #[test]
    fn the_price_of_privacy_is_said_per_thousand_rounds() {
        // The private policy loses 60/epsilon more than the non-private one in 400 rounds, with equal random parts.
        assert_eq!(
            said(&[0.5, 1.0, 2.0], &[PRIVATE, OPEN], 6),
            "At epsilon = 0.5, compared with igp-ucb, which is not private, tgp-ucb lost 300 ± 0 more per 1000 rounds. \
             At epsilon = 2, compared with igp-ucb, which is not private, tgp-ucb lost 75 ± 0 more per 1000 rounds. \
             The table has the other sweep point."
        );
    }

    #[test]
    fn ties_single_trials_and_broken_promises_are_said() {
        let twin = Planted { policy: "twin", guarantee: "holds", ..OPEN };
        assert!(said(&[1.0], &[twin, OPEN], 6).contains("twin shows no difference beyond chance (0 ± 0 per 1000 rounds)"));
        let alone = Planted { guarantee: "no guarantee: the noise is too small (E1)", ..PRIVATE };
        assert_eq!(
            said(&[1.0], &[alone], 1),
            "tgp-ucb lost 105 in 400 rounds. One trial tells nothing about chance: no interval can be given. \
             The privacy claimed for tgp-ucb does not hold as calibrated here: see the ledger."
        );
    }
}
