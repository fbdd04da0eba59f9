//! The decision among candidates, in f64: the same on every road.

use crate::error::Error;
use crate::score::{Candidates, ScoreModel, lowest_within_tie};

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
        None => Err(Error::Failed {
            problem: format!("a score became NaN (width {width})"),
            hint: "the spec's scales leave the range of f64: check `ridge`, `width`, `clip` and the reward's unit".to_owned(),
        }),
    }
}
