//! Registered policies on stored problems, and whole runs of them through the CPU backend on stored rewards.

use super::read::{Read, all, ensure, get, kernel, last_true, line, list, rounds, stated};
use privateer::engine::decide;
use privateer::policy::moma_gp_ucb::median_distances;
use privateer::policy::{
    KnownInputs, Policy, PolicyMaker, PolicyStreams, Problem, Proposal, ReleasedFacts, Setting, SharedInputs,
};
use privateer::registry::{MECHANISMS, POLICIES, find};
use privateer_backend::{Backend, Cpu, Screen};
use privateer_config::error::Sources;
use privateer_config::params::{Args, Entry, Node, Sink, Table, Value as Written};
use privateer_gp::kernel::{Kernel, Lengthscales, squared_exponential::SquaredExponential};
use privateer_gp::nystrom::Embedding;
use privateer_gp::posterior::{ExactPosterior, SketchedPosterior};
use privateer_gp::score::{Candidates, GramSource, Moments, ScoreModel, TrialScore};
use privateer_gp::{KernelGram, Points, tabulated};
use privateer_numerics::linalg::solve_lower;
use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::{Budget, Calibration, Query, Raw, Released, Request, RewardFacts, RewardMechanism, Signal};
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Within R.
    Bounded,
    /// Laplace noise of this scale.
    Laplace(f64),
    /// Bounded moments, v and c.
    Heavy,
}

/// What a policy reads of the problem: a row with B, R, lam, delta, approx_eps and T, and v and c under `Noise::Heavy`.
pub struct Terms {
    row: Value,
    bound: f64,
    noise_bound: f64,
    pub ridge: f64,
    pub rounds: u64,
    pub noise: Noise,
}

impl Terms {
    pub fn read(row: &Value, noise: Noise) -> Read<Self> {
        let [bound, noise_bound, ridge] = all(row, ["B", "R", "lam"])?;
        Ok(Self { row: row.clone(), bound, noise_bound, ridge, rounds: rounds(row, "T")?, noise })
    }

    /// What a policy is told of the problem, such that the formulas of the noise follow.
    pub fn setting(&self) -> Setting {
        let laplace_scale = if let Noise::Laplace(scale) = self.noise { Some(scale) } else { None };
        let noise_bound = (self.noise != Noise::Heavy).then_some(self.noise_bound);
        let released = ReleasedFacts {
            mechanism_variance: laplace_scale.map_or(0.0, |scale| 2.0 * scale * scale),
            laplace_scale,
            mechanism_scale: laplace_scale.is_none().then_some(0.0),
            ..ReleasedFacts::unchanged(noise_bound.map(|noise| self.bound + noise))
        };
        Setting { noise_scale: noise_bound, released, ..setting(self.bound, noise_bound, self.rounds) }
    }

    /// The registered policy over these points; with a dictionary of points, or one drawn every round where it is empty.
    pub fn maker(
        &self,
        policy: &str,
        (kernel, points): (Arc<dyn Kernel>, Points),
        (scale, dictionary, users): (f64, &[f64], Option<u64>),
    ) -> Read<Box<dyn PolicyMaker>> {
        let (row, beta) = (&self.row, json!({ "kind": "scaled", "factor": scale }));
        let mut keys = json!({ "initial": "lowest-index", "ridge": row["lam"], "failure_prob": row["delta"], "beta": beta });
        match policy {
            "moma-gp-ucb" if self.noise == Noise::Heavy => keys["noise_moment"] = row["c"].clone(),
            "tgp-ucb" | "ata-gp-ucb" if self.noise == Noise::Heavy => keys["moment"] = row["v"].clone(),
            _ => {}
        }
        if ["ata-gp-ucb", "moma-gp-ucb"].contains(&policy) {
            keys["accuracy"] = row["approx_eps"].clone();
            if !dictionary.is_empty() {
                keys["resample"] = json!({ "kind": "fixed", "points": dictionary });
            }
        }
        if let Some(users) = users {
            keys["k"] = json!(users);
        }
        registered(policy, &keys, problem(points, Some(kernel), self.rounds))
    }
}

/// A setting of rewards that are released as they are.
pub fn setting(bound: f64, noise_bound: Option<f64>, rounds: u64) -> Setting {
    Setting {
        facts: RewardFacts { bound, noise_bound, range: None, noise_variance: None, rounds },
        released: ReleasedFacts::unchanged(None),
        sums: None,
        noise_scale: None,
        train: None,
        released_inputs: None,
    }
}

/// Known points, with a kernel or with features that the policy brings.
pub fn problem(points: Points, kernel: Option<Arc<dyn Kernel>>, rounds: u64) -> Problem {
    let covariance = kernel.clone().unwrap_or_else(|| Arc::new(privateer_gp::kernel::linear::LinearKernel::new(1.0, 1.0)));
    let gram = tabulated(KernelGram::new(covariance, points.clone()));
    let inputs = KnownInputs::Shared(SharedInputs { gram, points: Some(points), kernel });
    let streams = Streams::new(0, "conformance");
    Problem { inputs, table_points: usize::MAX, rounds, streams, memory_bytes: 1e9, tables: Default::default() }
}

pub fn registered(policy: &str, keys: &Value, problem: Problem) -> Read<Box<dyn PolicyMaker>> {
    let entry = find(POLICIES, policy).ok_or("the policy is not registered")?;
    Ok((built(keys, |args| (entry.build)(args))?.prepare)(&problem)?)
}

/// Builds what reads these keys of a spec.
pub fn built<T>(keys: &Value, build: impl FnOnce(&Args<'_>) -> T) -> Read<T> {
    let (table, sink) = (table(keys), Sink::new(Sources::default()));
    let args = Args::new(&table, "policy", &sink);
    let made = build(&args);
    args.finish();
    sink.into_result()?;
    Ok(made)
}

fn table(keys: &Value) -> Table {
    let entry = |(key, value): (&String, &Value)| Entry { key: key.clone(), key_span: None, node: written(value) };
    Table { entries: keys.as_object().into_iter().flatten().map(entry).collect(), span: None }
}

fn written(value: &Value) -> Node {
    Node::bare(match value {
        Value::Object(_) => Written::Table(table(value)),
        Value::Array(items) => Written::Array(items.iter().map(written).collect()),
        Value::String(text) => Written::Text(text.clone()),
        Value::Bool(flag) => Written::Bool(*flag),
        number => number.as_i64().map_or_else(|| Written::Float(number.as_f64().unwrap_or(f64::NAN)), Written::Integer),
    })
}

pub fn scores(policy: &mut dyn Policy) -> Read<&dyn ScoreModel> {
    Ok(policy.scores().ok_or("the policy has no model")?)
}

pub fn unused_streams() -> PolicyStreams {
    PolicyStreams { start: unused(), own: unused() }
}

/// A stream that nothing draws from.
pub fn unused() -> Stream {
    Streams::new(0, "conformance").of(0, Purpose::Noise)
}

pub fn screen(maker: &dyn PolicyMaker) -> Read<Box<dyn Screen>> {
    Ok(Cpu::default().prepare(&maker.basis().ok_or("the policy has no basis")?)?.open(1))
}

/// The policy's next point, of these alone, and the beta that it was scored with.
pub fn ask(policy: &mut dyn Policy, screen: &mut dyn Screen, subset: Option<&[u32]>) -> Read<(usize, Option<f64>)> {
    let beta = match policy.propose(&mut unused_streams()) {
        Proposal::Play(point) => return Ok((point, None)),
        Proposal::Score { beta } => beta,
        _ => return Err("a round is not scored".into()),
    };
    let policy_model = policy.model().ok_or("the policy has no model")?;
    let (model, change) = policy_model.scored();
    let mut answer = [Candidates::default()];
    screen.round(&[TrialScore { subset, ..TrialScore::new(0, change, beta, model) }], &mut answer)?;
    let point = decide(&answer[0], model, beta, &mut Vec::new())?;
    policy_model.screened();
    Ok((point, Some(beta)))
}

/// The reward as it is, through the mechanism `none`.
pub fn released(reward: f64) -> Read<Released<Signal>> {
    let mut privatizer = mechanism("none", Calibration::Tight, None, (0.0, 0.0))?.privatizer();
    Ok(privatizer.release(&Query::default(), Raw::seal(reward), (&mut unused()).into()))
}

/// A registered mechanism for rewards in +-(B + R).
pub fn mechanism(
    name: &str,
    calibration: Calibration,
    epsilon: Option<f64>,
    (bound, noise_bound): (f64, f64),
) -> Read<Arc<dyn RewardMechanism>> {
    let entry = MECHANISMS.iter().find(|entry| entry.name == name).ok_or("the mechanism is not registered")?;
    let budget = Budget::new(epsilon, None)?;
    let request = Request { mechanism: entry.name, calibration, budget, clip: None };
    Ok((entry.build)(&request, &setting(bound, Some(noise_bound), 1).facts)?)
}

/// The registered policy over points too far apart to tell of each other.
pub fn apart(terms: &Terms, policy: &str, variance: f64, dictionary: &[f64], users: Option<u64>) -> Read<Box<dyn PolicyMaker>> {
    let kernel: Arc<dyn Kernel> = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(0.01), variance));
    terms.maker(policy, (kernel, Points::new(1, (0..50).map(f64::from).collect())), (1.0, dictionary, users))
}

/// The truncation level of `ata-gp-ucb` with `m` features, from the largest first reward that moves its mean.
pub fn level_over(terms: &Terms, m: usize) -> Read<f64> {
    let dictionary: Vec<f64> = (0..m).map(|point| point as f64).collect();
    let maker = apart(terms, "ata-gp-ucb", 1.0, &dictionary, None)?;
    let moves = |reward: f64| {
        let mut policy = maker.make(&terms.setting())?;
        policy.propose(&mut unused_streams());
        policy.update(0, &released(reward)?);
        let mean = scores(policy.as_mut())?.exact(0).mean;
        Ok(0.5 * reward < mean * (1.0 + terms.ridge))
    };
    // The only coordinate of V^{-1/2} phi that is not 0 is 1/sqrt(1 + ridge).
    Ok(last_true(1e-6, 1e9, 100, moves)? / libm::sqrt(1.0 + terms.ridge))
}

/// Whether a model took this reward as 0 at a point with these moments before, from how far its mean moved.
fn is_truncated(before: Moments, mean: f64, reward: f64, ridge: f64) -> bool {
    let admitted = before.mean + (mean - before.mean) * (before.variance + ridge) / before.variance;
    admitted.abs() < (admitted - reward).abs()
}

/// Rounds behind the rows of `mean_after_round`.
const MEANS_AFTER: [u64; 4] = [1, 2, 10, 25];

pub fn sequences(file: &Value) -> Read<Value> {
    let runs = file["runs"].as_object().into_iter().flatten().map(|(name, run)| Ok((name.clone(), play(file, run, name)?)));
    Ok(json!({ "runs": runs.collect::<Read<serde_json::Map<String, Value>>>()? }))
}

fn play(file: &Value, run: &Value, name: &str) -> Read<Value> {
    let [scale, laplace_scale] = all(run, ["params/scale", "params/laplace_scale"])?;
    let (policy, noise) = match name.split_once('_') {
        Some((policy, "ldp")) => (policy, Noise::Laplace(laplace_scale)),
        Some((policy, "heavy")) => (policy, Noise::Heavy),
        Some((policy, _)) => (policy, Noise::Bounded),
        None => return Err(format!("`{name}` names no policy and noise").into()),
    };
    let policy = if policy.ends_with("gp") { format!("{policy}-ucb") } else { format!("{policy}-gp-ucb") };
    let mut row = run["params"].clone();
    ["B", "delta", "approx_eps", "T"].into_iter().for_each(|key| row[key] = file[key].clone());
    let terms = Terms::read(&row, noise)?;
    let (points, users): (_, Option<u64>) = (line(file, "X")?, get(run, "k")?);
    let (n, epoch) = (points.n_points(), users.unwrap_or(1).max(1));
    let draws = format!("noise/{}", get::<String>(run, "noise")?);
    let (values, draws) = (list(file, "f", n)?, list(file, &draws, terms.rounds as usize)?);
    let gram = tabulated(KernelGram::new(kernel(file)?, points.clone()));
    let dictionary: Vec<f64> = get(file, "dictionary")?;
    let maker = terms.maker(&policy, (kernel(file)?, points), (scale, &dictionary, users))?;
    let mut epochs = users.map(|users| Epochs::new(&gram, terms.ridge, &dictionary, users as usize));
    let mut screen = screen(maker.as_ref())?;
    let mut policy = maker.make(&terms.setting())?;
    let (mut played, mut truncated, mut means_after) = (Vec::new(), Vec::new(), Vec::new());
    let (mut chosen, mut distances) = (Vec::new(), Vec::new());
    for (round, draw) in (1u64..).zip(draws) {
        let (point, beta) = ask(policy.as_mut(), screen.as_mut(), None)?;
        ensure(beta.is_some() || (round - 1) % epoch != 0, "the first round of an epoch is not scored")?;
        let (before, reward) = (scores(policy.as_mut())?.exact(point), values[point] + draw);
        policy.update(point, &released(reward)?);
        let model = scores(policy.as_mut())?;
        if is_truncated(before, model.exact(point).mean, reward, terms.ridge) {
            truncated.push(round);
        }
        played.push((point, beta));
        if MEANS_AFTER.contains(&round) {
            means_after.extend((0..n).map(|point| model.exact(point).mean));
        }
        if let Some(epochs) = &mut epochs
            && let Some((medians, estimate)) = epochs.take(point, reward, model)?
        {
            distances.extend(medians);
            chosen.push(estimate);
        }
    }
    let model = scores(policy.as_mut())?;
    let (means, variances): (Vec<f64>, Vec<f64>) = (0..n).map(|point| model.exact(point)).map(|m| (m.mean, m.variance)).unzip();
    let idx: Vec<usize> = played.iter().map(|(point, _)| *point).collect();
    let (epoch_points, betas): (Vec<usize>, Vec<f64>) =
        played.into_iter().filter_map(|(point, beta)| Some((point, beta?))).unzip();
    // Over a fixed dictionary the number of features, and with it beta, is the same from the second update on.
    let mut found = stated(
        json!({
            "beta": betas,
            "beta_first": betas.first(),
            "beta_rest": farthest(&betas[1..], &run["beta_rest"]),
            "epoch_points": epoch_points,
            "chosen_j": chosen,
            "r": distances,
            "mean_after_round": means_after,
            "truncated_rounds": truncated,
        }),
        run,
    );
    if name.starts_with("ata") {
        // One level for all rounds: the dictionary is fixed.
        found["b_tau"] = json!(level_over(&terms, model.basis_points().len())?);
        found["theta_final"] = json!(theta(gram.as_ref(), model)?);
    }
    (found["idx"], found["mean_final"], found["var_final"]) = (json!(idx), json!(means), json!(variances));
    Ok(found)
}

/// Of numbers that are all one, that which is farthest from what the file states.
fn farthest(numbers: &[f64], stated: &Value) -> Value {
    let distance = |x: &f64| (x - stated.as_f64().unwrap_or(f64::NAN)).abs();
    json!(numbers.iter().max_by(|a, b| distance(a).total_cmp(&distance(b))))
}

/// The k estimates of `moma-gp-ucb` over a fixed dictionary, computed from the rewards that the policy is told.
struct Epochs {
    posterior: SketchedPosterior,
    k: usize,
    /// Rewards of the current epoch.
    rewards: Vec<f64>,
    /// Sums of each user's rewards at each visited point.
    sums: Vec<f64>,
}

impl Epochs {
    fn new(gram: &Arc<dyn GramSource>, ridge: f64, dictionary: &[f64], k: usize) -> Self {
        let bound = ExactPosterior::prior_bound(gram.as_ref());
        let mut posterior = SketchedPosterior::new(Arc::clone(gram), bound, ridge, true);
        posterior.set_dictionary(dictionary.iter().map(|&point| point as u32).collect(), None);
        posterior.refresh();
        Self { posterior, k, rewards: Vec::new(), sums: Vec::new() }
    }

    /// Takes one reward; at the end of an epoch, the median distances and the estimate whose means the policy's model has.
    fn take(&mut self, point: usize, reward: f64, model: &dyn ScoreModel) -> Read<Option<(Vec<f64>, usize)>> {
        let (posterior, k) = (&mut self.posterior, self.k);
        self.rewards.push(reward);
        if self.rewards.len() < k {
            return Ok(None);
        }
        let slot = posterior.visit(point);
        posterior.follow(slot);
        self.sums.resize(posterior.visits().n_distinct() * k, 0.0);
        self.sums[slot * k..].iter_mut().zip(self.rewards.drain(..)).for_each(|(sum, reward)| *sum += reward);
        let moments = posterior.moments(&self.sums, k);
        let mut whitened = moments.clone();
        posterior.whiten(&mut whitened);
        let medians = median_distances(&(0..k).map(|user| whitened.column(user)).collect::<Vec<_>>());
        let mut apart = |user: usize| {
            let mut theta = moments.column(user);
            posterior.solve(&mut theta);
            posterior.set_theta(theta);
            let points = 0..posterior.basis().n_points();
            points.map(|point| (posterior.mean(point) - model.exact(point).mean).abs()).fold(0.0, f64::max)
        };
        let chosen = (0..k).find(|&user| apart(user) < 1e-12).ok_or("the policy's means are those of no estimate")?;
        Ok(Some((medians, chosen)))
    }
}

/// `O L^{-1}` times the means of the dictionary's points, which are `L` times the weights of their coordinates.
fn theta(gram: &dyn GramSource, model: &dyn ScoreModel) -> Read<Vec<f64>> {
    let embedding = Embedding::of(model.basis_points(), |a, b| gram.entry(a as usize, b as usize));
    let mut coordinates: Vec<f64> = embedding.points().iter().map(|&point| model.exact(point as usize).mean).collect();
    solve_lower(embedding.factor(), &mut coordinates);
    let rotation = embedding.rotation().ok_or("the covariance is not finite")?;
    let rows = rotation.chunks_exact(embedding.m());
    Ok(rows.map(|row| row.iter().zip(&coordinates).map(|(a, b)| a * b).sum()).collect())
}
