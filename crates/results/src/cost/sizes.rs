//! Chooses the number of points of a question that does not state it: as many as 1000 users play in about half a minute.
//!
//! A model of rewards compares every point with every point that was played. Where the values of points are hardly correlated, nearly
//! every point is worth a visit, and a thousand of them take minutes.

use super::problem::CostProblem;
use super::{CostQuestion, Trust};
use crate::run::{RunOptions, run_in_memory};
use privateer_config::error::Error;
use privateer_engine::engine::{Stop, Trace};
use privateer_engine::env::DataFolder;
use privateer_engine::policy::USUAL_FACTORS;
use privateer_engine::registry::Registry;
use std::collections::BTreeSet;

/// Most points of a question that states no number.
pub(super) const MOST_POINTS: u64 = 1000;

/// Fewest points to which a question is cut.
const LEAST_POINTS: u64 = 100;

/// Most pairs of a played point with a point of the domain, or four times with another played one, in a round: on average over rounds,
/// exploration factors, and plays with and without privacy. A point that is rarely played again lacks many updates when it is.
///
/// On two cores the usual policies then answer in about half a minute: 1000 houses of King County have 2.8e5 (8 s), 1000
/// points of Branin's function 2.6e5 (25 s), 326 patients of whom nearly all have the same outcome 4.2e5 (52 s).
const MOST_PAIRS: f64 = 3e5;

/// Most users of the trials in which pairs are counted.
const MOST_ROUNDS: u64 = 1000;

/// Returns on how many points to play in place of those of the problem, if on fewer.
///
/// Trials of `gp-ucb` count pairs, at the largest privacy budget and without privacy, one at each usual exploration factor.
pub(super) fn fewer_points(
    registry: &Registry,
    question: &CostQuestion,
    problem: &CostProblem,
    (data, threads): (&DataFolder, Option<usize>),
    stop: &Stop,
) -> Result<Option<u64>, Error> {
    let n_points = problem.n_points as u64;
    if n_points <= LEAST_POINTS {
        return Ok(None);
    }
    let at = |factor: f64| {
        let ridge = &problem.ridge;
        format!("kind = \"gp-ucb\"\nlabel = \"{factor:?}\"\nbeta = {{ kind = \"order\", factor = {factor:?} }}\nridge = {ridge}")
    };
    let policies = USUAL_FACTORS.map(at);
    let options = RunOptions { data: data.clone(), threads, ..RunOptions::default() };
    let most = CostQuestion { epsilons: question.epsilons.last().copied().into_iter().collect(), ..question.middle() };
    let trusts: &[Trust] = if question.trust == Trust::None { &[Trust::None] } else { &[Trust::None, Trust::Local] };
    let (mut pairs, mut plays) = (0.0, 0.0);
    for &trust in trusts {
        let rounds = most.rounds.iter().map(|&rounds| MOST_ROUNDS.min(rounds)).collect();
        let counted = CostQuestion { trust, rounds, trials: [1, 1], ..most.clone() };
        let text = format!("references = false\nrecord = {{ rounds = \"all\" }}\n{}", counted.spec(problem, &policies));
        let sweep = registry.parse("spec.toml", &text, &[])?;
        let played = run_in_memory(&sweep, &options, stop, &()).map_err(|error| match error {
            Error::Incomplete { done, total, .. } => Error::Incomplete {
                done,
                total,
                reason: "the command was stopped while it chose a number of points, which is kept nowhere".to_owned(),
                hint: "the same command begins again".to_owned(),
            },
            other => other,
        })?;
        pairs += played.traces.iter().map(|trace| pairs_of_a_round(trace, problem.n_points)).sum::<f64>();
        plays += played.traces.len() as f64;
    }
    let pairs = pairs / plays;
    // Where every point is worth a visit, pairs rise with the square of the points.
    let fewer = (n_points as f64 * libm::sqrt(MOST_PAIRS / pairs)) as u64;
    Ok(Some(fewer.clamp(LEAST_POINTS, n_points - 1)).filter(|_| MOST_PAIRS < pairs))
}

/// Returns the mean number of pairs in a round.
///
/// Pairs are those of a point that was played before with a point of the domain, and four times those with another such one.
fn pairs_of_a_round(trace: &Trace, n_points: usize) -> f64 {
    let mut seen = BTreeSet::new();
    let of_round = |point: &Option<i64>| {
        let before = seen.len();
        seen.insert(*point);
        (before * (n_points + 4 * before)) as f64
    };
    trace.point.iter().map(of_round).sum::<f64>() / trace.len().max(1) as f64
}
