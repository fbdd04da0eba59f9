//! Runs of contextual bandits with stored users, noise and draws: `hdb_60`, `dpucb`.

use super::outcome::{Outcome, Part};
use super::read::{self, field, matrix, number, optional_number};
use privateer::policy::contextual::{ContextPolicy, Scratch, dp_hdb, dp_linucb};
use privateer_config::error::Sources;
use privateer_config::params::{Args, Entry, Node, Sink, Table, Value as Written};
use privateer_numerics::rng::{Purpose, Stream, Streams};
use privateer_privacy::gradients::Start;
use privateer_privacy::gram::GramLayout;
use privateer_privacy::interactions::choices::{ArmChoices, ChoiceLaw, ChoiceTerms};
use privateer_privacy::interactions::sums::{InteractionSums, SumsTerms};
use privateer_privacy::interactions::{ContextFacts, InteractionPrivatizer, Link, seal};
use privateer_privacy::printed::dubey2021;
use privateer_privacy::printed::shariff2018::{self, BetaTerms};
use privateer_privacy::{Budget, Calibration, Delta, Epsilon, Raw, Request};
use serde_json::Value;
use std::collections::VecDeque;

/// The stored users: contexts, parameters, reward noise.
struct StoredUsers {
    dimension: usize,
    n_arms: usize,
    contexts: Vec<f64>,
    theta: Vec<f64>,
    noise: Vec<f64>,
    link: Link,
}

impl StoredUsers {
    fn read(file: &Value, link: Link) -> Result<Self, String> {
        let (dimension, contexts) = matrix(file, "X")?;
        let (width, theta) = matrix(file, "theta")?;
        let (n_arms, noise) = matrix(file, "reward_noise")?;
        if width != dimension || theta.len() != n_arms * dimension || noise.len() / n_arms != contexts.len() / dimension {
            return Err("`X`, `theta` and `reward_noise` do not fit".to_owned());
        }
        Ok(Self { dimension, n_arms, contexts, theta, noise, link })
    }

    fn rounds(&self) -> usize {
        self.contexts.len() / self.dimension
    }

    fn mean(&self, x: &[f64], arm: usize) -> f64 {
        let theta = &self.theta[arm * self.dimension..(arm + 1) * self.dimension];
        self.link.mean(x.iter().zip(theta).map(|(x, t)| x * t).sum())
    }

    /// Arms and cumulative regret; `watch` sees the policy after every round.
    fn run(
        &self,
        policy: &mut dyn ContextPolicy,
        privatizer: &mut dyn InteractionPrivatizer,
        mut watch: impl FnMut(usize, &dyn ContextPolicy),
    ) -> Result<(Vec<f64>, Vec<f64>), String> {
        let mut stream: Stream = Streams::new(0, "unused").of(0, Purpose::Noise);
        let (mut arms, mut regrets, mut total) = (Vec::new(), Vec::new(), 0.0);
        let mut scratch = Scratch::default();
        for (t, x) in self.contexts.chunks_exact(self.dimension).enumerate() {
            let arm = policy.choose(x, &mut stream, &mut scratch).map_err(|error| error.to_string())?;
            let best = (0..self.n_arms).map(|arm| self.mean(x, arm)).fold(f64::NEG_INFINITY, f64::max);
            total += best - self.mean(x, arm);
            let reward = self.mean(x, arm) + self.noise[t * self.n_arms + arm];
            policy.update(&privatizer.release(seal(x, arm, Raw::seal(reward)), &mut stream));
            arms.push(arm as f64);
            regrets.push(total);
            watch(t + 1, &*policy);
        }
        Ok((arms, regrets))
    }
}

pub fn check_choices(file: &Value) -> Outcome {
    let mut outcome = Outcome::stated(file);
    let Some(runs) = file["runs"].as_array() else {
        outcome.failures.push("`runs` is not a list".to_owned());
        return outcome;
    };
    for (index, run) in runs.iter().enumerate() {
        let computed = choices(file, run);
        let parts: [Part<Choices>; 3] = [
            ("actions", |c| c.arms.clone()),
            ("cumulative_regret", |c| c.regrets.clone()),
            ("final", |c| c.estimates.last().cloned().unwrap_or_default()),
        ];
        outcome.compare_parts(&format!("runs[{index}]"), &computed, &parts, run);
        for (name, expected) in run["estimates_after_round"].as_object().into_iter().flatten() {
            let found = computed.as_ref().map_err(Clone::clone).and_then(|c| {
                let at = name.parse::<usize>().ok().filter(|round| (1..=c.estimates.len()).contains(round));
                at.map(|round| c.estimates[round - 1].clone()).ok_or(format!("`{name}` is no round"))
            });
            outcome.compare(&format!("runs[{index}].estimates_after_round.{name}"), found, expected);
        }
    }
    outcome
}

struct Choices {
    arms: Vec<f64>,
    regrets: Vec<f64>,
    /// After every round, both arms.
    estimates: Vec<Vec<f64>>,
}

fn choices(file: &Value, run: &Value) -> Result<Choices, String> {
    let link = match run["link"].as_str() {
        Some("linear") => Link::Linear,
        Some("logistic") => Link::Logistic,
        other => return Err(format!("`link` is {other:?}")),
    };
    let users = StoredUsers::read(file, link)?;
    let (d, radius) = (users.dimension, number(file, "radius")?);
    let law = optional_number(run, "scale")?.map_or(ChoiceLaw::Exact, |scale| ChoiceLaw::Laplace { scale });
    let draws: Result<Vec<VecDeque<Vec<f64>>>, String> = field(file, "unit_laplace")?
        .as_array()
        .ok_or("`unit_laplace` is not a list")?
        .iter()
        .map(|arm| {
            let (width, numbers) = matrix(&serde_json::json!({ "unit_laplace": arm }), "unit_laplace")?;
            if width == 2 * d {
                Ok(numbers.chunks_exact(width).map(<[f64]>::to_vec).collect())
            } else {
                Err("`unit_laplace` has other sizes".to_owned())
            }
        })
        .collect();
    let terms = ChoiceTerms {
        n_arms: users.n_arms,
        dimension: d,
        radius,
        link,
        warm_up: read::rounds(file, "t0")?,
        start: Start::Full,
        law,
        bounds: None,
        synthetic: true,
    };
    let mut policy = dp_hdb::stored(terms, number(file, "h_sub")?);
    let mut privatizer = ArmChoices::stored(terms, draws?);
    let mut estimates = Vec::new();
    let (arms, regrets) = users.run(policy.as_mut(), &mut privatizer, |_, policy| {
        let state = &policy.save()["state"];
        let list = |name: &str| state[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect::<Vec<f64>>();
        let (counts, steps) = (list("counts"), list("steps"));
        let estimate =
            counts.chunks_exact(d).zip(steps).flat_map(|(arm, step)| arm.iter().map(move |c| radius * c / (step + 1.0)));
        estimates.push(estimate.collect());
    })?;
    Ok(Choices { arms, regrets, estimates })
}

pub fn check_sums(file: &Value) -> Outcome {
    let mut outcome = Outcome::stated(file);
    let run = sums(file);
    let parts: [Part<(Vec<f64>, Vec<f64>)>; 2] = [("actions", |run| run.0.clone()), ("cumulative_regret", |run| run.1.clone())];
    outcome.compare_parts("run", &run, &parts, file);
    for (index, row) in file["constants"].as_array().into_iter().flatten().enumerate() {
        outcome.compare_named(&format!("constants[{index}]"), constants(row), row);
    }
    for (index, row) in file["beta"].as_array().into_iter().flatten().enumerate() {
        let found = number(row, "t").and_then(|t| Ok(vec![beta_terms(file)?.beta(t as u64)]));
        outcome.compare(&format!("beta[{index}].value"), found, &row["value"]);
    }
    outcome
}

fn constants(row: &Value) -> Result<Vec<(&'static str, f64)>, String> {
    let (rounds, alpha) = (read::rounds(row, "T")?, number(row, "alpha")?);
    let (n, norm) = (read::size(row, "dim")?, number(row, "L_tilde")?);
    let nodes = dubey2021::nodes_printed(rounds);
    let sigma = shariff2018::sigma(nodes, norm * norm, number(row, "eps")?, number(row, "delta")?);
    let upsilon = dubey2021::spectrum(sigma, nodes, n, rounds, alpha);
    let gamma = shariff2018::gamma(sigma, nodes, upsilon, n, rounds, alpha);
    Ok(vec![
        ("m", f64::from(nodes)),
        ("sigma_noise", sigma),
        ("upsilon", upsilon),
        ("rho_min", upsilon),
        ("rho_max", 3.0 * upsilon),
        ("gamma", gamma),
    ])
}

fn beta_terms(file: &Value) -> Result<BetaTerms, String> {
    let users = StoredUsers::read(file, Link::Linear)?;
    let found = constants(&file["constants"][0])?;
    let of = |name: &str| found.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value);
    Ok(BetaTerms {
        noise_sd: number(file, "sigma")?,
        length: (users.dimension as f64).sqrt(),
        bound: users.theta.iter().map(|x| x * x).sum::<f64>().sqrt(),
        n_features: users.n_arms * users.dimension,
        spectrum: (of("rho_min"), of("rho_max")),
        gamma: of("gamma"),
        failure_prob: number(file, "alpha")?,
    })
}

fn sums(file: &Value) -> Result<(Vec<f64>, Vec<f64>), String> {
    let users = StoredUsers::read(file, Link::Linear)?;
    let (d, k, rounds) = (users.dimension, users.n_arms, users.rounds() as u64);
    let (epsilon, delta, alpha) = (number(file, "eps")?, number(file, "delta")?, number(file, "alpha")?);
    let bad = |what: &str| format!("`{what}` is out of range");
    let budget = (Epsilon::try_from(epsilon).map_err(|_| bad("eps"))?, Delta::try_from(delta).map_err(|_| bad("delta"))?);
    // L~² = d + 4: contexts of length sqrt(d) at most, rewards within [-2, 2].
    let length = (d as f64).sqrt();
    let size = users.theta.iter().map(|x| x * x).sum::<f64>().sqrt();
    let facts = ContextFacts {
        n_arms: k,
        dimension: d,
        largest_entry: 1.0,
        length,
        parameter_l1: size,
        parameter_length: size / (k as f64).sqrt(),
        mean_range: (-2.0, 2.0),
        range: Some((-2.0, 2.0)),
        noise_sd: Some(number(file, "sigma")?),
        link: Link::Linear,
        margin: 0.0,
        rounds,
    };
    let request = Request {
        mechanism: "tree",
        calibration: Calibration::AsPrinted,
        budget: Budget::new(Some(epsilon), Some(delta)).map_err(|refusal| refusal.to_string())?,
        clip: None,
    };
    let entry = |key: &str, value| Entry { key: key.to_owned(), key_span: None, node: Node::bare(value) };
    let entries = vec![entry("failure_prob", Written::Float(alpha)), entry("beta", Written::Text("theory".to_owned()))];
    let (table, sink) = (Table { entries, span: None }, Sink::new(Sources::default()));
    let prepared =
        dp_linucb::parse(&Args::new(&table, "", &sink)).prepare(&facts, &request).map_err(|refusal| refusal.to_string())?;
    let terms = SumsTerms {
        layout: GramLayout { n_blocks: k, dimension: d, joint: true },
        due: (1..=rounds).collect(),
        rounds,
        context_length: length,
        range: (-2.0, 2.0),
        calibration: Calibration::AsPrinted,
        mechanism: "tree",
        budget,
        local: false,
    };
    let n = k * d;
    let draws: Result<Vec<Vec<f64>>, String> = field(file, "node_normals")?
        .as_array()
        .ok_or("`node_normals` is not a list")?
        .iter()
        .map(|node| {
            let (width, z) = matrix(&serde_json::json!({ "node_normals": node }), "node_normals")?;
            if width != n + 1 || z.len() != width * width {
                return Err("`node_normals` has other sizes".to_owned());
            }
            let entry = |i: usize, j: usize| (z[i * width + j] + z[j * width + i]) / std::f64::consts::SQRT_2;
            let gram = (0..n).flat_map(|i| (i..n).map(move |j| (i, j))).map(|(i, j)| entry(i, j));
            Ok(gram.chain((0..n).map(|i| entry(i, n))).collect())
        })
        .collect();
    let mut privatizer = InteractionSums::calibrated(terms).map_err(|refusal| refusal.to_string())?.stored(draws?);
    let mut policy = prepared.maker.make();
    users.run(policy.as_mut(), privatizer.as_mut(), |_, _| {})
}
