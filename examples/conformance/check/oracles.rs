//! Linear minimization over l_p balls.

use super::outcome::Outcome;
use super::read::{matrix, number};
use super::stored::norm;
use privateer::oco::set::{ConstraintSet, LpBall};
use privateer_numerics::linalg::dot;
use serde_json::Value;

struct Found {
    v: Vec<f64>,
    values: Vec<f64>,
    duals: Vec<f64>,
}

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::stated(file);
    for (at, case) in file["cases"].as_array().into_iter().flatten().enumerate() {
        let found = minimised(file, case);
        let of = |part: fn(&Found) -> &Vec<f64>| found.as_ref().map(|found| part(found).clone()).map_err(Clone::clone);
        outcome.compare(&format!("cases {at} v"), of(|found| &found.v), &case["v"]);
        // Entry by entry: their scales differ.
        for (name, part) in [("value", of(|found| &found.values)), ("dual_norm_times_minus_r", of(|found| &found.duals))] {
            let stored = case[name].as_array().map_or(0, Vec::len);
            match part {
                Ok(part) if part.len() == stored => {
                    for (i, value) in part.into_iter().enumerate() {
                        outcome.compare(&format!("cases {at} {name} {i}"), Ok(vec![value]), &case[name][i]);
                    }
                }
                Ok(part) => {
                    outcome.failures.push(format!("cases {at} {name}: {} numbers computed, {stored} in the file", part.len()));
                }
                Err(problem) => outcome.failures.push(format!("cases {at} {name}: {problem}")),
            }
        }
    }
    outcome.note_rest(file, &["g", "cases"]);
    outcome
}

fn minimised(file: &Value, case: &Value) -> Result<Found, String> {
    let (d, g) = matrix(file, "g")?;
    let (norm, radius) = (norm(case, "p")?, number(case, "radius")?);
    let ball = LpBall::new(norm, radius, d);
    let mut found = Found { v: Vec::new(), values: Vec::new(), duals: Vec::new() };
    for g in g.chunks_exact(d) {
        let mut v = vec![0.0; d];
        ball.minimise(g, &mut v);
        found.values.push(dot(g, &v));
        found.duals.push(-radius * norm.dual().size(g));
        found.v.extend(v);
    }
    Ok(found)
}
