//! The decision among candidates, in f64: the same on every road.

use crate::error::Error;
use crate::score::{AxisFeatures, Candidates, ScoreModel, lowest_within_tie};

/// The candidate with the largest exact score, the lowest index among ties. `scratch` saves an allocation a round.
///
/// # Errors
/// If a score is not finite: the model has left the range of f64.
pub fn decide(
    candidates: &Candidates,
    model: &dyn ScoreModel,
    width: f64,
    scratch: &mut Vec<(u32, f64)>,
) -> Result<usize, Error> {
    // Alone, a candidate needs no score: no other point can tie with it.
    if let [only] = candidates.points[..] {
        return Ok(only as usize);
    }
    scratch.clear();
    scratch.extend(candidates.points.iter().map(|&point| (point, model.exact(point as usize).upper(width))));
    match lowest_within_tie(scratch) {
        Some(point) => Ok(point as usize),
        None => Err(no_number(width)),
    }
}

/// Over a product domain: for each axis the row with the largest exact score, the lowest index among ties. The mean of a play is
/// the sum of its rows' means and its spread at most the sum of their spreads, so the sum of the scores is an upper bound that
/// splits over the axes (Kandasamy2015, Add-GP-UCB).
///
/// # Errors
/// As [`decide`].
pub fn decide_by_axis(
    axes: &[AxisFeatures],
    model: &dyn ScoreModel,
    width: f64,
    scratch: &mut Vec<(u32, f64)>,
) -> Result<Vec<u32>, Error> {
    let mut rows = Vec::with_capacity(axes.len());
    for axis in axes {
        scratch.clear();
        let score = |row: usize| (row as u32, model.exact_within(row, axis.features.clone()).upper(width));
        scratch.extend(axis.rows.clone().map(score));
        rows.push(lowest_within_tie(scratch).ok_or_else(|| no_number(width))?);
    }
    Ok(rows)
}

fn no_number(width: f64) -> Error {
    Error::Failed {
        problem: format!("a score became NaN (width {width})"),
        hint: "the spec's scales leave the range of f64: check `ridge`, `width`, `clip` and the reward's unit".to_owned(),
    }
}
