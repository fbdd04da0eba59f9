//! Outsourced optimization [Kharkovskii2020]: curators (the threshold omega, centring, lifting, released inputs, grids), and the
//! modeler's posteriors and sequences of GP-UCB.

use super::bandit::{ask, problem, registered, released, screen, setting};
use super::read::{Read, all, each, ensure, get, indices, list, matrix, points, shaped, size};
use privateer::env::test_function::branin;
use privateer_gp::kernel::{Kernel, Lengthscales, squared_exponential::SquaredExponential};
use privateer_gp::posterior::{ExactPosterior, Posterior};
use privateer_gp::score::{Moments, lowest_within_tie};
use privateer_gp::{KernelGram, Points};
use privateer_numerics::linalg::eigen_symmetric;
use privateer_privacy::curator::Inputs;
use privateer_privacy::curator::projection::{centred, lifted, released_inputs, singular_values};
use privateer_privacy::printed::kharkovskii2020::{grid_singular_value, omega, omega_as_printed};
use serde_json::{Value, json};
use std::sync::Arc;

pub fn thresholds(file: &Value) -> Read<Value> {
    let row = |row: &Value| {
        let [r, epsilon, delta] = all(row, ["r", "eps", "delta"])?;
        Ok(json!({ "root": omega(r as u32, epsilon, delta), "printed": omega_as_printed(r as u32, epsilon, delta) }))
    };
    Ok(json!({ "rows": each(file, "rows", row)? }))
}

pub fn curators(file: &Value) -> Read<Value> {
    Ok(json!({ "cases": each(file, "cases", curated)? }))
}

fn curated(case: &Value) -> Read<Value> {
    let ((d, x), (r, _), [epsilon, delta]) = (matrix(case, "X")?, matrix(case, "M")?, all(case, ["eps", "delta"])?);
    let centred = centred(&Inputs::new(d, Arc::new(x)));
    let singular = singular_values(&centred, d).ok_or("an input is not finite")?;
    let least = *singular.last().ok_or("no singular value")?;
    let omega = omega(r as u32, epsilon, delta);
    let lifted = match case["lift"].as_str() {
        Some("sqrt") => lifted(&centred, d, omega, false)?,
        // s + omega is sqrt(s² + omega²) no longer: a reading that only this file has, one singular value at a time.
        Some("add") if omega <= least => centred.clone(),
        Some("add") => added(&centred, d, omega)?,
        other => return Err(format!("`lift` is {other:?}").into()),
    };
    Ok(json!({
        "centered": centred,
        "singular_values": singular,
        "sigma_min": least,
        "omega": omega,
        "Z": released_inputs(&lifted, d, &shaped(case, "M", (d, r))?, r),
        "lifted": lifted,
        "branch": if omega <= least { "if" } else { "else" },
    }))
}

/// Singular values lifted to `s + omega`: `centred (I + omega (X^T X)^{-1/2})`.
fn added(centred: &[f64], d: usize, omega: f64) -> Read<Vec<f64>> {
    let product = |i: usize, j: usize| centred.chunks_exact(d).map(|row| row[i] * row[j]).sum();
    let gram: Vec<f64> = (0..d * d).map(|at| product(at / d, at % d)).collect();
    let map = eigen_symmetric(&gram, d).ok_or("no eigenvalues")?.function(|value| 1.0 + omega / value.max(0.0).sqrt());
    let row = |row: &[f64]| (0..d).map(|c| (0..d).map(|k| row[k] * map[k * d + c]).sum()).collect::<Vec<f64>>();
    Ok(centred.chunks_exact(d).flat_map(row).collect())
}

pub fn grids(file: &Value) -> Read<Value> {
    let (m, norm): (_, f64) = (size(file, "m")?, get(file, "max_norm")?);
    let a = norm / std::f64::consts::SQRT_2;
    let grid = Points::grid(2, m, -a, a);
    let singular = singular_values(&centred(&Inputs::new(2, Arc::clone(grid.coordinates()))), 2).ok_or("not finite")?;
    let row = |row: &Value| {
        let [log_epsilon, delta] = all(row, ["log_eps", "delta"])?;
        let largest = |formula: fn(u32, f64, f64) -> f64| {
            (1..1000u32).take_while(|&r| formula(r, log_epsilon.exp(), delta) <= singular[1]).last().unwrap_or(0)
        };
        Ok(json!({ "root": largest(omega), "printed": largest(omega_as_printed) }))
    };
    let largest_r = each(file, "largest_r", row)?;
    let closed = grid_singular_value(m as u32, norm);
    Ok(json!({ "singular_values": singular, "closed_form_value": closed, "largest_r": largest_r }))
}

/// Points on a side of the grid that the paper takes.
const SIDE: usize = 20;

/// Branin as an outsourced problem: a grid of its inputs, scaled to a largest norm.
pub fn branin(file: &Value) -> Read<Value> {
    let (form, points) = (&branin::BRANIN.textbook, points(file, "X")?);
    ensure(points.dimension() == 2, "`X` is not of two columns")?;
    // Both ends of the box are on the grid.
    let along = |axis: usize, i: usize| {
        let (lo, hi) = (form.domain)(axis);
        lo + (hi - lo) * i as f64 / (SIDE - 1) as f64
    };
    let grid: Vec<f64> = (0..SIDE * SIDE).flat_map(|at| [along(0, at / SIDE), along(1, at % SIDE)]).collect();
    let best = grid.chunks_exact(2).map(|point| form.value(point)).fold(f64::NEG_INFINITY, f64::max);
    let mut rows = centred(&Inputs::new(2, Arc::new(grid)));
    let largest = rows.chunks_exact(2).map(|row| row[0].hypot(row[1])).fold(0.0, f64::max);
    rows.iter_mut().for_each(|x| *x *= 25.0 / largest);
    let values: Vec<f64> = (0..points.n_points()).map(|point| form.value(points.point(point))).collect();
    Ok(json!({
        "minus_f": values,
        "max_minus_f_on_20x20": best,
        "sigma_min_normalized_25": singular_values(&rows, 2).ok_or("not finite")?.last(),
    }))
}

fn posterior(value: &Value, points: Points) -> Read<(Arc<dyn Kernel>, ExactPosterior)> {
    let [l, variance, ridge] = all(value, ["l", "sigma_y2", "sigma_n2"])?;
    ensure([l, variance, ridge].iter().all(|x| 0.0 < *x), "`l`, `sigma_y2` and `sigma_n2` must be positive")?;
    let kernel: Arc<dyn Kernel> = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(l), variance));
    let gram = Arc::new(KernelGram::new(Arc::clone(&kernel), points));
    Ok((kernel, ExactPosterior::new(gram, ridge)))
}

/// Posteriors at all rows. A prior mean moves rewards and means alike.
pub fn posteriors(file: &Value) -> Read<Value> {
    let z = points(file, "Z")?;
    let observed = indices(file, "observed", z.n_points())?;
    let y = list(file, "y", observed.len())?;
    let set = |set: &Value| {
        let prior: f64 = get(set, "prior_mean")?;
        let (_, mut posterior) = posterior(set, z.clone())?;
        observed.iter().zip(&y).for_each(|(&point, y)| posterior.observe(point, y - prior));
        let moments = posterior.all_moments().into_iter().map(|m| (m.mean + prior, m.variance));
        let (mean, var): (Vec<f64>, Vec<f64>) = moments.unzip();
        Ok(json!({ "mean": mean, "var": var }))
    };
    Ok(json!({ "sets": each(file, "sets", set)? }))
}

pub fn modelers(file: &Value) -> Read<Value> {
    Ok(json!({ "sequences": each(file, "sequences", |run| sequence(file, run))? }))
}

/// Every point scored in every round, for acquisitions that the library does not offer as well.
fn sequence(file: &Value, run: &Value) -> Read<Value> {
    let inputs = match run["space"].as_str() {
        Some("original") => {
            let x = points(file, "X")?;
            Points::new(x.dimension(), centred(&Inputs::new(x.dimension(), Arc::clone(x.coordinates()))))
        }
        Some("projected") => points(file, "Z_projected")?,
        _ => return Err("`space` is neither `original` nor `projected`".into()),
    };
    let squared = match run["acq"].as_str() {
        Some("std") => false,
        Some("var") => true,
        _ => return Err("`acq` is neither `std` nor `var`".into()),
    };
    let (n, exclude): (_, bool) = (inputs.n_points(), get(run, "exclude_queried")?);
    let (f, mut noise, rounds): (_, Vec<f64>, _) = (list(file, "f", n)?, get(file, "noise")?, size(file, "rounds")?);
    let [first, ..] = indices(file, "initial", n)?[..] else { return Err("`initial` is empty".into()) };
    ensure(rounds < noise.len(), "`noise` is too short")?;
    noise.truncate(rounds + 1);
    let [failure_prob, ridge] = all(file, ["delta_prime", "sigma_n2"])?;
    let (kernel, mut posterior) = posterior(file, inputs.clone())?;
    let (mut points, mut values, mut betas) = (vec![first], Vec::new(), Vec::new());
    posterior.observe(first, f[first] + noise[0]);
    // The registered policy plays the same points where it is the policy of the case; the starting point is the file's.
    let mut registered = if squared || exclude {
        None
    } else {
        let keys = json!({ "ridge": ridge, "failure_prob": failure_prob, "count_start": false, "beta": "theory" });
        let maker = registered("gp-ucb", &keys, problem(inputs, Some(kernel), noise.len() as u64))?;
        let (mut policy, screen) = (maker.make(&setting(1.0, None, noise.len() as u64))?, screen(maker.as_ref())?);
        policy.update(first, &released(f[first] + noise[0])?);
        Some((policy, screen))
    };
    for (t, noise) in noise.iter().enumerate().skip(1) {
        let (t, pi) = (t as f64, std::f64::consts::PI);
        let beta = 2.0 * libm::log(n as f64 * t * t * pi * pi / (6.0 * failure_prob));
        let width = |m: Moments| if squared { m.variance } else { m.variance.sqrt() };
        let all = posterior.all_moments().into_iter().map(|m| m.mean + beta.sqrt() * width(m)).enumerate();
        let scored: Vec<(usize, f64)> = all.filter(|(point, _)| !exclude || !points.contains(point)).collect();
        let point = lowest_within_tie(&scored).ok_or("a score is not finite")?;
        values.push(scored.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max));
        betas.push(beta);
        points.push(point);
        posterior.observe(point, f[point] + noise);
        if let Some((policy, screen)) = &mut registered {
            let (played, _) = ask(policy.as_mut(), screen.as_mut(), None)?;
            ensure(played == point, &format!("gp-ucb plays {played} in round {t}, and the formulas {point}"))?;
            policy.update(point, &released(f[point] + noise)?);
        }
    }
    let best = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    let simple_regret = best(&mut f.iter().copied()) - best(&mut points.iter().map(|&point| f[point]));
    Ok(json!({ "sequence": points, "values": values, "beta": betas, "simple_regret": simple_regret }))
}
