//! Convex optimization: linear minimization, prefix sums, laws of noise and their levels, runs of learners on stored samples.

use super::bandit::unused;
use super::joint::nodes_read;
use super::read::*;
use privateer::oco::learner::dp_pofw::Pofw;
use privateer::oco::learner::dp_tofw::Tofw;
use privateer::oco::learner::local_md::mirror_step;
use privateer::oco::learner::noisy_sfw;
use privateer::oco::learner::noisy_sfw::NoisySfw;
use privateer::oco::learner::noisy_sgd;
use privateer::oco::learner::noisy_sgd::Descent;
use privateer::oco::learner::{FrankWolfe, Learner, LearnerBatch, LearnerStreams, step_size};
use privateer::oco::loss::LinearModel;
use privateer::oco::loss::squared::Squared;
use privateer::oco::set::{ConstraintSet, LpBall};
use privateer_config::error::Error;
use privateer_numerics::linalg::Norm;
use privateer_privacy::accounting::sensitivity::from_lq;
use privateer_privacy::gradients::{
    BatchGradients, Choice, GeneralizedGaussian, PrefixGradients, Sample, StoredSamples, VectorNoise, VertexChoice,
};
use privateer_privacy::printed::{han2022_choice, han2022_tree};

/// The norm of `p`, a number, its text, or "inf".
fn norm(case: &Value) -> Read<Norm> {
    let exponent = case["p"].as_f64().or_else(|| case["p"].as_str()?.parse().ok());
    Ok(exponent.and_then(Norm::of).ok_or("`p` is not an exponent")?)
}

pub fn oracle(file: &Value, case: &Value) -> Read<Value> {
    let ((d, g), norm, [radius]) = (matrix(file, "g")?, norm(case)?, numbers(case, "radius")?);
    let (ball, rows) = (LpBall::new(norm, radius, d), g.chunks_exact(d));
    let mut v = vec![0.0; g.len()];
    ball.minimise_rows(&g, &mut v);
    Ok(json!({
        "value": rows.clone().zip(v.chunks_exact(d)).map(|(g, v)| dot(g, v)).collect::<Vec<f64>>(),
        "dual_norm_times_minus_r": rows.map(|g| -radius * norm.dual().size(g)).collect::<Vec<f64>>(),
        "v": v,
    }))
}

/// Draws that a file states, one after the other; zeros past the end. One of another length is NaN, which agrees with nothing.
#[derive(Debug)]
struct Stored(VecDeque<Vec<f64>>);

impl VectorNoise for Stored {
    fn draw(&mut self, _stream: &mut Stream, out: &mut [f64]) {
        match self.0.pop_front() {
            Some(draw) if draw.len() == out.len() => out.copy_from_slice(&draw),
            draw => out.fill(draw.map_or(0.0, |_| f64::NAN)),
        }
    }
}

/// Noisy prefix sums of vectors by the tree, low-bit form.
pub fn prefixes(file: &Value, _: &Value) -> Read<Value> {
    let ((d, z), mut draws) = (matrix(file, "z")?, get(file, "noise")?);
    let tree: Arc<dyn Factorisation> = Arc::new(Tree::new((z.len() / d) as u64));
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
    let (q, d) = (norm(row)?.dual().exponent(), whole(row, "d", SIZE)?);
    let ((exponent, kappa), (multiplier, square)) = (han2022_tree::lemma_3_2_corrected(q, d), han2022_tree::lemma_3_3(q, d));
    Ok(if 2.0 <= q { (q, exponent, 1.0, kappa) } else { (q, 2.0, multiplier, square) })
}

pub fn law(_: &Value, row: &Value) -> Read<Value> {
    let ((q, exponent, multiplier, kappa), (d, mut y)) = (smooth(row)?, matrix(row, "direction")?);
    let (law, squares) = (GeneralizedGaussian::new(exponent, multiplier, 1.0), shaped(row, "r2", (y.len() / d, 1))?);
    for (y, square) in y.chunks_exact_mut(d).zip(squares) {
        law.scale(square.sqrt(), y);
    }
    let norm = Norm::of(exponent).ok_or("the exponent is below 1")?;
    let squares: Vec<f64> = y.chunks(d).map(|y| (multiplier * norm.size(y)).powi(2)).collect();
    Ok(json!({
        "q": q,
        "plus_exponent": exponent,
        "plus_multiplier": multiplier,
        "kappa": kappa,
        "y": y,
        "plus_norm_squared_of_y": squares,
    }))
}

pub fn levels(_: &Value, row: &Value) -> Read<Value> {
    let [n, d, beta, lipschitz, diameter] = numbers(row, "n d beta L D")?;
    let ((epsilon, delta), (q, _, _, kappa)) = (budget(row, "eps delta")?, smooth(row)?);
    let (n, e, p, s) = (n as u64, epsilon.get(), delta.get(), 2.0 * (beta * diameter + lipschitz));
    let (mu, nodes) = (gdp_mu(epsilon, delta), f64::from(n.max(1).ilog2() + 1));
    Ok(json!({
        "h": han2022_tree::levels(n),
        "kappa": kappa,
        "sigma_plus": han2022_tree::theorem_3_1(kappa, s, n, e, p),
        "laplace_scale_t1": han2022_choice::laplace_scale(diameter, beta, lipschitz, n, 1, e, p),
        "gdp_mu": mu,
        "sigma_gdp": from_lq(s, q, d as usize) * nodes.sqrt() / mu,
    }))
}

/// Features and response.
type Stated = (Vec<f64>, f64);

/// How many features there are, and the samples.
fn samples(file: &Value) -> Read<(usize, Vec<Stated>)> {
    let (d, x) = matrix(file, "X")?;
    let y = shaped(file, "y", (x.len() / d, 1))?;
    Ok((d, x.chunks_exact(d).map(<[f64]>::to_vec).zip(y).collect()))
}

fn sealed((x, y): &Stated) -> Raw<Sample<'_>> {
    Raw::seal(Sample { x, y: *y })
}

/// `(<x, theta> - y)²`, its slope clipped where the case says so.
fn gradient(case: &Value) -> Read<Arc<LinearModel>> {
    let clip = get::<Option<f64>>(case, "clip")?.unwrap_or(f64::INFINITY);
    Ok(Arc::new(LinearModel { loss: Arc::new(Squared { clip }) }))
}

pub fn baselines(file: &Value, _: &Value) -> Read<Value> {
    let mirror = |case: &Value| {
        let ([eta, rad], dual): (_, Vec<f64>) = (numbers(case, "eta rad")?, get(case, "dual")?);
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
    let ((d, samples), mut first): (_, VecDeque<Vec<f64>>) = (samples(case)?, get(case, "noise")?);
    let n = samples.len() as f64;
    let [lr, radius, kappa, lipschitz, beta, epsilon, delta] = numbers(case, "lr radius kappa L beta eps delta")?;
    let (plan, eta) = noisy_sfw::plan(n as u64, lr);
    let sigma = |s: f64| han2022_tree::sigma_plus(kappa, s, epsilon, delta);
    let later = first.split_off(first.len().min(1));
    let set = Arc::new(LpBall::new(norm(case)?, radius, d));
    let noises: (Box<dyn VectorNoise>, Box<dyn VectorNoise>) = (Box::new(Stored(first)), Box::new(Stored(later)));
    let privatizer = BatchGradients::new(gradient(case)?, d, None, plan, f64::INFINITY, noises);
    let (mut learner, mut streams) = (NoisySfw::new(privatizer, set, eta), LearnerStreams::new(unused(), unused()));
    samples.iter().try_for_each(|sample| learner.observe(sealed(sample), &mut streams))?;
    let found = json!({
        "eta": eta,
        "first": plan.first,
        "batch": plan.batch,
        "steps": plan.steps,
        "sigma0": sigma(4.0 * lipschitz / n),
        "sigma1": sigma(4.0 * beta * eta * 2.0 * radius / n.sqrt()),
    });
    Ok(json!({ "plan": found, "theta": learner.iterate() }))
}

fn descent(case: &Value) -> Read<Value> {
    let (d, samples) = samples(case)?;
    let n = samples.len();
    let [lr, radius, lipschitz, epsilon, delta] = numbers(case, "lr R L eps delta")?;
    let sigma = (8.0 * (1.0 / delta).ln()).sqrt() * lipschitz / epsilon;
    let eta = noisy_sgd::step(lr, radius, lipschitz, n as u64, d, Some((epsilon, delta)));
    let mut stored = StoredSamples::new(gradient(case)?, d, None, Box::new(Stored(get(case, "noise")?)));
    samples.iter().for_each(|sample| stored.samples.keep(sealed(sample)));
    let mut server = Descent::new(Arc::new(LpBall::new(Norm::MAX, radius, d)), eta);
    for at in indices(case, "index", n)? {
        server.step(stored.gradient_of(at, server.theta(), &mut unused()).ok_or("no such sample")?.value());
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

/// Shows samples to a learner: what each contributes without noise, the estimates without noise and the directions that the server
/// followed, vertices and iterates.
fn watched<L>(
    (mut learner, server): (L, fn(&L) -> &FrankWolfe),
    observe: impl Fn(&mut L, Raw<Sample<'_>>, &mut LearnerStreams) -> Result<(), Error>,
    (case, d, samples): (&Value, usize, &[Stated]),
) -> Read<Value> {
    let mut plain = PrefixGradients::new(1, gradient(case)?, d, start(case)?, None, None);
    let (mut sums, mut streams) = (vec![vec![0.0; d]], LearnerStreams::new(unused(), unused()));
    let (mut directions, mut v, mut theta) = (Vec::new(), Vec::new(), Vec::new());
    for sample in samples {
        sums.push(plain.release(server(&learner).query(), [sealed(sample)], &mut [&mut unused()])?.value().to_vec());
        observe(&mut learner, sealed(sample), &mut streams)?;
        let server = server(&learner);
        directions.push(server.direction.to_vec());
        v.push(server.vertex.to_vec());
        theta.push(server.iterate().to_vec());
    }
    let by_entry = |pair: &[Vec<f64>]| pair[1].iter().zip(&pair[0]).map(|(sum, last)| sum - last).collect::<Vec<f64>>();
    let g: Vec<_> = sums.windows(2).map(by_entry).collect();
    // eta = 1/(t + 1) turns sums into estimates.
    let scaled = |(t, sum): (u64, &Vec<f64>)| sum.iter().map(|sum| sum * step_size(1.0, t)).collect::<Vec<f64>>();
    let estimates: Vec<_> = (1..).zip(&sums[1..]).map(scaled).collect();
    Ok(json!({ "g": g, "estimates": estimates, "d": directions, "v": v, "final": theta.last(), "theta": theta }))
}

pub fn tree_run(file: &Value, case: &Value) -> Read<Value> {
    let ((d, samples), [radius]) = (samples(file)?, numbers(file, "radius")?);
    let set: Arc<dyn ConstraintSet> = Arc::new(LpBall::new(norm(file)?, radius, d));
    let tree = Tree::new(samples.len() as u64);
    let stored = Some((&tree as &dyn Factorisation, Box::new(Stored(get(file, "node_noise")?)) as Box<dyn VectorNoise>));
    let privatizer = PrefixGradients::new(1, gradient(case)?, d, start(case)?, None, stored);
    let learner = Tofw::new(privatizer, set, get(case, "lr")?);
    let observe = |learner: &mut Tofw, sample: Raw<Sample<'_>>, streams: &mut LearnerStreams| {
        learner.observe_all(vec![sample], std::slice::from_mut(streams))
    };
    Ok(stated(watched((learner, |learner| &learner.server), observe, (case, d, &samples))?, case))
}

pub fn choice_runs(file: &Value, _: &Value) -> Read<Value> {
    let [diameter, beta, lipschitz, epsilon, delta] = numbers(&file["parameters"], "D beta L eps delta")?;
    let n = whole(file, "parameters/n", ROUNDS)?;
    let base_scale = han2022_choice::laplace_scale(diameter, beta, lipschitz, n, 1, epsilon, delta);
    let ((d, samples), [radius]) = (samples(file)?, numbers(file, "radius")?);
    let noise = shaped(file, "unit_laplace", (samples.len(), 2 * d))?;
    let set: Arc<dyn ConstraintSet> = Arc::new(LpBall::new(Norm::MAX.dual(), radius, d));
    let run = |case: &Value| {
        let choice = get::<Option<f64>>(case, "scale_multiplier")?.map_or(Choice::Exact, |multiplier| {
            let scaled = |noise: &[f64]| noise.iter().map(|noise| noise * (multiplier * base_scale)).collect();
            Choice::Noisy(Box::new(Stored(noise.chunks(2 * d).map(scaled).collect())))
        });
        let vertices = set.vertices().ok_or("the ball lists no vertices")?;
        let privatizer = VertexChoice::new(gradient(case)?, d, start(case)?, None, vertices, choice);
        let learner = Pofw::new(privatizer, Arc::clone(&set), 1.0);
        let mut found = watched((learner, |learner| &learner.server), Pofw::observe, (case, d, &samples))?;
        found["d"] = found["estimates"].take();
        Ok(stated(found, case))
    };
    Ok(json!({ "base_scale_t1": base_scale, "runs": each(file, "runs", run)? }))
}
