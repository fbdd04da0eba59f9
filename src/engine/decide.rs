//! Decides among the candidates in f64, identically for every backend.

use crate::policy::Proposal;
use privateer_config::error::Error;
use privateer_gp::score::{AxisFeatures, Candidates, MomentTable, Moments, ScoreModel, TIE_TOLERANCE, lowest_within_tie};
use privateer_numerics::vectorised;

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
    match lowest_within_tie(scratch) {
        Some(point) => Ok(point as usize),
        None => Err(not_a_number(beta)),
    }
}

/// Compares a choice with the best of `points`, all scored in f64.
///
/// Returns whether it is the best, and whether others lie within the tie tolerance of the largest score.
pub fn verified(choice: usize, points: impl Iterator<Item = u32>, model: &dyn ScoreModel, beta: f64) -> (bool, bool) {
    let scores: Vec<(u32, f64)> = points.map(|point| (point, model.exact(point as usize).upper(beta))).collect();
    let best = scores.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
    let floor = best - TIE_TOLERANCE * (1.0 + best.abs());
    let tied = 1 < scores.iter().filter(|(_, score)| floor <= *score).count();
    (lowest_within_tie(&scores) == Some(choice as u32), tied)
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
/// # Errors
/// As [`decide`].
pub fn settled(
    proposal: Proposal,
    model: Option<&dyn ScoreModel>,
    set: Option<&[u32]>,
    scores: &mut Vec<f64>,
) -> Result<Proposal, Error> {
    let (Proposal::Score { beta }, Some(table)) = (proposal, model.and_then(ScoreModel::table)) else { return Ok(proposal) };
    let point = match set {
        None => best_of(table, beta, scores)?,
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

/// Returns the point with the largest score, the lowest index among ties.
fn best_of(table: MomentTable<'_>, beta: f64, scores: &mut Vec<f64>) -> Result<usize, Error> {
    scores.resize(table.means.len(), 0.0);
    let best = pulp::Arch::new().dispatch(TableScores { table, beta, scores });
    let floor = best - TIE_TOLERANCE * (1.0 + best.abs());
    // A NaN score makes the floor NaN too, so that no point is found.
    scores.iter().position(|&score| floor <= score).ok_or_else(|| not_a_number(beta))
}

/// Number of SIMD lanes of the running maximum.
const LANES: usize = 16;

/// Writes every score and returns the largest, or NaN if a score is NaN.
struct TableScores<'a> {
    table: MomentTable<'a>,
    beta: f64,
    scores: &'a mut [f64],
}

vectorised! {
    fn call(self: TableScores<'_>) -> f64 {
        let Self { table: MomentTable { means, variances }, beta, scores } = self;
        for ((score, mean), variance) in scores.iter_mut().zip(means).zip(variances) {
            *score = mean + beta * variance.sqrt();
        }
        let mut lanes = [f64::NEG_INFINITY; LANES];
        let (blocks, rest) = scores.as_chunks::<LANES>();
        for block in blocks {
            for lane in 0..LANES {
                lanes[lane] = if lanes[lane] < block[lane] { block[lane] } else { lanes[lane] };
            }
        }
        for (lane, &score) in rest.iter().enumerate() {
            lanes[lane] = if lanes[lane] < score { score } else { lanes[lane] };
        }
        let best = lanes.into_iter().fold(f64::NEG_INFINITY, |best, score| if best < score { score } else { best });
        let sound = scores.iter().fold(true, |sound, score| sound & !score.is_nan());
        if sound { best } else { f64::NAN }
    }
}

/// Returns, for each axis of a product domain, the row with the largest exact score.
///
/// Ties go to the lowest index. The mean of a play is the sum of its rows' means, and its posterior standard deviation is at
/// most the sum of theirs. So the sum of the scores is an upper bound that splits over the axes (Kandasamy2015, Add-GP-UCB).
///
/// # Errors
/// As [`decide`].
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_decided_like_its_points() {
        let variances = [0.5, 0.25, 0.25, 0.0];
        for means in [[0.0, 1.0, 1.0 + 1e-12, -3.0], [7.0; 4], [f64::NEG_INFINITY, 0.0, 0.0, 0.0], [-5.0, -6.0, -7.0, -4.0]] {
            let exact = |point: usize| Moments { mean: means[point], variance: variances[point] }.upper(2.0);
            let scored: Vec<(usize, f64)> = (0..4).map(|point| (point, exact(point))).collect();
            let table = MomentTable { means: &means, variances: &variances };
            assert_eq!(best_of(table, 2.0, &mut Vec::new()).ok(), lowest_within_tie(&scored));
        }
        // Tests every position, in full blocks of lanes and in the remainder.
        for n in 1..40 {
            for at in 0..n {
                let mut means = vec![-1.0_f64; n];
                (means[at], means[n - 1]) = (3.0, means[n - 1].max(if at + 1 == n { 3.0 } else { -1.0 }));
                let variances = vec![0.25; n];
                assert_eq!(best_of(MomentTable { means: &means, variances: &variances }, 1.0, &mut Vec::new()).ok(), Some(at));
                means[at] = f64::NAN;
                assert!(best_of(MomentTable { means: &means, variances: &variances }, 1.0, &mut Vec::new()).is_err());
            }
        }
        let broken = MomentTable { means: &[0.0, f64::NAN], variances: &[1.0, 1.0] };
        assert!(best_of(broken, 2.0, &mut Vec::new()).is_err());
        assert!(best_of(MomentTable { means: &[], variances: &[] }, 2.0, &mut Vec::new()).is_err());
    }
}
