//! Noisy prefix sums of the tree, and whole runs of `jdp-gp-ucb` and `local-jdp-gp-ucb` through the CPU backend on stored rewards and
//! stored noise.

use super::bandit::{Player, built, problem, setting};
use super::gp::quadrature_map;
use super::read::*;
use privateer::policy::{FeaturesPlan, jdp_gp_ucb};
use privateer_config::error::Error;
use privateer_privacy::sums::{Spectrum, SumsEntry, SumsFacts, SumsNeed, joint, local};

/// `(Z + Z^T)/sqrt(2)` of a stored draw, packed; with a border, its last column comes after the leading block.
pub fn symmetric(file: &Value, key: &str, n: usize, bordered: bool) -> Read<Vec<f64>> {
    let z = shaped(file, key, (n, n))?;
    let entry = |(i, j): (usize, usize)| (z[i * n + j] + z[j * n + i]) / std::f64::consts::SQRT_2;
    let last = n - usize::from(bordered);
    let border = (last..n).flat_map(|j| (0..last).map(move |i| (i, j)));
    Ok(triangle(last).chain(border).map(entry).collect())
}

/// Places of the upper triangle, row by row.
fn triangle(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (i..n).map(move |j| (i, j)))
}

fn unpacked(packed: &[f64], n: usize) -> Vec<f64> {
    let mut full = vec![0.0; n * n];
    for ((i, j), &entry) in triangle(n).zip(packed) {
        full[i * n + j] = entry;
        full[j * n + i] = entry;
    }
    full
}

/// Level and index of node k, which covers rounds k - lowbit(k) + 1 to k.
fn node(k: u64) -> (u32, u64) {
    (k.trailing_zeros(), k / (1 << k.trailing_zeros()) - 1)
}

/// The draws of the nodes that prefixes read, in the order in which they are drawn.
fn node_draws(file: &Value, rounds: u64, n: usize, bordered: bool) -> Read<VecDeque<Vec<f64>>> {
    let keys = (1..=rounds).map(node).map(|(level, index)| format!("node_noise/{level},{index}"));
    keys.map(|key| symmetric(file, &key, n, bordered)).collect()
}

/// The draws that each prefix of a stream reads, from 1: those that have a weight, where each is a unit vector.
pub fn nodes_read(factorisation: &dyn Factorisation) -> impl Iterator<Item = Vec<u64>> {
    let n = factorisation.rounds() as usize;
    let mut weights = factorisation.noise(Shape::Vector(n));
    (0..n).map(move |round| {
        let mut unit = |out: &mut [f64]| (0..).zip(out).for_each(|(at, out)| *out = f64::from(u8::from(at == round)));
        (1..).zip(weights.next(&mut unit)).filter(|(_, weight)| **weight != 0.0).map(|(draw, _)| draw).collect()
    })
}

/// Nodes, noise and noisy sum of every prefix from none to all.
pub fn tree(file: &Value, _: &Value) -> Read<Value> {
    let ((n, _), rounds) = (matrix(file, "items")?, whole(file, "T", ROUNDS)?);
    let draws = node_draws(file, rounds, n, false)?;
    let items = shaped(file, "items", (rounds as usize, n))?;
    let factorisation: Arc<dyn Factorisation> = Arc::new(Tree::new(rounds));
    // The noise alone, by sums of nothing.
    let mut sums = [0; 2].map(|_| (PrefixSums::new(&factorisation, Shape::Symmetric(n), 1.0), draws.clone()));
    let nothing = vec![0.0; n * n];
    let mut prefixes = vec![json!({ "nodes": [], "noise": nothing, "noisy_sum": nothing })];
    for (item, read) in items.chunks_exact(n).zip(nodes_read(factorisation.as_ref())) {
        let packed: Vec<f64> = triangle(n).map(|(i, j)| item[i] * item[j]).collect();
        sums[0].0.add(Raw::seal(&packed));
        let mut next = |at: usize| -> Read<Vec<f64>> {
            let (sums, draws) = &mut sums[at];
            Ok(unpacked(sums.next(&mut Noise::Replayed(draws))?.value(), n))
        };
        let nodes: Vec<(u32, u64)> = read.into_iter().map(node).collect();
        prefixes.push(json!({ "nodes": nodes, "noise": next(1)?, "noisy_sum": next(0)? }));
    }
    Ok(json!({ "prefixes": prefixes }))
}

/// A table as it is, in the place of a feature map.
#[derive(Debug)]
struct Given(FeatureTable);

impl FeaturesPlan for Given {
    fn build(&self, _problem: &Problem) -> Result<FeatureTable, Error> {
        Ok(self.0.clone())
    }
}

/// Lambda, shift, least and greatest eigenvalue, kappa.
pub fn joint_spectrum(sigma: f64, m: usize, rounds: u64, zeta: f64) -> Value {
    let nodes = dubey2021::nodes_printed(rounds);
    let lambda = dubey2021::spectrum(sigma, nodes, m, rounds, zeta);
    let kappa = dubey2021::kappa(sigma, nodes, lambda, m, rounds, zeta);
    json!({ "Lambda": lambda, "shift": 2.0 * lambda, "lam_min": lambda, "lam_max": 3.0 * lambda, "kappa": kappa })
}

/// The same of the local version, and its printed kappa; of the noise on matrices and on vectors.
pub fn local_spectrum((x, u): (f64, f64), m: usize, rounds: u64, zeta: f64) -> Value {
    let lambda = dubey2021_local::spectrum(m, rounds, zeta);
    json!({
        "Lambda": lambda,
        "shift": 2.0 * x * lambda,
        "lam_min": x * lambda,
        "lam_max": 3.0 * x * lambda,
        "kappa": dubey2021_local::kappa(u, x, lambda, m, rounds),
        "kappa_printed": dubey2021_local::kappa_printed(u, lambda, m, rounds),
    })
}

/// Mechanism and stored noise, and the spectrum of its law; what the file states of both.
fn noise(file: &Value, m: usize, rounds: u64, zeta: f64) -> Read<(SumsEntry, VecDeque<Vec<f64>>, Spectrum, Value)> {
    let params = &file["params"];
    if file["noise_matrix"].is_null() {
        let [sigma] = numbers(params, "sigma")?;
        let std = sigma * libm::sqrt(f64::from(dubey2021::nodes_printed(rounds)));
        let draws = node_draws(file, rounds, m + 1, true)?;
        let found = json!({ "spectrum": joint_spectrum(sigma, m, rounds, zeta) });
        return Ok((joint::ENTRIES[0], draws, Spectrum::Joint { gram: std, moment: std }, found));
    }
    let ([gram, moment, bound], (epsilon, delta)) = (numbers(params, "sigma_x sigma_u B")?, budget(params, "alpha beta")?);
    let draw = |(round, vector): (usize, Vec<f64>)| {
        let z = shaped(file, &format!("noise_matrix/{round}"), (m, m))?;
        // The lower triangle counts.
        Ok(triangle(m).map(|(i, j)| z[j * m + i]).chain(vector).collect())
    };
    let draws = get::<Vec<_>>(file, "noise_vector")?.into_iter().enumerate().map(draw).collect::<Read<_>>()?;
    let (a, b) = (epsilon.get(), delta.get());
    let sigma_u = dubey2021_local::sigma_reward_bounded(bound, a, b);
    let found = json!({
        "spectrum": local_spectrum((gram, moment), m, rounds, zeta),
        "params": { "sigma_x": dubey2021_local::sigma_gram(a, b), "sigma_u": sigma_u },
    });
    Ok((local::ENTRY, draws, Spectrum::Local { gram, moment }, found))
}

pub fn run(file: &Value, _: &Value) -> Read<Value> {
    let params = &file["params"];
    let [ridge, rho, scale, zeta, bound] = numbers(params, "lam rho width_scale zeta B")?;
    let (m, rounds): (usize, u64) = (whole(params, "m", SIZE)?, whole(params, "T", ROUNDS)?);
    let points: Vec<Vec<[f64; 1]>> = get(file, "X")?;
    let (arms, points) = (whole(params, "n", SIZE)?, points.concat().concat());
    let fits = points.len() as u64 == rounds * arms as u64 && m < 64 && whole::<usize>(params, "mbar", SIZE)? == m;
    ensure(fits, "the arms do not fit the rounds, or `mbar` nodes do not make `m` features")?;
    // The file's `eps_k` is 0: its bounds count the features as exact.
    let features = quadrature_map(params, kernel(params)?.as_ref(), &[1.0])?.table(&Points::new(1, points.clone()), None);
    let features = Given(FeatureTable { kernel_error: 0.0, ..features });
    let (mechanism, mut draws, spectrum, mut found) = noise(file, m, rounds, zeta)?;
    // As printed nothing is clipped where rewards are not bounded; the stored draws have the size that the file states.
    let calibration = Calibration::AsPrinted;
    let (setting, _) = setting(None, (bound, None), rounds)?;
    let mut facts = setting.facts.clone();
    facts.noise_variance = Some(rho * rho);
    let request = Request { mechanism: mechanism.name, calibration, budget: Budget::new(Some(1.0), Some(0.1))?, clip: None };
    let need = SumsNeed::of_features(m, rounds, rounds);
    let mut privatizer = (mechanism.build)(&request, &facts, need)?.privatizer();
    let rewards = shaped(file, "y", (rounds as usize, arms))?;
    let means = shaped(file, "f", (rounds as usize, arms))?;
    let keys = json!({
        "ridge": ridge,
        "failure_prob": zeta,
        "noise_std": rho,
        "initial": "lowest-index",
        "beta": { "kind": "scaled", "factor": scale },
        "repair": { "kind": "shift", "multiple": 1.0, "spectrum": "as-printed" },
    });
    let is_local = !file["noise_matrix"].is_null();
    let plan = built(&keys, |args| jdp_gp_ucb::parse_over(args, is_local, Arc::new(features)))?;
    let maker = (plan.prepare)(&problem(Points::new(1, points), None, rounds))?;
    let sums = Some(SumsFacts { calibration, clip: None, centre: 0.0, spectrum });
    let mut player = Player::new(maker.as_ref(), &Setting { sums, ..setting })?;
    let diagonal = found["spectrum"]["shift"].as_f64().unwrap_or(f64::NAN) + ridge;
    let (mut actions, mut regret, mut rows) = (Vec::new(), 0.0, Vec::new());
    for round in 0..rounds as usize {
        let subset: Vec<u32> = (round * arms..(round + 1) * arms).map(|arm| arm as u32).collect();
        let (point, beta) = player.ask(Some(&subset))?;
        let (beta, model) = (beta.ok_or("a round is not scored")?, player.model()?);
        // The posterior standard deviation is sqrt(ridge) times |phi| in the norm of V^{-1}.
        let width = beta * libm::sqrt(ridge);
        let ucb: Vec<f64> = subset.iter().map(|&point| model.exact(point as usize).upper(beta)).collect();
        let mut row = json!({ "beta_half": width / (scale * rho), "width": width, "ucb": ucb });
        if !at(file, &format!("rounds/{round}/V")).is_null() {
            let (precision, moment, theta) = inside(player.policy.as_mut(), m, diagonal)?;
            (row["V"], row["u"], row["theta"]) = (json!(precision), json!(moment), json!(theta));
        }
        rows.push(row);
        actions.push(point - round * arms);
        let best = means[round * arms..(round + 1) * arms].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        regret += best - means[point];
        let query = player.policy.query(point);
        let signal = privatizer.release(&query, Raw::seal(rewards[point]), Noise::Replayed(&mut draws));
        player.policy.update(point, &signal);
    }
    (found["actions"], found["rounds"], found["regret"]) = (json!(actions), json!(rows), json!(regret));
    Ok(stated(found, file))
}

/// V, u and theta of a server: the released sums, and the weights of its model.
fn inside(policy: &mut dyn Policy, m: usize, diagonal: f64) -> Read<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let entries: Vec<f64> = policy.server().ok_or("no server")?.parameters()["entries"].read()?;
    let (gram, moment) = entries.split_at(m * (m + 1) / 2);
    let mut precision = unpacked(gram, m);
    (0..m).for_each(|i| precision[i * m + i] += diagonal);
    let factor = policy.scores().and_then(|model| model.factor()).ok_or("no factor")?;
    Ok((precision, moment.to_vec(), factor.weights.to_vec()))
}
