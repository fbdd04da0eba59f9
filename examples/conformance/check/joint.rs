//! Noisy prefix sums of the tree, and whole runs of `jdp-gp-ucb` and `local-jdp-gp-ucb` through the CPU backend on stored rewards and
//! stored noise.

use super::bandit::{said, table, unused_streams};
use super::outcome::Outcome;
use super::read::{self, field, matrix, number, numbers};
use privateer::engine::decide;
use privateer::policy::{FeaturesPlan, KnownInputs, Policy, Problem, Proposal, ReleasedFacts, Setting, SharedInputs};
use privateer::policy::{jdp_gp_ucb, local_jdp_gp_ucb};
use privateer_backend::{Backend, Cpu};
use privateer_config::error::{Error, Sources};
use privateer_config::params::{Args, Sink, Value as Key};
use privateer_gp::kernel::linear::LinearKernel;
use privateer_gp::score::{Candidates, FeatureTable, TrialScore};
use privateer_gp::{KernelGram, Points, tabulated};
use privateer_numerics::linalg::eigen_symmetric;
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::printed::{dubey2021, dubey2021_local};
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::streams::{Factorisation, PrefixSums, Shape};
use privateer_privacy::sums::{Epochs, Spectrum, SumsFacts, SumsNeed, joint, local};
use privateer_privacy::{Calibration, Privatizer, Raw, RewardFacts};
use serde_json::Value;
use std::sync::Arc;

/// `(Z + Z^T)/sqrt(2)` of a stored draw, packed; with a border, its last column comes after the leading block.
fn symmetric(draw: &Value, n: usize, bordered: bool) -> Result<Vec<f64>, String> {
    let wrapped = serde_json::json!({ "draw": draw });
    let (width, z) = matrix(&wrapped, "draw")?;
    if width != n || z.len() != n * n {
        return Err(format!("a draw is not {n} x {n}"));
    }
    let entry = |i: usize, j: usize| (z[i * n + j] + z[j * n + i]) / libm::sqrt(2.0);
    let last = if bordered { n - 1 } else { n };
    let mut packed: Vec<f64> = (0..last).flat_map(|i| (i..last).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect();
    if bordered {
        packed.extend((0..last).map(|i| entry(i, last)));
    }
    Ok(packed)
}

/// The draws of the nodes that prefixes read, in the order in which they are drawn: node k covers rounds k - lowbit(k) + 1 to k.
fn node_draws(file: &Value, rounds: u64, n: usize, bordered: bool) -> Result<Vec<Vec<f64>>, String> {
    let node = |k: u64| (k.trailing_zeros(), k / (1 << k.trailing_zeros()) - 1);
    (1..=rounds)
        .map(|k| {
            let (level, index) = node(k);
            symmetric(field(field(file, "node_noise")?, &format!("{level},{index}"))?, n, bordered)
        })
        .collect()
}

pub fn check_tree(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    let column = |key: &str| -> Value {
        let prefixes = file["prefixes"].as_array().cloned().unwrap_or_default();
        Value::Array(prefixes.iter().map(|prefix| prefix[key].clone()).collect())
    };
    let found = prefixes(file);
    outcome.compare("nodes", found.as_ref().map(|found| found.0.clone()).map_err(Clone::clone), &column("nodes"));
    outcome.compare("noise", found.as_ref().map(|found| found.1.clone()).map_err(Clone::clone), &column("noise"));
    outcome.compare("noisy_sum", found.map(|found| found.2), &column("noisy_sum"));
    outcome.note_rest(file, &["T", "levels", "dim", "items", "node_noise", "prefixes"]);
    outcome
}

/// Nodes, noise and noisy sums.
type Prefixes = (Vec<f64>, Vec<f64>, Vec<f64>);

/// Of every prefix from none to all.
fn prefixes(file: &Value) -> Result<Prefixes, String> {
    let (n, items) = matrix(file, "items")?;
    let rounds = read::rounds(file, "T")?;
    let mut draws = node_draws(file, rounds, n, false)?.into_iter();
    let factorisation: Arc<dyn Factorisation> = Arc::new(Tree::new(rounds));
    let mut sums = PrefixSums::new(&factorisation, Shape::Symmetric(n), 1.0);
    // The noise alone, by nodes of one draw each: which nodes a prefix reads is what the weights of the draws say.
    let mut noise_alone = PrefixSums::new(&factorisation, Shape::Symmetric(n), 1.0);
    let mut weights = factorisation.noise(Shape::Vector(rounds as usize));
    let (mut nodes, mut noise, mut noisy) = (Vec::new(), vec![0.0; n * n], vec![0.0; n * n]);
    for (round, item) in items.chunks_exact(n).enumerate() {
        let draw = draws.next().ok_or("too few nodes")?;
        let packed: Vec<f64> = (0..n).flat_map(|i| (i..n).map(move |j| (i, j))).map(|(i, j)| item[i] * item[j]).collect();
        sums.add(Raw::seal(&packed));
        let over = |exhausted: privateer_privacy::streams::Exhausted| exhausted.to_string();
        noisy.extend(unpacked(sums.next(&mut |out| out.copy_from_slice(&draw)).map_err(over)?.value(), n));
        noise.extend(unpacked(noise_alone.next(&mut |out| out.copy_from_slice(&draw)).map_err(over)?.value(), n));
        let read = weights.next(&mut |out| {
            out.fill(0.0);
            out[round] = 1.0;
        });
        for (k, _) in read.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            let node = k as u64 + 1;
            nodes.extend([f64::from(node.trailing_zeros()), (node / (1 << node.trailing_zeros()) - 1) as f64]);
        }
    }
    Ok((nodes, noise, noisy))
}

fn unpacked(packed: &[f64], n: usize) -> Vec<f64> {
    let mut full = vec![0.0; n * n];
    let mut entries = packed.iter();
    for i in 0..n {
        for (j, &entry) in (i..n).zip(entries.by_ref()) {
            full[i * n + j] = entry;
            full[j * n + i] = entry;
        }
    }
    full
}

/// What a run is told.
struct Case {
    local: bool,
    m: usize,
    rounds: u64,
    arms: usize,
    table: FeatureTable,
    rewards: Vec<f64>,
    facts: SumsFacts,
    privatizer: Box<dyn Privatizer>,
}

/// A table as it is, in the place of a feature map.
#[derive(Debug)]
struct Given(FeatureTable);

impl FeaturesPlan for Given {
    fn build(&self, _problem: &Problem) -> Result<FeatureTable, Error> {
        Ok(self.0.clone())
    }
}

/// Features of points on a line: the half of a Gauss-Hermite rule, cosines then sines. Nodes are the eigenvalues of the rule's
/// tridiagonal matrix, weights the squares of its eigenvectors' first entries.
fn half_layout(points: &[f64], nodes: usize, lengthscale: f64) -> Result<FeatureTable, String> {
    let mut jacobi = vec![0.0; nodes * nodes];
    for k in 1..nodes {
        jacobi[k * nodes + k - 1] = libm::sqrt(0.5 * k as f64);
        jacobi[(k - 1) * nodes + k] = libm::sqrt(0.5 * k as f64);
    }
    let eigen = eigen_symmetric(&jacobi, nodes).ok_or("no rule")?;
    let mut rule: Vec<(f64, f64)> =
        eigen.values.iter().zip(eigen.vectors.chunks_exact(nodes)).map(|(&t, v)| (t, v[0] * v[0])).collect();
    rule.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The middle node of an odd rule is 0.
    let half: Vec<(f64, f64)> = rule
        .into_iter()
        .enumerate()
        .skip(nodes / 2)
        .map(|(i, (t, a))| if 2 * i + 1 == nodes { (0.0, a) } else { (libm::sqrt(2.0) * t / lengthscale, 2.0 * a) })
        .collect();
    let n_features = nodes;
    let mut values = Vec::with_capacity(points.len() * n_features);
    for x in points {
        values.extend(half.iter().map(|(w, a)| libm::sqrt(*a) * libm::cos(w * x)));
        values.extend(half.iter().filter(|(w, _)| *w != 0.0).map(|(w, a)| libm::sqrt(*a) * libm::sin(w * x)));
    }
    Ok(FeatureTable {
        n_points: points.len(),
        n_features,
        values,
        residual: vec![0.0; points.len()],
        kernel_error: 0.0,
        form: None,
    })
}

fn case(file: &Value) -> Result<Case, String> {
    let local = file.get("noise_matrix").is_some();
    let params = field(file, "params")?;
    let (m, rounds, arms) = (read::size(params, "m")?, read::rounds(params, "T")?, read::size(params, "n")?);
    let mut points = Vec::new();
    for round in field(file, "X")?.as_array().ok_or("`X` is not a list")? {
        for arm in round.as_array().ok_or("`X` is not a list of lists")? {
            points.push(arm[0].as_f64().ok_or("`X` has no number")?);
        }
    }
    let (width, rewards) = matrix(file, "y")?;
    if width != arms || points.len() as u64 != rounds * arms as u64 || rewards.len() != points.len() || !(1..64).contains(&m) {
        return Err("the arms do not fit the rounds".to_owned());
    }
    let table = half_layout(&points, read::size(params, "mbar")?, number(params, "l")?)?;
    if table.n_features != m {
        return Err("`mbar` nodes do not make `m` features".to_owned());
    }
    let need = SumsNeed { n_features: m, releases: rounds, rounds, epochs: Epochs::One, linear: false };
    let (privatizer, spectrum) = if local {
        let (gram, moment) = (number(params, "sigma_x")?, number(params, "sigma_u")?);
        let vectors = matrix(file, "noise_vector")?.1;
        let matrices = field(file, "noise_matrix")?.as_array().ok_or("`noise_matrix` is not a list")?;
        let draws = matrices.iter().zip(vectors.chunks_exact(m)).map(|(z, vector)| {
            let wrapped = serde_json::json!({ "z": z });
            let z = matrix(&wrapped, "z")?.1;
            if z.len() != m * m {
                return Err("`noise_matrix` does not fit `m`".to_owned());
            }
            // The lower triangle counts.
            let packed = (0..m).flat_map(|i| (i..m).map(move |j| (i, j))).map(|(i, j)| z[j * m + i]);
            Ok(packed.chain(vector.iter().copied()).collect())
        });
        let draws = draws.collect::<Result<Vec<Vec<f64>>, String>>()?;
        (local::stored(need, gram, moment, draws), Spectrum::Local { gram, moment })
    } else {
        let sigma = number(params, "sigma")?;
        let nodes = dubey2021::nodes_printed(rounds);
        let draws = node_draws(file, rounds, m + 1, true)?;
        (joint::stored(need, sigma, draws), Spectrum::Joint { std: sigma * libm::sqrt(f64::from(nodes)) })
    };
    let facts = SumsFacts { calibration: Calibration::AsPrinted, clip: None, centre: 0.0, spectrum };
    Ok(Case { local, m, rounds, arms, table, rewards, facts, privatizer })
}

/// Lambda, shift, least and greatest eigenvalue, kappa.
pub fn joint_spectrum(sigma: f64, m: usize, rounds: u64, zeta: f64) -> Vec<(&'static str, f64)> {
    let nodes = dubey2021::nodes_printed(rounds);
    let lambda = dubey2021::spectrum(sigma, nodes, m, rounds, zeta);
    let kappa = dubey2021::kappa(sigma, nodes, lambda, m, rounds, zeta);
    vec![("Lambda", lambda), ("shift", 2.0 * lambda), ("lam_min", lambda), ("lam_max", 3.0 * lambda), ("kappa", kappa)]
}

/// The same of the local version, and its printed kappa; of the noise on matrices and on vectors.
pub fn local_spectrum((x, u): (f64, f64), m: usize, rounds: u64, zeta: f64) -> Vec<(&'static str, f64)> {
    let lambda = dubey2021_local::spectrum(m, rounds, zeta);
    vec![
        ("Lambda", lambda),
        ("shift", 2.0 * x * lambda),
        ("lam_min", x * lambda),
        ("lam_max", 3.0 * x * lambda),
        ("kappa", dubey2021_local::kappa(u, x, lambda, m, rounds)),
        ("kappa_printed", dubey2021_local::kappa_printed(u, lambda, m, rounds)),
    ]
}

fn spectrum(file: &Value) -> Result<Vec<(&'static str, f64)>, String> {
    let params = field(file, "params")?;
    let (m, rounds, zeta) = (read::size(params, "m")?, read::rounds(params, "T")?, number(params, "zeta")?);
    if file.get("noise_matrix").is_some() {
        return Ok(local_spectrum((number(params, "sigma_x")?, number(params, "sigma_u")?), m, rounds, zeta));
    }
    Ok(joint_spectrum(number(params, "sigma")?, m, rounds, zeta))
}

pub fn check_run(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    outcome.compare_named("spectrum", spectrum(file), &file["spectrum"]);
    if file.get("noise_matrix").is_some() {
        let params = &file["params"];
        let sigmas = || -> Result<_, String> {
            let (epsilon, delta) = (number(params, "alpha")?, number(params, "beta")?);
            let moment = dubey2021_local::sigma_reward_bounded(number(params, "B")?, epsilon, delta);
            Ok(vec![("sigma_x", dubey2021_local::sigma_gram(epsilon, delta)), ("sigma_u", moment)])
        };
        outcome.compare_named("params", sigmas(), params);
    }
    let found = play(file);
    outcome.compare("actions", found.as_ref().map(|found| found.actions.clone()).map_err(Clone::clone), &file["actions"]);
    for (at, key) in KEYS.into_iter().enumerate() {
        let rows = file["rounds"].as_array().cloned().unwrap_or_default();
        let expected = Value::Array(rows.into_iter().filter_map(|row| row.get(key).cloned()).collect());
        outcome.compare(
            &format!("rounds {key}"),
            found.as_ref().map(|found| found.rounds[at].clone()).map_err(Clone::clone),
            &expected,
        );
    }
    if file.get("noise_matrix").is_none() {
        let expected = Value::Array(vec![file["regret"].clone()]);
        outcome.compare("regret", found.map(|found| vec![found.regret]), &expected);
    }
    outcome.note_rest(
        file,
        &[
            "params",
            "spectrum",
            "X",
            "f",
            "y",
            "node_noise",
            "noise_matrix",
            "noise_vector",
            "actions",
            "rounds",
            "regret",
            "min_margin",
        ],
    );
    outcome
}

/// What the file tells of a round; the last three of some rounds only.
const KEYS: [&str; 6] = ["beta_half", "width", "ucb", "V", "u", "theta"];

#[derive(Default)]
struct Found {
    actions: Vec<f64>,
    rounds: [Vec<f64>; 6],
    regret: f64,
}

fn play(file: &Value) -> Result<Found, String> {
    let Case { local, m, rounds, arms, table: features, rewards, facts, mut privatizer } = case(file)?;
    let params = field(file, "params")?;
    let (ridge, rho, scale) = (number(params, "lam")?, number(params, "rho")?, number(params, "width_scale")?);
    let means = matrix(file, "f")?.1;
    let variant = |kind: &str, mut keys: Vec<(&'static str, Key)>| {
        keys.push(("kind", Key::Text(kind.to_owned())));
        Key::Table(table(keys))
    };
    let keys = table(vec![
        ("ridge", Key::Float(ridge)),
        ("failure_prob", Key::Float(number(params, "zeta")?)),
        ("noise_std", Key::Float(rho)),
        ("initial", Key::Text("lowest-index".to_owned())),
        ("beta", variant("scaled", vec![("factor", Key::Float(scale))])),
        ("repair", variant("shift", vec![("multiple", Key::Float(1.0)), ("spectrum", Key::Text("as-printed".to_owned()))])),
    ]);
    let sink = Sink::new(Sources::default());
    let args = Args::new(&keys, "policy", &sink);
    let features_plan = Arc::new(Given(features.clone()));
    let parse = if local { local_jdp_gp_ucb::parse_over } else { jdp_gp_ucb::parse_over };
    let plan = parse(&args, features_plan);
    args.finish();
    sink.into_result().map_err(said)?;
    let n_points = features.n_points;
    let points = Points::new(1, (0..n_points).map(|i| i as f64).collect());
    let problem = Problem {
        inputs: KnownInputs::Shared(SharedInputs {
            gram: tabulated(KernelGram::new(Arc::new(LinearKernel::new(1.0, 1.0)), points.clone())),
            points: Some(points),
            kernel: None,
        }),
        rounds,
        streams: Streams::new(0, "conformance"),
        memory_bytes: 1e9,
        tables: Default::default(),
    };
    let maker = plan.prepare(&problem).map_err(said)?;
    let setting = Setting {
        facts: RewardFacts { bound: number(params, "B")?, noise_bound: None, range: None, noise_variance: None, rounds },
        released: ReleasedFacts::unchanged(None),
        sums: Some(facts),
        noise_scale: None,
        train: None,
        released_inputs: None,
    };
    let mut policy = maker.make(&setting).map_err(said)?;
    let mut screen = Cpu::default().prepare(&maker.basis().ok_or("no basis")?).map_err(said)?.open(1);
    let mut random = Streams::new(0, "conformance").of(0, Purpose::Noise);
    let shift = spectrum(file)?.into_iter().find(|(key, _)| *key == "shift").map_or(0.0, |(_, shift)| shift);
    let stored = field(file, "rounds")?.as_array().ok_or("`rounds` is not a list")?;
    let mut found = Found::default();
    for round in 0..rounds as usize {
        let Proposal::Score { beta } = policy.propose(&mut unused_streams()) else {
            return Err("a round is not scored".to_owned());
        };
        let subset: Vec<u32> = (0..arms).map(|arm| (round * arms + arm) as u32).collect();
        let model = policy.model().ok_or("no model")?;
        let request = TrialScore { subset: Some(&subset), ..TrialScore::new(0, policy.change(), beta, model) };
        let mut answer = [Candidates::default()];
        screen.round(&[request], &mut answer).map_err(said)?;
        let point = decide(&answer[0], model, beta, &mut Vec::new()).map_err(said)?;
        // The posterior standard deviation is sqrt(ridge) times |phi| in the norm of V^{-1}.
        let printed = beta * libm::sqrt(ridge);
        found.rounds[0].push(printed / (scale * rho));
        found.rounds[1].push(printed);
        found.rounds[2].extend(subset.iter().map(|&point| model.exact(point as usize).upper(beta)));
        if stored.get(round).is_some_and(|row| row.get("V").is_some()) {
            inside(policy.as_ref(), m, shift + ridge, &mut found)?;
        }
        found.actions.push((point - round * arms) as f64);
        let best = means[round * arms..(round + 1) * arms].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        found.regret += best - means[point];
        policy.screened();
        let signal = privatizer.release(&policy.query(point), Raw::seal(rewards[point]), &mut random);
        policy.update(point, &signal);
    }
    Ok(found)
}

/// V, u and theta of a server: the released sums of its saved state, and the weights of its model.
fn inside(policy: &dyn Policy, m: usize, diagonal: f64, found: &mut Found) -> Result<(), String> {
    let state = policy.save();
    let entries = numbers(field(&state, "released")?, "entries")?;
    let (gram, moment) = entries.split_at(m * (m + 1) / 2);
    let mut precision = unpacked(gram, m);
    (0..m).for_each(|i| precision[i * m + i] += diagonal);
    found.rounds[3].extend(precision);
    found.rounds[4].extend(moment);
    let factor = policy.model().and_then(|model| model.factor()).ok_or("no factor")?;
    found.rounds[5].extend(factor.weights.iter());
    Ok(())
}
