//! Outsourced optimization [Kharkovskii2020]: curators (the threshold omega, centring, lifting, released inputs, grids), and the
//! modeler's posteriors and sequences of GP-UCB.

use super::bandit::{Player, problem, registered, setting};
use super::gp::{posterior, unzipped};
use super::read::*;
use privateer::env::test_function::branin;
use privateer_gp::score::lowest_within_tie;
use privateer_privacy::curator::Inputs;
use privateer_privacy::curator::projection;
use privateer_privacy::curator::projection::{lifted, released_inputs, singular_values};
use privateer_privacy::printed::kharkovskii2020::{grid_singular_value, omega, omega_as_printed};

pub fn thresholds(_: &Value, row: &Value) -> Read<Value> {
    let [r, epsilon, delta] = numbers(row, "r eps delta")?;
    Ok(json!({ "root": omega(r as u32, epsilon, delta), "printed": omega_as_printed(r as u32, epsilon, delta) }))
}

fn centred((d, x): (usize, Vec<f64>)) -> (usize, Vec<f64>) {
    (d, projection::centred(&Inputs::new(d, Arc::new(x))))
}

pub fn curated(_: &Value, case: &Value) -> Read<Value> {
    let ((d, centred), [epsilon, delta]) = (centred(matrix(case, "X")?), numbers(case, "eps delta")?);
    let r = matrix(case, "M")?.0;
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
    // By a factor sqrt(r) the released inputs are a product of matrices.
    Ok(released_inputs(centred, d, &map, d).into_iter().map(|x| x * (d as f64).sqrt()).collect())
}

pub fn grids(file: &Value, _: &Value) -> Read<Value> {
    let (m, norm): (_, f64) = (whole(file, "m", SIZE)?, get(file, "max_norm")?);
    let a = norm / std::f64::consts::SQRT_2;
    let (_, centred) = centred((2, Points::grid(2, m, -a, a).coordinates().to_vec()));
    let singular = singular_values(&centred, 2).ok_or("not finite")?;
    let row = |row: &Value| {
        let [log_epsilon, delta] = numbers(row, "log_eps delta")?;
        let largest = |formula: fn(u32, f64, f64) -> f64| {
            (1..1000u32).take_while(|&r| formula(r, log_epsilon.exp(), delta) <= singular[1]).last().unwrap_or(0)
        };
        Ok(json!({ "root": largest(omega), "printed": largest(omega_as_printed) }))
    };
    let largest_r = each(file, "largest_r", row)?;
    let closed = grid_singular_value(m as u32, norm);
    Ok(json!({ "singular_values": singular, "closed_form_value": closed, "largest_r": largest_r }))
}

/// Branin as an outsourced problem: its maximum on the paper's grid of 20 x 20, and those inputs scaled to a largest norm.
pub fn branin(file: &Value, _: &Value) -> Read<Value> {
    let (form, (d, x)) = (&branin::BRANIN.textbook, matrix(file, "X")?);
    ensure(d == 2, "`X` is not of two columns")?;
    let values = |x: &[f64]| x.chunks_exact(2).map(|point| form.value(point)).collect::<Vec<f64>>();
    let grid = Points::grid_in(&[(form.domain)(0), (form.domain)(1)], 20).coordinates().to_vec();
    let best = values(&grid).into_iter().fold(f64::NEG_INFINITY, f64::max);
    let (_, rows) = centred((2, grid));
    let largest = rows.chunks_exact(2).map(|row| row[0].hypot(row[1])).fold(0.0, f64::max);
    let least = singular_values(&rows, 2).and_then(|singular| singular.last().map(|least| least * 25.0 / largest));
    Ok(json!({ "minus_f": values(&x), "max_minus_f_on_20x20": best, "sigma_min_normalized_25": least }))
}

/// Posteriors at all rows. A prior mean moves rewards and means alike.
pub fn posteriors(file: &Value, set: &Value) -> Read<Value> {
    let (z, [prior, ridge]) = (points(file, "Z")?, numbers(set, "prior_mean sigma_n2")?);
    let observed = indices(file, "observed", z.n_points())?;
    let y = shaped(file, "y", (observed.len(), 1))?.into_iter().map(|y| y - prior);
    let posterior = posterior((kernel(set)?, z, ridge), observed.into_iter().zip(y))?;
    let moved = posterior.all_moments().into_iter().map(|m| Moments { mean: m.mean + prior, ..m });
    let (mean, var) = unzipped(moved);
    Ok(json!({ "mean": mean, "var": var }))
}

/// Every point scored in every round, for acquisitions that the library does not offer as well.
pub fn sequence(file: &Value, run: &Value) -> Read<Value> {
    let (d, inputs) = match run["space"].as_str() {
        Some("original") => centred(matrix(file, "X")?),
        Some("projected") => matrix(file, "Z_projected")?,
        _ => return Err("`space` is neither `original` nor `projected`".into()),
    };
    let squared = match run["acq"].as_str() {
        Some("std") => false,
        Some("var") => true,
        _ => return Err("`acq` is neither `std` nor `var`".into()),
    };
    let (inputs, exclude): (_, bool) = (Points::new(d, inputs), get(run, "exclude_queried")?);
    let (n, rounds, mut noise): (_, usize, Vec<f64>) = (inputs.n_points(), whole(file, "rounds", SIZE)?, get(file, "noise")?);
    let (f, initial, [failure_prob, ridge]) =
        (shaped(file, "f", (n, 1))?, indices(file, "initial", n)?, numbers(file, "delta_prime sigma_n2")?);
    let first = *initial.first().ok_or("`initial` is empty")?;
    ensure(rounds < noise.len(), "`noise` is too short")?;
    noise.truncate(rounds + 1);
    let (mut points, mut values, mut betas) = (vec![first], Vec::new(), Vec::new());
    let mut posterior = posterior((kernel(file)?, inputs.clone(), ridge), [(first, f[first] + noise[0])].into_iter())?;
    // The registered policy plays the same points where it is the policy of the case; the starting point is the file's.
    let keys = json!({ "ridge": ridge, "failure_prob": failure_prob, "count_start": false, "beta": "theory" });
    let maker = (registered("gp-ucb", &keys)?.prepare)(&problem(inputs, Some(kernel(file)?), noise.len() as u64))?;
    let mut player = Player::new(maker.as_ref(), &setting(None, (1.0, None), noise.len() as u64)?.0)?;
    player.tell(first, f[first] + noise[0])?;
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
        if !squared && !exclude {
            let (played, _) = player.ask(None)?;
            ensure(played == point, &format!("gp-ucb plays {played} in round {t}, and the formulas {point}"))?;
            player.tell(point, f[point] + noise)?;
        }
    }
    let best = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    let simple_regret = best(&mut f.iter().copied()) - best(&mut points.iter().map(|&point| f[point]));
    Ok(json!({ "sequence": points, "values": values, "beta": betas, "simple_regret": simple_regret }))
}
