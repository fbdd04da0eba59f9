//! The modeler [Kharkovskii2020, algorithm 2]: posteriors over released inputs, and whole sequences of GP-UCB.

use super::bandit::{released, said, unused_streams};
use super::curator::with_tolerance;
use super::outcome::{Outcome, Part};
use super::read::{self, indices, number, numbers, points};
use privateer::engine::AskedPolicy;
use privateer::policy::{KnownInputs, Problem, ReleasedFacts, Setting, SharedInputs};
use privateer::registry::{POLICIES, find};
use privateer_backend::{Backend, Cpu};
use privateer_config::error::Sources;
use privateer_config::params::{Args, Entry, Node, Sink, Table, Value as Parameter};
use privateer_gp::kernel::{Kernel, Lengthscales, squared_exponential::SquaredExponential};
use privateer_gp::posterior::{ExactPosterior, Posterior};
use privateer_gp::score::{Moments, lowest_within_tie};
use privateer_gp::{KernelGram, Points};
use privateer_numerics::rng::Streams;
use privateer_privacy::RewardFacts;
use privateer_privacy::curator::{Inputs, projection::centred};
use serde_json::Value;
use std::sync::Arc;

pub fn check_posterior(file: &Value) -> Outcome {
    with_tolerance(file, &["Z", "observed", "y", "sets"], |outcome| {
        for (at, set) in file["sets"].as_array().into_iter().flatten().enumerate() {
            let parts: [Part<Vec<Moments>>; 2] =
                [("mean", |all| all.iter().map(|m| m.mean).collect()), ("var", |all| all.iter().map(|m| m.variance).collect())];
            outcome.compare_parts(&format!("set {at}"), &moments(file, set), &parts, set);
        }
    })
}

fn kernel(value: &Value) -> Result<Arc<dyn Kernel>, String> {
    let (l, variance) = (number(value, "l")?, number(value, "sigma_y2")?);
    if l <= 0.0 || variance <= 0.0 || number(value, "sigma_n2")? <= 0.0 {
        return Err("`l`, `sigma_y2` and `sigma_n2` must be positive".to_owned());
    }
    Ok(Arc::new(SquaredExponential::new(Lengthscales::Isotropic(l), variance)))
}

/// Posterior at all rows. A prior mean moves rewards and means alike.
fn moments(file: &Value, set: &Value) -> Result<Vec<Moments>, String> {
    let z = points(file, "Z")?;
    let (observed, y) = (indices(file, "observed", z.n_points())?, numbers(file, "y")?);
    if observed.len() != y.len() {
        return Err("`observed` and `y` have different lengths".to_owned());
    }
    let prior_mean = number(set, "prior_mean")?;
    let mut posterior = ExactPosterior::new(Arc::new(KernelGram::new(kernel(set)?, z)), number(set, "sigma_n2")?);
    for (&point, y) in observed.iter().zip(y) {
        posterior.observe(point, y - prior_mean);
    }
    let all = posterior.all_moments();
    Ok(all.into_iter().map(|m| Moments { mean: m.mean + prior_mean, ..m }).collect())
}

pub fn check(file: &Value) -> Outcome {
    let inputs = ["X", "Z_projected", "f", "noise", "initial", "l", "sigma_y2", "sigma_n2", "delta_prime", "rounds", "sequences"];
    with_tolerance(file, &inputs, |outcome| {
        for (at, sequence) in file["sequences"].as_array().into_iter().flatten().enumerate() {
            let parts: [Part<Sequence>; 4] = [
                ("sequence", |made| made.points.iter().map(|&point| point as f64).collect()),
                ("values", |made| made.values.clone()),
                ("beta", |made| made.betas.clone()),
                ("simple_regret", |made| vec![made.simple_regret]),
            ];
            outcome.compare_parts(&format!("run {at}"), &run(file, sequence), &parts, sequence);
            // The registered policy plays the same points where it is the policy of the case.
            if sequence["acq"] == "std" && sequence["exclude_queried"] == false {
                let found = by_policy(file, sequence).map(|all| all.iter().map(|&point| point as f64).collect());
                outcome.compare(&format!("run {at} sequence of gp-ucb"), found, &sequence["sequence"]);
            }
        }
    })
}

struct Sequence {
    points: Vec<usize>,
    values: Vec<f64>,
    betas: Vec<f64>,
    simple_regret: f64,
}

/// What the runs share.
struct Setup {
    inputs: Points,
    kernel: Arc<dyn Kernel>,
    ridge: f64,
    f: Vec<f64>,
    noise: Vec<f64>,
    initial: usize,
    rounds: usize,
    failure_prob: f64,
}

impl Setup {
    fn of(file: &Value, sequence: &Value) -> Result<Self, String> {
        let inputs = match sequence["space"].as_str() {
            Some("original") => {
                let x = points(file, "X")?;
                Points::new(x.dimension(), centred(&Inputs::new(x.dimension(), Arc::clone(x.coordinates()))))
            }
            Some("projected") => points(file, "Z_projected")?,
            _ => return Err("`space` is neither `original` nor `projected`".to_owned()),
        };
        let (f, noise, rounds) = (numbers(file, "f")?, numbers(file, "noise")?, read::size(file, "rounds")?);
        let initial = indices(file, "initial", f.len())?;
        if f.len() != inputs.n_points() || noise.len() <= rounds {
            return Err("`f` or `noise` is too short".to_owned());
        }
        Ok(Self {
            inputs,
            kernel: kernel(file)?,
            ridge: number(file, "sigma_n2")?,
            f,
            noise,
            initial: *initial.first().ok_or("`initial` is empty")?,
            rounds,
            failure_prob: number(file, "delta_prime")?,
        })
    }

    fn beta(&self, t: usize) -> f64 {
        let (n, t, pi) = (self.f.len() as f64, t as f64, std::f64::consts::PI);
        2.0 * libm::log(n * t * t * pi * pi / (6.0 * self.failure_prob))
    }
}

/// Every point scored in every round, for acquisitions that the library does not offer as well.
fn run(file: &Value, sequence: &Value) -> Result<Sequence, String> {
    let setup = Setup::of(file, sequence)?;
    let squared = match sequence["acq"].as_str() {
        Some("std") => false,
        Some("var") => true,
        _ => return Err("`acq` is neither `std` nor `var`".to_owned()),
    };
    let exclude = sequence["exclude_queried"].as_bool().ok_or("`exclude_queried` is not stated")?;
    let gram = Arc::new(KernelGram::new(Arc::clone(&setup.kernel), setup.inputs.clone()));
    let mut posterior = ExactPosterior::new(gram, setup.ridge);
    let mut made = Sequence { points: vec![setup.initial], values: Vec::new(), betas: Vec::new(), simple_regret: 0.0 };
    posterior.observe(setup.initial, setup.f[setup.initial] + setup.noise[0]);
    for t in 1..=setup.rounds {
        let beta = setup.beta(t);
        let width = |m: Moments| if squared { m.variance } else { m.variance.sqrt() };
        let all = posterior.all_moments().into_iter().map(|m| m.mean + beta.sqrt() * width(m)).enumerate();
        let scored: Vec<(usize, f64)> = all.filter(|(point, _)| !exclude || !made.points.contains(point)).collect();
        let point = lowest_within_tie(&scored).ok_or("a score is not finite")?;
        made.values.push(scored.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max));
        made.betas.push(beta);
        made.points.push(point);
        posterior.observe(point, setup.f[point] + setup.noise[t]);
    }
    let best = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
    made.simple_regret = best(&mut setup.f.iter().copied()) - best(&mut made.points.iter().map(|&point| setup.f[point]));
    Ok(made)
}

/// The registered policy, asked and told.
fn by_policy(file: &Value, sequence: &Value) -> Result<Vec<usize>, String> {
    let setup = Setup::of(file, sequence)?;
    let entry = |key: &str, value: Parameter| Entry { key: key.to_owned(), key_span: None, node: Node::bare(value) };
    let entries = vec![
        entry("ridge", Parameter::Float(setup.ridge)),
        entry("failure_prob", Parameter::Float(setup.failure_prob)),
        entry("count_start", Parameter::Bool(false)),
        entry("beta", Parameter::Text("theory".to_owned())),
    ];
    let (table, sink) = (Table { entries, span: None }, Sink::new(Sources::default()));
    let args = Args::new(&table, "policy", &sink);
    let plan = (find(POLICIES, "gp-ucb").ok_or("the policy is not registered")?.build)(&args);
    args.finish();
    sink.into_result().map_err(said)?;
    let inputs = SharedInputs {
        gram: Arc::new(KernelGram::new(Arc::clone(&setup.kernel), setup.inputs.clone())),
        points: Some(setup.inputs.clone()),
        kernel: Some(Arc::clone(&setup.kernel)),
    };
    let problem = Problem {
        inputs: KnownInputs::Shared(inputs),
        rounds: setup.rounds as u64 + 1,
        streams: Streams::new(0, "conformance"),
        memory_bytes: 1e9,
        tables: Default::default(),
    };
    let maker = plan.prepare(&problem).map_err(said)?;
    let facts = RewardFacts { bound: 1.0, noise_bound: None, range: None, noise_variance: None, rounds: problem.rounds };
    let facts_released = ReleasedFacts::unchanged(None);
    let setting = Setting { facts, released: facts_released, sums: None, noise_scale: None, train: None, released_inputs: None };
    let domain = Cpu::default().prepare(&maker.basis().ok_or("the policy has no basis")?).map_err(said)?;
    let mut policy = maker.make(&setting).map_err(said)?;
    // The starting point is the file's and not the policy's own draw.
    policy.update(setup.initial, &released(setup.f[setup.initial] + setup.noise[0])?);
    let mut asked = AskedPolicy::new(policy, unused_streams(), Some(&domain));
    let mut all = vec![setup.initial];
    for t in 1..=setup.rounds {
        let point = asked.ask().map_err(said)?;
        all.push(point);
        asked.tell(&released(setup.f[point] + setup.noise[t])?);
    }
    Ok(all)
}
