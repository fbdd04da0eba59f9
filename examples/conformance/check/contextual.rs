//! Runs of contextual bandits with stored users, noise and draws: `hdb_60`, `dpucb`.

use super::bandit::{built, unused};
use super::joint::symmetric;
use super::read::{Read, all, budget, each, ensure, get, matrix, rounds, shaped, size};
use privateer::policy::contextual::dp_hdb::DpHdb;
use privateer::policy::contextual::{ContextPolicy, Scratch, dp_linucb};
use privateer_privacy::gradients::Start;
use privateer_privacy::gram::GramLayout;
use privateer_privacy::interactions::choices::{ArmChoices, ChoiceLaw, ChoiceTerms};
use privateer_privacy::interactions::sums::{InteractionSums, SumsTerms};
use privateer_privacy::interactions::{ContextFacts, InteractionPrivatizer, Link, seal};
use privateer_privacy::noise::Noise;
use privateer_privacy::printed::dubey2021;
use privateer_privacy::printed::shariff2018::{self, BetaTerms};
use privateer_privacy::{Calibration, Raw, Request};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The stored users: contexts, parameters, reward noise.
struct StoredUsers {
    dimension: usize,
    n_arms: usize,
    contexts: Vec<f64>,
    theta: Vec<f64>,
    noise: Vec<f64>,
}

impl StoredUsers {
    fn read(file: &Value) -> Read<Self> {
        let ((dimension, contexts), (n_arms, noise)) = (matrix(file, "X")?, matrix(file, "reward_noise")?);
        ensure(noise.len() / n_arms == contexts.len() / dimension, "`X` and `reward_noise` have different lengths")?;
        Ok(Self { dimension, n_arms, contexts, theta: shaped(file, "theta", (n_arms, dimension))?, noise })
    }

    /// Arms and cumulative regret; `watch` sees the policy after every round.
    fn run<P: ContextPolicy + ?Sized>(
        &self,
        link: Link,
        policy: &mut P,
        privatizer: &mut dyn InteractionPrivatizer,
        mut draws: VecDeque<Vec<f64>>,
        mut watch: impl FnMut(&P),
    ) -> Read<Value> {
        let mut stream = unused();
        let (mut arms, mut regrets, mut total, mut scratch) = (Vec::new(), Vec::new(), 0.0, Scratch::default());
        for (x, noise) in self.contexts.chunks_exact(self.dimension).zip(self.noise.chunks_exact(self.n_arms)) {
            let means = self.theta.chunks_exact(self.dimension).map(|theta| x.iter().zip(theta).map(|(x, t)| x * t).sum());
            let means: Vec<f64> = means.map(|mean| link.mean(mean)).collect();
            let arm = policy.choose(x, &mut stream, &mut scratch)?;
            total += means.iter().copied().fold(f64::NEG_INFINITY, f64::max) - means[arm];
            let reward = Raw::seal(means[arm] + noise[arm]);
            policy.update(&privatizer.release(seal(x, arm, reward), Noise::Replayed(&mut draws)));
            arms.push(arm);
            regrets.push(total);
            watch(policy);
        }
        Ok(json!({ "actions": arms, "cumulative_regret": regrets }))
    }
}

pub fn choices(file: &Value) -> Read<Value> {
    let users = StoredUsers::read(file)?;
    let (d, [radius, h_sub], warm_up) = (users.dimension, all(file, ["radius", "h_sub"])?, rounds(file, "t0")?);
    let lists: Vec<Vec<Vec<f64>>> = get(file, "unit_laplace")?;
    let fits = lists.len() == users.n_arms && lists.iter().flatten().all(|draw| draw.len() == 2 * d);
    ensure(fits, "`unit_laplace` has not two numbers a dimension, round and arm")?;
    // In the order in which the arms take them, with their scales.
    let draws = |scale: f64| -> Read<VecDeque<Vec<f64>>> {
        let (mut steps, mut draws) = (vec![0; users.n_arms], VecDeque::new());
        let warm = users.n_arms * warm_up as usize;
        for round in 0..users.contexts.len() / d {
            let arms = if round < warm { round / warm_up as usize..round / warm_up as usize + 1 } else { 0..users.n_arms };
            for arm in arms {
                let draw = lists[arm].get(steps[arm]).ok_or("`unit_laplace` is too short")?;
                steps[arm] += 1;
                let level = scale / libm::sqrt(steps[arm] as f64);
                draws.push_back(draw.iter().map(|draw| level * draw).collect());
            }
        }
        Ok(draws)
    };
    let run = |run: &Value| {
        let link = match run["link"].as_str() {
            Some("linear") => Link::Linear,
            Some("logistic") => Link::Logistic,
            other => return Err(format!("`link` is {other:?}").into()),
        };
        let (law, draws) = match get::<Option<f64>>(run, "scale")? {
            None => (ChoiceLaw::Exact, VecDeque::new()),
            Some(scale) => (ChoiceLaw::Laplace { scale }, draws(scale)?),
        };
        let (start, n_arms) = (Start::Full, users.n_arms);
        let terms = ChoiceTerms { n_arms, dimension: d, radius, link, warm_up, start, law, bounds: None, synthetic: true };
        let (mut policy, mut privatizer) = (DpHdb::new(terms, Some(h_sub)), ArmChoices::new(terms));
        let mut estimates: Vec<Vec<f64>> = Vec::new();
        let watch = |policy: &DpHdb| estimates.push(policy.estimates());
        let mut found = users.run(link, &mut policy, &mut privatizer, draws, watch)?;
        found["final"] = json!(estimates.last());
        for name in run["estimates_after_round"].as_object().into_iter().flatten().map(|(name, _)| name) {
            let round = name.parse::<usize>().ok().and_then(|round| estimates.get(round.checked_sub(1)?));
            found["estimates_after_round"][name] = json!(round.ok_or_else(|| format!("`{name}` is no round"))?);
        }
        Ok(found)
    };
    Ok(json!({ "runs": each(file, "runs", run)? }))
}

fn constants(row: &Value) -> Read<Value> {
    let (rounds, n, [alpha, norm, epsilon, delta]) =
        (rounds(row, "T")?, size(row, "dim")?, all(row, ["alpha", "L_tilde", "eps", "delta"])?);
    let nodes = dubey2021::nodes_printed(rounds);
    let sigma = shariff2018::sigma(nodes, norm * norm, epsilon, delta);
    let upsilon = dubey2021::spectrum(sigma, nodes, n, rounds, alpha);
    let gamma = shariff2018::gamma(sigma, nodes, upsilon, n, rounds, alpha);
    Ok(json!({
        "m": nodes,
        "sigma_noise": sigma,
        "upsilon": upsilon,
        "rho_min": upsilon,
        "rho_max": 3.0 * upsilon,
        "gamma": gamma,
    }))
}

pub fn sums(file: &Value) -> Read<Value> {
    let users = StoredUsers::read(file)?;
    let (d, k, rounds) = (users.dimension, users.n_arms, (users.contexts.len() / users.dimension) as u64);
    let ([failure_prob, noise_sd], both) = (all(file, ["alpha", "sigma"])?, budget(file, ["eps", "delta"])?);
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
        noise_sd: Some(noise_sd),
        link: Link::Linear,
        margin: 0.0,
        rounds,
    };
    let (mechanism, calibration) = ("tree", Calibration::AsPrinted);
    let plan = built(&json!({ "failure_prob": failure_prob, "beta": "theory" }), dp_linucb::parse)?;
    let prepared = (plan.prepare)(&facts, &Request { mechanism, calibration, budget: both.into(), clip: None })?;
    let terms = SumsTerms {
        layout: GramLayout { n_blocks: k, dimension: d, joint: true },
        due: (1..=rounds).collect(),
        rounds,
        context_length: length,
        range: (-2.0, 2.0),
        request: Request { mechanism, calibration, ..Request::NONE },
        budget: both,
        local: false,
    };
    let sums = InteractionSums::calibrated(terms)?;
    let draw = |node: u64| -> Read<Vec<f64>> {
        let normals = symmetric(file, &format!("node_normals/{node}"), k * d + 1, true)?;
        Ok(normals.into_iter().map(|normal| sums.sigma() * normal).collect())
    };
    let draws = (0..rounds).map(draw).collect::<Read<_>>()?;
    let mut found = users.run(Link::Linear, (prepared.maker.make)().as_mut(), sums.privatizer().as_mut(), draws, |_| ())?;
    found["constants"] = each(file, "constants", constants)?;
    let of = |name: &str| found["constants"][0][name].as_f64().unwrap_or(f64::NAN);
    let beta = BetaTerms {
        noise_sd,
        length,
        bound: size,
        n_features: k * d,
        spectrum: (of("rho_min"), of("rho_max")),
        gamma: of("gamma"),
        failure_prob,
    };
    found["beta"] = each(file, "beta", |row| Ok(json!({ "value": beta.beta(get::<f64>(row, "t")? as u64) })))?;
    Ok(found)
}
