//! Decides among the candidates in f64, identically for every backend.

use crate::policy::Proposal;
use privateer_config::error::Error;
use privateer_gp::score::{AxisFeatures, Candidates, Moments, ScoreModel, best_of_table, lowest_within_tie};

/// The candidate with the largest exact score, the lowest index among ties. `scratch` saves an allocation a round.
///
/// # Errors
/// If a score is not finite: the model has left the range of f64.
pub fn decide(candidates: &Candidates, model: &dyn ScoreModel, beta: f64, scratch: &mut Vec<(u32, f64)>) -> Result<usize, Error> {
    // A single candidate needs no score, because no other point can tie with it.
    if let [only] = candidates.points[..] {
        return Ok(only as usize);
    }
    scratch.clear();
    scratch.extend(candidates.points.iter().map(|&point| (point, model.exact(point as usize).upper(beta))));
    lowest_within_tie(scratch).map(|point| point as usize).ok_or_else(|| not_a_number(beta))
}

fn not_a_number(beta: f64) -> Error {
    Error::Failed {
        problem: format!("a score became NaN (beta {beta})"),
        hint: "the spec's scales leave the range of f64: check `ridge`, `beta`, `clip` and the reward's unit".to_owned(),
    }
}

/// Resolves a scoring proposal directly if the model stores the moments of every point.
///
/// The result equals that of [`decide`] among all points, or among those of the decision set, without a screen. Other proposals
/// are returned unchanged.
///
/// * `near` — a point whose score is likely to be high, for example the last one played; any point gives the same result
/// * `scratch` — memory that is used again
pub fn settled(
    proposal: Proposal,
    model: Option<&dyn ScoreModel>,
    set: Option<&[u32]>,
    near: usize,
    scratch: &mut Vec<f64>,
) -> Result<Proposal, Error> {
    let (Proposal::Score { beta }, Some(table)) = (proposal, model.and_then(ScoreModel::table)) else { return Ok(proposal) };
    let point = match set {
        None => best_of_table(table, beta, near, scratch).ok_or_else(|| not_a_number(beta))?,
        Some(set) => {
            let upper = |&point: &u32| {
                let (mean, variance) = (table.means[point as usize], table.variances[point as usize]);
                (point, Moments { mean, variance }.upper(beta))
            };
            let scored: Vec<(u32, f64)> = set.iter().map(upper).collect();
            lowest_within_tie(&scored).ok_or_else(|| not_a_number(beta))? as usize
        }
    };
    Ok(Proposal::Play(point))
}

/// Returns, for each axis of a product domain, the row with the largest exact score.
///
/// Ties go to the lowest index. The mean of a play is the sum of its rows' means, and its posterior standard deviation is at
/// most the sum of theirs. So the sum of the scores is an upper bound that splits over the axes (Kandasamy2015, Add-GP-UCB).
pub fn decide_by_axis(
    axes: &[AxisFeatures],
    model: &dyn ScoreModel,
    beta: f64,
    scratch: &mut Vec<(u32, f64)>,
) -> Result<Vec<u32>, Error> {
    let mut rows = Vec::with_capacity(axes.len());
    for axis in axes {
        scratch.clear();
        let moments = model.exact_within_each(axis);
        scratch.extend(axis.rows.clone().zip(moments).map(|(row, moments)| (row as u32, moments.upper(beta))));
        rows.push(lowest_within_tie(scratch).ok_or_else(|| not_a_number(beta))?);
    }
    Ok(rows)
}
