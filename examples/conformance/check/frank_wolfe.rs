//! Runs of DP-TOFW and DP-POFW over stored samples and noise.

use super::outcome::{Outcome, Part};
use super::read::{field, matrix, number};
use super::stored::{Samples, Stored, gradient, norm, streams};
use privateer::oco::learner::dp_pofw::Pofw;
use privateer::oco::learner::dp_tofw::Tofw;
use privateer::oco::learner::{FrankWolfe, Learner, step_size};
use privateer::oco::set::{ConstraintSet, LpBall};
use privateer_numerics::linalg::Norm;
use privateer_privacy::Raw;
use privateer_privacy::gradients::{Choice, GradientQuery, PrefixGradients, Sample, Start, VertexChoice};
use privateer_privacy::printed::han2022_choice;
use privateer_privacy::streams::tree::Tree;
use serde_json::Value;
use std::sync::Arc;

/// What a run gives, a row a round.
#[derive(Default)]
struct Run {
    g: Vec<f64>,
    d: Vec<f64>,
    v: Vec<f64>,
    theta: Vec<f64>,
}

pub fn check_sums(file: &Value) -> Outcome {
    let mut outcome = Outcome::stated(file);
    for (at, case) in file["runs"].as_array().into_iter().flatten().enumerate() {
        let run = sums(file, case);
        let parts: [Part<Run>; 4] = [
            ("g", |run| run.g.clone()),
            ("d", |run| run.d.clone()),
            ("v", |run| run.v.clone()),
            ("theta", |run| run.theta.clone()),
        ];
        outcome.compare_parts(&format!("runs {at}"), &run, &parts, case);
        let width = case["final"].as_array().map_or(0, Vec::len);
        let last = run.map(|run| run.theta[run.theta.len().saturating_sub(width)..].to_vec());
        outcome.compare(&format!("runs {at} final"), last, &case["final"]);
    }
    outcome.note_rest(file, &["p", "radius", "T", "X", "y", "node_noise", "runs"]);
    outcome
}

pub fn check_choices(file: &Value) -> Outcome {
    let mut outcome = Outcome::stated(file);
    outcome.compare("base_scale_t1", scale(file).map(|scale| vec![scale]), &file["base_scale_t1"]);
    for (at, case) in file["runs"].as_array().into_iter().flatten().enumerate() {
        let parts: [Part<Run>; 3] = [("d", |run| run.d.clone()), ("v", |run| run.v.clone()), ("theta", |run| run.theta.clone())];
        outcome.compare_parts(&format!("runs {at}"), &choices(file, case), &parts, case);
    }
    let known = ["radius", "T", "X", "y", "unit_laplace", "base_scale_t1", "parameters", "runs", "min_gap"];
    outcome.note_rest(file, &known);
    outcome
}

fn start(case: &Value) -> Result<Start, String> {
    match field(case, "start")?.as_str() {
        Some("half") => Ok(Start::Half),
        Some("full") => Ok(Start::Full),
        _ => Err("`start` is neither `half` nor `full`".to_owned()),
    }
}

/// A privatizer without noise at the same iterates: what each sample contributes, and the sum.
struct Plain {
    sums: PrefixGradients,
    last: Vec<f64>,
}

impl Plain {
    fn next(&mut self, server: &FrankWolfe, sample: Raw<Sample<'_>>) -> Result<(Vec<f64>, Vec<f64>), String> {
        let GradientQuery { now, before } = server.query();
        let query = GradientQuery { now, before };
        let sum = self.sums.release(query, sample, &mut streams().mechanism).map_err(|error| error.to_string())?;
        let leaf = sum.value().iter().zip(&self.last).map(|(sum, last)| sum - last).collect();
        self.last = sum.value().to_vec();
        Ok((leaf, self.last.clone()))
    }
}

fn sums(file: &Value, case: &Value) -> Result<Run, String> {
    let (samples, (width, noise)) = (Samples::read(file)?, matrix(file, "node_noise")?);
    let (d, n) = (samples.dimension, samples.len());
    if width != d || noise.len() != n * d {
        return Err("`node_noise` is not of the shape of `X`".to_owned());
    }
    let (gradient, start, rate) = (gradient(case)?, start(case)?, number(case, "lr")?);
    let set: Arc<dyn ConstraintSet> = Arc::new(LpBall::new(norm(file, "p")?, number(file, "radius")?, d));
    let tree = Tree::new(n as u64);
    let privatizer = PrefixGradients::new(gradient.clone(), d, start, None, Some((&tree, Box::new(Stored::new(d, noise)))));
    let mut plain = Plain { sums: PrefixGradients::new(gradient, d, start, None, None), last: vec![0.0; d] };
    let mut learner = Tofw::new(privatizer, set, rate);
    let (mut run, mut streams) = (Run::default(), streams());
    for (sample, again) in samples.sealed().zip(samples.sealed()) {
        run.g.extend(plain.next(learner.server(), again)?.0);
        learner.observe(sample, &mut streams).map_err(|error| error.to_string())?;
        run.d.extend(learner.server().last_direction());
        run.v.extend(learner.server().last_vertex());
        run.theta.extend(learner.iterate());
    }
    Ok(run)
}

fn scale(file: &Value) -> Result<f64, String> {
    let parameters = field(file, "parameters")?;
    let of = |name: &str| number(parameters, name);
    Ok(han2022_choice::laplace_scale(of("D")?, of("beta")?, of("L")?, of("n")? as u64, 1, of("eps")?, of("delta")?))
}

fn choices(file: &Value, case: &Value) -> Result<Run, String> {
    let (samples, (width, mut noise)) = (Samples::read(file)?, matrix(file, "unit_laplace")?);
    let d = samples.dimension;
    if width != 2 * d || noise.len() != samples.len() * width {
        return Err("`unit_laplace` has not two numbers a dimension and round".to_owned());
    }
    let set: Arc<dyn ConstraintSet> = Arc::new(LpBall::new(Norm::MAX.dual(), number(file, "radius")?, d));
    let choice = if case["scale_multiplier"].is_null() {
        Choice::Exact
    } else {
        let scale = number(case, "scale_multiplier")? * scale(file)?;
        noise.iter_mut().for_each(|noise| *noise *= scale);
        Choice::Noisy(Box::new(Stored::new(width, noise)))
    };
    let (gradient, start) = (gradient(case)?, start(case)?);
    let vertices = set.vertices().ok_or("the ball lists no vertices")?;
    let privatizer = VertexChoice::new(gradient.clone(), d, start, None, vertices, choice);
    let mut plain = Plain { sums: PrefixGradients::new(gradient, d, start, None, None), last: vec![0.0; d] };
    let mut learner = Pofw::new(privatizer, set, 1.0);
    let (mut run, mut streams) = (Run::default(), streams());
    for (round, (sample, again)) in (1..).zip(samples.sealed().zip(samples.sealed())) {
        let sum = plain.next(learner.server(), again)?.1;
        // eta = 1/(t + 1) turns the sum into the estimate.
        run.d.extend(sum.iter().map(|sum| sum * step_size(1.0, round)));
        learner.observe(sample, &mut streams).map_err(|error| error.to_string())?;
        run.v.extend(learner.server().last_vertex());
        run.theta.extend(learner.iterate());
    }
    Ok(run)
}
