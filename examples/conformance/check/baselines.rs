//! NoisySFW, NoisySGD and one step of LocalMD over stored samples and noise.

use super::outcome::Outcome;
use super::read::{indices, matrix, number, numbers};
use super::stored::{Samples, Stored, gradient, norm, streams};
use privateer::oco::learner::Learner;
use privateer::oco::learner::local_md::mirror_step;
use privateer::oco::learner::noisy_sfw::{self, NoisySfw};
use privateer::oco::learner::noisy_sgd::{self, Descent};
use privateer::oco::set::LpBall;
use privateer_numerics::linalg::Norm;
use privateer_privacy::gradients::{BatchGradients, StoredSamples};
use privateer_privacy::printed::han2022_tree;
use serde_json::Value;
use std::sync::Arc;

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::stated(file);
    let (sfw, sgd) = (&file["noisy_sfw"], &file["noisy_sgd"]);
    let names = ["eta", "first", "batch", "steps", "sigma0", "sigma1"];
    let found = sfw_plan(sfw).map(|plan| names.into_iter().zip(plan).collect());
    outcome.compare_named("noisy_sfw plan", found, &sfw["plan"]);
    outcome.compare("noisy_sfw theta", sfw_run(sfw), &sfw["theta"]);
    let found = sgd_plan(sgd).map(|plan| ["steps", "sigma", "eta"].into_iter().zip(plan).collect());
    outcome.compare_named("noisy_sgd plan", found, &sgd["plan"]);
    outcome.compare("noisy_sgd theta", sgd_run(sgd), &sgd["theta"]);
    for (at, case) in file["local_md_step"].as_array().into_iter().flatten().enumerate() {
        outcome.compare(&format!("local_md_step {at}"), mirror(case), &case["u"]);
    }
    outcome.note_rest(file, &["noisy_sfw", "noisy_sgd", "local_md_step"]);
    outcome
}

fn sfw_plan(case: &Value) -> Result<[f64; 6], String> {
    let of = |name: &str| number(case, name);
    let n = Samples::read(case)?.len() as f64;
    let (plan, eta) = noisy_sfw::plan(n as u64, of("lr")?);
    let (kappa, lipschitz, beta, epsilon, delta) = (of("kappa")?, of("L")?, of("beta")?, of("eps")?, of("delta")?);
    let sigma = |s: f64| han2022_tree::sigma_plus(kappa, s, epsilon, delta);
    let diameter = 2.0 * of("radius")?;
    let (first, later) = (sigma(4.0 * lipschitz / n), sigma(4.0 * beta * eta * diameter / n.sqrt()));
    Ok([eta, plan.first as f64, plan.batch as f64, plan.steps as f64, first, later])
}

fn sfw_run(case: &Value) -> Result<Vec<f64>, String> {
    let (samples, (width, noise)) = (Samples::read(case)?, matrix(case, "noise")?);
    let d = samples.dimension;
    if width != d {
        return Err("`noise` is not of the width of `X`".to_owned());
    }
    let (plan, eta) = noisy_sfw::plan(samples.len() as u64, number(case, "lr")?);
    let set = Arc::new(LpBall::new(norm(case, "p")?, number(case, "radius")?, d));
    let (first, later) = noise.split_at(d);
    let noises = (Box::new(Stored::new(d, first.to_vec())) as Box<_>, Box::new(Stored::new(d, later.to_vec())) as Box<_>);
    let privatizer = BatchGradients::new(gradient(case)?, d, None, plan, f64::INFINITY, noises);
    let mut learner = NoisySfw::new(privatizer, set, eta);
    let mut streams = streams();
    for sample in samples.sealed() {
        learner.observe(sample, &mut streams).map_err(|error| error.to_string())?;
    }
    Ok(learner.iterate().to_vec())
}

fn sgd_plan(case: &Value) -> Result<[f64; 3], String> {
    let of = |name: &str| number(case, name);
    let (samples, epsilon, delta) = (Samples::read(case)?, of("eps")?, of("delta")?);
    let (n, d) = (samples.len() as u64, samples.dimension);
    let sigma = (8.0 * (1.0 / delta).ln()).sqrt() * of("L")? / epsilon;
    let eta = noisy_sgd::step(of("lr")?, of("R")?, of("L")?, n, d, Some((epsilon, delta)));
    Ok([(n * n - 1) as f64, sigma, eta])
}

fn sgd_run(case: &Value) -> Result<Vec<f64>, String> {
    let (samples, (width, noise), eta) = (Samples::read(case)?, matrix(case, "noise")?, sgd_plan(case)?[2]);
    let d = samples.dimension;
    if width != d {
        return Err("`noise` is not of the width of `X`".to_owned());
    }
    let mut stored = StoredSamples::new(gradient(case)?, d, None, Box::new(Stored::new(d, noise)));
    samples.sealed().for_each(|sample| stored.keep(sample));
    let mut server = Descent::new(Arc::new(LpBall::new(Norm::MAX, number(case, "R")?, d)), eta);
    let mut streams = streams();
    for at in indices(case, "index", samples.len())? {
        let released = stored.gradient_of(at, server.theta(), &mut streams.mechanism).ok_or("no such sample")?;
        server.step(released.value());
    }
    server.finish();
    Ok(server.answer().to_vec())
}

fn mirror(case: &Value) -> Result<Vec<f64>, String> {
    let (dual, norm) = (numbers(case, "dual")?, norm(case, "p")?);
    let mut u = vec![0.0; dual.len()];
    mirror_step(norm, number(case, "eta")?, number(case, "rad")?, &dual, &mut u);
    Ok(u)
}
