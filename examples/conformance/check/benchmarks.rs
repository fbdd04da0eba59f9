//! Test functions of global optimization.

use super::outcome::Outcome;
use super::read::points;
use privateer::env::test_function::{Form, TestFunction, camelback, michalewicz, styblinski_tang};
use serde_json::Value;

/// Section, function, fields with the share of the function's box that they are on.
type Case<'a> = (&'a str, &'a TestFunction, &'a [(&'a str, f64)]);

pub fn recognise(file: &Value) -> bool {
    ["camel", "stybtang20", "michalewicz10"].iter().all(|key| file.get(key).is_some())
}

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    let functions: [Case<'_>; 3] = [
        ("camel", &camelback::CAMELBACK, &[("f", 1.0)]),
        // On [-4, 4] and on [-5, 5].
        ("stybtang20", &styblinski_tang::STYBLINSKI_TANG, &[("f", 0.8), ("f_w5", 1.0)]),
        ("michalewicz10", &michalewicz::MICHALEWICZ, &[("f", 1.0)]),
    ];
    for (name, function, fields) in functions {
        let section = &file[name];
        for (field, share) in fields {
            outcome.compare(&format!("{name} {field}"), values(section, &function.textbook, *share), &section[field]);
        }
        let dimension = section["X"][0].as_array().map_or(0, Vec::len);
        let maximum = if dimension == 0 { f64::NAN } else { function.textbook.best(dimension).1 };
        outcome.compare(&format!("{name} max"), Ok(vec![maximum]), &section["max"]);
    }
    outcome.note_rest(file, &["camel", "stybtang20", "michalewicz10"]);
    outcome
}

/// Values at points of the unit cube, moved onto the middle `share` of the function's box.
fn values(section: &Value, form: &Form, share: f64) -> Result<Vec<f64>, String> {
    let points = points(section, "X")?;
    let moved = |(axis, x): (usize, &f64)| {
        let (lo, hi) = (form.domain)(axis);
        let (middle, half) = (0.5 * (lo + hi), 0.5 * share * (hi - lo));
        middle + half * (2.0 * x - 1.0)
    };
    let value = |point: usize| form.value(&points.point(point).iter().enumerate().map(moved).collect::<Vec<f64>>());
    Ok((0..points.n_points()).map(value).collect())
}
