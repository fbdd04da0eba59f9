//! Quadrature and random Fourier features.

use super::outcome::Outcome;
use super::read::{self, matrix, number, points};
use privateer_gp::Points;
use privateer_gp::features::quadrature_fourier::{QuadratureFourier, QuadratureMap, extents};
use privateer_gp::features::random_fourier::random_fourier;
use privateer_gp::kernel::additive::Additive;
use privateer_gp::kernel::squared_exponential::SquaredExponential;
use privateer_gp::kernel::{Kernel, Lengthscales};
use privateer_gp::special::gauss_hermite;
use privateer_numerics::linalg::dot;
use serde_json::Value;
use std::sync::Arc;

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    for (dimension, section) in [(1, "d1"), (2, "d2")] {
        for (at, entry) in file[section].as_array().into_iter().flatten().enumerate() {
            entries(&mut outcome, dimension, &format!("{section}[{at}]"), entry);
        }
    }
    let additive = &file["additive"];
    outcome.compare("additive", additive_features(additive), &additive["features"]);
    for (at, entry) in file["ball2"].as_array().into_iter().flatten().enumerate() {
        outcome.compare(&format!("ball2[{at}] max_error_diff4"), ball_error(entry).map(|e| vec![e]), &entry["max_error_diff4"]);
    }
    let section = &file["rff"];
    outcome.compare("rff", random(section), &section["features"]);
    outcome.note_rest(file, &["d1", "d2", "additive", "ball2", "rff"]);
    outcome
}

fn kernel(entry: &Value) -> Result<SquaredExponential, String> {
    number(entry, "l").map(|l| SquaredExponential::new(Lengthscales::Isotropic(l), 1.0))
}

fn nodes(entry: &Value) -> Result<usize, String> {
    read::size(entry, "mbar")
}

/// The map over points of a box.
fn map(entry: &Value, kernel: &dyn Kernel, extents: &[f64]) -> Result<QuadratureMap, String> {
    let plan = QuadratureFourier { nodes: nodes(entry)?, max_error: 2.0 };
    QuadratureMap::new(kernel, extents, plan).map_err(|error| error.to_string())
}

fn gram(map: &QuadratureMap, points: &Points) -> Vec<f64> {
    let table = map.table(points, None);
    let n = points.n_points();
    (0..n * n).map(|at| dot(table.row(at / n), table.row(at % n))).collect()
}

fn entries(outcome: &mut Outcome, dimension: usize, name: &str, entry: &Value) {
    let made = || -> Result<(QuadratureMap, Points, SquaredExponential), String> {
        let (kernel, points) = (kernel(entry)?, points(entry, "X")?);
        Ok((map(entry, &kernel, &vec![1.0; dimension])?, points, kernel))
    };
    let (map, points, kernel) = match made() {
        Ok(made) => made,
        Err(problem) => return outcome.compare(name, Err(problem), &Value::Null),
    };
    outcome.compare(&format!("{name} gram"), Ok(gram(&map, &points)), &entry["gram"]);
    outcome.compare(
        &format!("{name} bound_theorem2"),
        Ok(vec![map.accuracy.bound.unwrap_or(f64::NAN)]),
        &entry["bound_theorem2"],
    );
    if let Some(half) = entry.get("half") {
        outcome.compare(&format!("{name} half"), Ok(map.table(&points, None).values), half);
    }
    // Errors over all pairs of a grid of the unit cube.
    let per_axis = if dimension == 1 { 101 } else { 11 };
    let grid = Points::grid(dimension, per_axis, 0.0, 1.0);
    let table = map.table(&grid, None);
    let n = grid.n_points();
    let error = |a: usize, b: usize| (dot(table.row(a), table.row(b)) - kernel.value(grid.point(a), grid.point(b))).abs();
    let worst = (0..n * n).map(|at| error(at / n, at % n)).fold(0.0, f64::max);
    let section = if dimension == 1 { "max_error_grid101" } else { "max_error_grid11x11" };
    outcome.compare(&format!("{name} {section}"), Ok(vec![worst]), &entry[section]);
    let rule = gauss_hermite(nodes(entry).unwrap_or(1));
    let (frequencies, weights) = map.first_group();
    if dimension == 1 {
        outcome.compare(&format!("{name} nodes"), Ok(rule.iter().map(|(t, _)| *t).collect()), &entry["nodes"]);
        outcome.compare(&format!("{name} weights"), Ok(rule.iter().map(|(_, w)| *w).collect()), &entry["weights"]);
        if let Some(file) = entry.get("full") {
            outcome.compare(&format!("{name} full"), full(entry, &rule, &points), file);
        }
    } else {
        outcome.compare(&format!("{name} m_half"), Ok(vec![map.n_features() as f64]), &entry["m_half"]);
        if entry.get("frequencies").is_some() {
            outcome.compare(&format!("{name} frequencies"), Ok(frequencies.to_vec()), &entry["frequencies"]);
            outcome.compare(&format!("{name} weights"), Ok(weights), &entry["weights"]);
        }
    }
}

/// The layout of all frequencies, from the rule alone: `full` stands for nothing that the engine uses.
fn full(entry: &Value, rule: &[(f64, f64)], points: &Points) -> Result<Vec<f64>, String> {
    let scale = libm::sqrt(2.0) / number(entry, "l")?;
    let mut values = Vec::new();
    for point in 0..points.n_points() {
        let x = points.point(point)[0];
        values.extend(rule.iter().map(|(t, w)| libm::sqrt(*w) * libm::cos(scale * t * x)));
        values.extend(rule.iter().map(|(t, w)| libm::sqrt(*w) * libm::sin(scale * t * x)));
    }
    Ok(values)
}

fn additive_features(section: &Value) -> Result<Vec<f64>, String> {
    let points = points(section, "X")?;
    let kernel = Additive::new(Arc::new(kernel(section)?), 1).ok_or("the kernel has no coordinates")?;
    Ok(map(section, &kernel, &extents(&points))?.table(&points, None).values)
}

/// The kernel's error over differences of a disk: features of a difference against those of 0.
fn ball_error(entry: &Value) -> Result<f64, String> {
    let kernel = kernel(entry)?;
    let map = map(entry, &kernel, &[4.0, 4.0])?;
    let features = |x: &[f64]| {
        let mut out = vec![0.0; map.n_features()];
        map.write(x, &mut out);
        out
    };
    let origin = features(&[0.0, 0.0]);
    let mut worst = 0.0_f64;
    for i in -40..=40 {
        for j in -40..=40 {
            let r = [f64::from(i) / 10.0, f64::from(j) / 10.0];
            if r[0] * r[0] + r[1] * r[1] <= 16.0 {
                worst = worst.max((dot(&features(&r), &origin) - kernel.value(&r, &[0.0, 0.0])).abs());
            }
        }
    }
    Ok(worst)
}

fn random(section: &Value) -> Result<Vec<f64>, String> {
    let points = points(section, "X")?;
    let (dimension, frequencies) = matrix(section, "W")?;
    if dimension != points.dimension() {
        return Err("`X` and `W` have different dimensions".to_owned());
    }
    Ok(random_fourier(&points, &frequencies, 1.0, None).values)
}
