//! Test functions of global optimization, and Branin as an outsourced problem: a grid of its inputs, scaled to a largest norm.

use super::curator::with_tolerance;
use super::outcome::Outcome;
use super::read::points;
use privateer::env::test_function::{Form, TestFunction, branin, camelback, michalewicz, styblinski_tang};
use privateer_privacy::curator::Inputs;
use privateer_privacy::curator::projection::{centred, singular_values};
use serde_json::Value;
use std::sync::Arc;

/// Section, function, fields with the share of the function's box that they are on.
type Case<'a> = (&'a str, &'a TestFunction, &'a [(&'a str, f64)]);

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

/// Points on a side of the grid that the paper takes.
const SIDE: usize = 20;

pub fn check_branin(file: &Value) -> Outcome {
    let known = ["X", "minus_f", "max_minus_f_on_20x20", "sigma_min_normalized_25"];
    with_tolerance(file, &known, |outcome| {
        let form = &branin::BRANIN.textbook;
        let found = points(file, "X").map(|points| (0..points.n_points()).map(|point| form.value(points.point(point))).collect());
        outcome.compare("minus_f", found, &file["minus_f"]);
        // Both ends of the box are on the grid.
        let along = |axis: usize, i: usize| {
            let (lo, hi) = (form.domain)(axis);
            lo + (hi - lo) * i as f64 / (SIDE - 1) as f64
        };
        let grid: Vec<f64> = (0..SIDE * SIDE).flat_map(|at| [along(0, at / SIDE), along(1, at % SIDE)]).collect();
        let best = grid.chunks_exact(2).map(|point| form.value(point)).fold(f64::NEG_INFINITY, f64::max);
        outcome.compare("max_minus_f_on_20x20", Ok(vec![best]), &file["max_minus_f_on_20x20"]);
        let mut rows = centred(&Inputs::new(2, Arc::new(grid)));
        let largest = rows.chunks_exact(2).map(|row| row[0].hypot(row[1])).fold(0.0, f64::max);
        rows.iter_mut().for_each(|x| *x *= 25.0 / largest);
        let least = singular_values(&rows, 2).and_then(|values| values.last().copied()).ok_or("not finite".to_owned());
        outcome.compare("sigma_min_normalized_25", least.map(|s| vec![s]), &file["sigma_min_normalized_25"]);
    })
}
