//! Convex optimization: linear minimization, prefix sums, laws of noise and their levels, runs of learners on stored samples.

use super::bandit::unused;
use super::joint::nodes_read;
use super::read::{Read, all, budget, each, get, indices, list, matrix, shaped, size};
use privateer::oco::learner::dp_pofw::Pofw;
use privateer::oco::learner::dp_tofw::Tofw;
use privateer::oco::learner::local_md::mirror_step;
use privateer::oco::learner::noisy_sfw::{self, NoisySfw};
use privateer::oco::learner::noisy_sgd::{self, Descent};
use privateer::oco::learner::{FrankWolfe, Learner, LearnerBatch, LearnerStreams, step_size};
use privateer::oco::loss::{LinearModel, squared::Squared};
use privateer::oco::set::{ConstraintSet, LpBall};
use privateer_config::error::Error;
use privateer_numerics::linalg::{Norm, dot};
use privateer_numerics::rng::Stream;
use privateer_privacy::accounting::sensitivity::from_lq;
use privateer_privacy::gradients::{BatchGradients, Choice, GeneralizedGaussian, PrefixGradients, Sample, Start};
use privateer_privacy::gradients::{StoredSamples, VectorNoise, VertexChoice};
use privateer_privacy::noise::Noise;
use privateer_privacy::printed::{han2022_choice, han2022_tree};
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::streams::{Factorisation, PrefixSums, Shape};
use privateer_privacy::{Raw, gdp_mu};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The norm of `p`, a number, its text, or "inf".
fn norm(case: &Value) -> Read<Norm> {
    let exponent = match &case["p"] {
        Value::String(text) if text == "inf" => Some(f64::INFINITY),
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    Ok(exponent.and_then(Norm::of).ok_or("`p` is not an exponent")?)
}

pub fn oracles(file: &Value) -> Read<Value> {
    let (d, g) = matrix(file, "g")?;
    let minimised = |case: &Value| {
        let (norm, radius): (Norm, f64) = (norm(case)?, get(case, "radius")?);
        let ball = LpBall::new(norm, radius, d);
        let (mut vertices, mut values, mut duals) = (Vec::new(), Map::new(), Map::new());
        for (at, g) in g.chunks_exact(d).enumerate() {
            let mut v = vec![0.0; d];
            ball.minimise(g, &mut v);
            // Entry by entry: their scales differ.
            values.insert(at.to_string(), json!(dot(g, &v)));
            duals.insert(at.to_string(), json!(-radius * norm.dual().size(g)));
            vertices.push(v);
        }
        Ok(json!({ "v": vertices, "value": values, "dual_norm_times_minus_r": duals }))
    };
    Ok(json!({ "cases": each(file, "cases", minimised)? }))
}

/// Draws that a file states, one after the other; zeros past the end.
#[derive(Debug)]
struct Stored {
    width: usize,
    draws: Vec<f64>,
    at: usize,
}

impl Stored {
    fn new(width: usize, draws: Vec<f64>) -> Box<Self> {
        Box::new(Self { width, draws, at: 0 })
    }
}

impl VectorNoise for Stored {
    fn draw(&mut self, _stream: &mut Stream, out: &mut [f64]) {
        match self.draws.get(self.at..self.at + self.width) {
            Some(draw) if draw.len() == out.len() => out.copy_from_slice(draw),
            _ => out.fill(0.0),
        }
        self.at += self.width;
    }
}

/// Noisy prefix sums of vectors by the tree, low-bit form.
pub fn prefixes(file: &Value) -> Read<Value> {
    let (d, z) = matrix(file, "z")?;
    let n = z.len() / d;
    let mut draws = shaped(file, "noise", (n, d))?.chunks_exact(d).map(<[f64]>::to_vec).collect();
    let tree: Arc<dyn Factorisation> = Arc::new(Tree::new(n as u64));
    let (mut sums, mut prefix) = (PrefixSums::new(&tree, Shape::Vector(d), 1.0), Vec::new());
    for z in z.chunks_exact(d) {
        sums.add(Raw::seal(z));
        prefix.extend_from_slice(sums.next(&mut Noise::Replayed(&mut draws))?.value());
    }
    // Latest first.
    let nodes: Vec<Vec<u64>> = nodes_read(tree.as_ref()).map(|read| read.into_iter().rev().collect()).collect();
    Ok(json!({ "prefix": prefix, "nodes_in_prefix": nodes }))
}

/// Dual exponent, exponent, multiplier and kappa of the smooth norm.
fn smooth(row: &Value) -> Read<(f64, f64, f64, f64)> {
    let (q, d) = (norm(row)?.dual().exponent(), size(row, "d")?);
    if 2.0 <= q {
        let (exponent, kappa) = han2022_tree::lemma_3_2_corrected(q, d);
        return Ok((q, exponent, 1.0, kappa));
    }
    let (multiplier, kappa) = han2022_tree::lemma_3_3(q, d);
    Ok((q, 2.0, multiplier, kappa))
}

pub fn law(file: &Value) -> Read<Value> {
    let row = |row: &Value| {
        let ((q, exponent, multiplier, kappa), (d, mut y)) = (smooth(row)?, matrix(row, "direction")?);
        let law = GeneralizedGaussian::new(exponent, multiplier, 1.0);
        let squares = list(row, "r2", y.len() / d)?;
        for (y, square) in y.chunks_exact_mut(d).zip(squares) {
            law.scale(square.sqrt(), y);
        }
        let norm = Norm::of(exponent).ok_or("the exponent is below 1")?;
        let squares: Vec<f64> = y.chunks(size(row, "d")?).map(|y| (multiplier * norm.size(y)).powi(2)).collect();
        Ok(json!({
            "q": q,
            "plus_exponent": exponent,
            "plus_multiplier": multiplier,
            "kappa": kappa,
            "y": y,
            "plus_norm_squared_of_y": squares,
        }))
    };
    Ok(json!({ "rows": each(file, "rows", row)? }))
}

pub fn levels(file: &Value) -> Read<Value> {
    let row = |row: &Value| {
        let [n, d, beta, lipschitz, diameter] = all(row, ["n", "d", "beta", "L", "D"])?;
        let ((epsilon, delta), (q, _, _, kappa)) = (budget(row, ["eps", "delta"])?, smooth(row)?);
        let (n, e, p, s) = (n as u64, epsilon.get(), delta.get(), 2.0 * (beta * diameter + lipschitz));
        let mu = gdp_mu(epsilon, delta);
        let nodes = f64::from(n.max(1).ilog2() + 1);
        Ok(json!({
            "h": han2022_tree::levels(n),
            "kappa": kappa,
            "sigma_plus": han2022_tree::theorem_3_1(kappa, s, n, e, p),
            "laplace_scale_t1": han2022_choice::laplace_scale(diameter, beta, lipschitz, n, 1, e, p),
            "gdp_mu": mu,
            "sigma_gdp": from_lq(s, q, d as usize) * nodes.sqrt() / mu,
        }))
    };
    Ok(json!({ "rows": each(file, "rows", row)? }))
}

struct Samples {
    dimension: usize,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Samples {
    fn read(file: &Value) -> Read<Self> {
        let (dimension, x) = matrix(file, "X")?;
        let y = list(file, "y", x.len() / dimension)?;
        Ok(Self { dimension, x, y })
    }

    fn shape(&self) -> (usize, usize) {
        (self.y.len(), self.dimension)
    }

    fn sealed(&self) -> impl Iterator<Item = Raw<Sample<'_>>> {
        self.x.chunks_exact(self.dimension).zip(&self.y).map(|(x, &y)| Raw::seal(Sample { x, y }))
    }
}

/// `(<x, theta> - y)²`, its slope clipped where the case says so.
fn gradient(case: &Value) -> Read<Arc<LinearModel>> {
    let clip = get::<Option<f64>>(case, "clip")?.unwrap_or(f64::INFINITY);
    Ok(Arc::new(LinearModel { loss: Arc::new(Squared { clip }) }))
}

pub fn baselines(file: &Value) -> Read<Value> {
    let mirror = |case: &Value| {
        let ([eta, rad], dual): (_, Vec<f64>) = (all(case, ["eta", "rad"])?, get(case, "dual")?);
        let mut u = vec![0.0; dual.len()];
        mirror_step(norm(case)?, eta, rad, &dual, &mut u);
        Ok(json!({ "u": u }))
    };
    Ok(json!({
        "noisy_sfw": frank_wolfe_in_batches(&file["noisy_sfw"])?,
        "noisy_sgd": descent(&file["noisy_sgd"])?,
        "local_md_step": each(file, "local_md_step", mirror)?,
    }))
}

fn frank_wolfe_in_batches(case: &Value) -> Read<Value> {
    let samples = Samples::read(case)?;
    let (n, d) = samples.shape();
    let [lr, radius, kappa, lipschitz, beta, epsilon, delta] = all(case, ["lr", "radius", "kappa", "L", "beta", "eps", "delta"])?;
    let (plan, eta) = noisy_sfw::plan(n as u64, lr);
    let sigma = |s: f64| han2022_tree::sigma_plus(kappa, s, epsilon, delta);
    let n = n as f64;
    let found = json!({
        "eta": eta,
        "first": plan.first,
        "batch": plan.batch,
        "steps": plan.steps,
        "sigma0": sigma(4.0 * lipschitz / n),
        "sigma1": sigma(4.0 * beta * eta * 2.0 * radius / n.sqrt()),
    });
    let mut first = shaped(case, "noise", (plan.steps as usize + 1, d))?;
    let later = first.split_off(d);
    let set = Arc::new(LpBall::new(norm(case)?, radius, d));
    let noises = (Stored::new(d, first) as Box<_>, Stored::new(d, later) as Box<_>);
    let privatizer = BatchGradients::new(gradient(case)?, d, None, plan, f64::INFINITY, noises);
    let (mut learner, mut streams) = (NoisySfw::new(privatizer, set, eta), LearnerStreams::new(unused(), unused()));
    for sample in samples.sealed() {
        learner.observe(sample, &mut streams)?;
    }
    Ok(json!({ "plan": found, "theta": learner.iterate() }))
}

fn descent(case: &Value) -> Read<Value> {
    let samples = Samples::read(case)?;
    let (n, d) = samples.shape();
    let [lr, radius, lipschitz, epsilon, delta] = all(case, ["lr", "R", "L", "eps", "delta"])?;
    let sigma = (8.0 * (1.0 / delta).ln()).sqrt() * lipschitz / epsilon;
    let eta = noisy_sgd::step(lr, radius, lipschitz, n as u64, d, Some((epsilon, delta)));
    let noise = shaped(case, "noise", (n * n - 1, d))?;
    let mut stored = StoredSamples::new(gradient(case)?, d, None, Stored::new(d, noise));
    samples.sealed().for_each(|sample| stored.samples.keep(sample));
    let mut server = Descent::new(Arc::new(LpBall::new(Norm::MAX, radius, d)), eta);
    let mut stream = unused();
    for at in indices(case, "index", n)? {
        server.step(stored.gradient_of(at, server.theta(), &mut stream).ok_or("no such sample")?.value());
    }
    server.finish();
    Ok(json!({ "plan": { "steps": n * n - 1, "sigma": sigma, "eta": eta }, "theta": server.answer() }))
}

fn start(case: &Value) -> Read<Start> {
    match case["start"].as_str() {
        Some("half") => Ok(Start::Half),
        Some("full") => Ok(Start::Full),
        _ => Err("`start` is neither `half` nor `full`".into()),
    }
}

/// Shows samples to a learner: what each contributes without noise, directions, with noise or without, vertices and iterates.
fn watched<L>(
    (mut learner, server): (L, fn(&L) -> &FrankWolfe),
    observe: impl Fn(&mut L, Raw<Sample<'_>>, &mut LearnerStreams) -> Result<(), Error>,
    (case, samples): (&Value, &Samples),
    with_noise: bool,
) -> Read<Value> {
    let d = samples.dimension;
    let mut plain = PrefixGradients::new(1, gradient(case)?, d, start(case)?, None, None);
    let (mut last, mut streams) = (vec![0.0; d], LearnerStreams::new(unused(), unused()));
    let (mut g, mut directions, mut v, mut theta) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (round, (sample, again)) in (1..).zip(samples.sealed().zip(samples.sealed())) {
        let sum = plain.release(server(&learner).query(), [again], &mut [&mut unused()])?.value().to_vec();
        g.push(sum.iter().zip(&last).map(|(sum, last)| sum - last).collect::<Vec<f64>>());
        // eta = 1/(t + 1) turns the sum into the estimate.
        let estimate = sum.iter().map(|sum| sum * step_size(1.0, round)).collect();
        last = sum;
        observe(&mut learner, sample, &mut streams)?;
        let server = server(&learner);
        directions.push(if with_noise { server.direction.to_vec() } else { estimate });
        v.push(server.vertex.to_vec());
        theta.push(server.iterate().to_vec());
    }
    let mut found = json!({ "d": directions, "v": v, "theta": theta });
    if with_noise {
        (found["g"], found["final"]) = (json!(g), json!(theta.last()));
    }
    Ok(found)
}

pub fn tree_runs(file: &Value) -> Read<Value> {
    let samples = Samples::read(file)?;
    let (n, d) = samples.shape();
    let noise = shaped(file, "node_noise", (n, d))?;
    let set: Arc<dyn ConstraintSet> = Arc::new(LpBall::new(norm(file)?, get(file, "radius")?, d));
    let run = |case: &Value| {
        let stored = Some((&Tree::new(n as u64) as _, Stored::new(d, noise.clone()) as _));
        let privatizer = PrefixGradients::new(1, gradient(case)?, d, start(case)?, None, stored);
        let learner = Tofw::new(privatizer, Arc::clone(&set), get(case, "lr")?);
        let observe = |learner: &mut Tofw, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams| {
            learner.observe_all(vec![sample], std::slice::from_mut(streams))
        };
        watched((learner, |learner| &learner.server), observe, (case, &samples), true)
    };
    Ok(json!({ "runs": each(file, "runs", run)? }))
}

pub fn choice_runs(file: &Value) -> Read<Value> {
    let [diameter, beta, lipschitz, n, epsilon, delta] = all(&file["parameters"], ["D", "beta", "L", "n", "eps", "delta"])?;
    let base_scale = han2022_choice::laplace_scale(diameter, beta, lipschitz, n as u64, 1, epsilon, delta);
    let samples = Samples::read(file)?;
    let (n, d) = samples.shape();
    let noise = shaped(file, "unit_laplace", (n, 2 * d))?;
    let set: Arc<dyn ConstraintSet> = Arc::new(LpBall::new(Norm::MAX.dual(), get(file, "radius")?, d));
    let run = |case: &Value| {
        let choice = get::<Option<f64>>(case, "scale_multiplier")?.map_or(Choice::Exact, |multiplier| {
            let scale = multiplier * base_scale;
            Choice::Noisy(Stored::new(2 * d, noise.iter().map(|noise| noise * scale).collect()))
        });
        let vertices = set.vertices().ok_or("the ball lists no vertices")?;
        let privatizer = VertexChoice::new(gradient(case)?, d, start(case)?, None, vertices, choice);
        let learner = Pofw::new(privatizer, Arc::clone(&set), 1.0);
        watched((learner, |learner| &learner.server), Pofw::observe, (case, &samples), false)
    };
    Ok(json!({ "base_scale_t1": base_scale, "runs": each(file, "runs", run)? }))
}
