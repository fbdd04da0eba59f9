//! Runs of contextual bandits with stored users, noise and draws: DP-HDB, and linear bandits with a tree.

use super::bandit::{built, unused};
use super::joint::symmetric;
use super::read::*;
use privateer::policy::contextual::dp_hdb::DpHdb;
use privateer::policy::contextual::{ContextPolicy, Scratch, dp_linucb};
use privateer_privacy::Event;
use privateer_privacy::interactions::choices::{ArmChoices, ChoiceLaw, ChoiceTerms};
use privateer_privacy::interactions::{ContextFacts, InteractionPrivatizer, Link, seal};
use privateer_privacy::printed::shariff2018;
use privateer_privacy::printed::shariff2018::BetaTerms;

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
        (policy, privatizer): (&mut P, &mut dyn InteractionPrivatizer),
        mut draws: VecDeque<Vec<f64>>,
        mut watch: impl FnMut(&P),
    ) -> Read<Value> {
        let (mut arms, mut regrets, mut total, mut scratch) = (Vec::new(), Vec::new(), 0.0, Scratch::default());
        for (x, noise) in self.contexts.chunks_exact(self.dimension).zip(self.noise.chunks_exact(self.n_arms)) {
            let means: Vec<f64> = self.theta.chunks_exact(self.dimension).map(|theta| link.mean(dot(x, theta))).collect();
            let arm = policy.choose(x, &mut unused(), &mut scratch)?;
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

pub fn choices(file: &Value, run: &Value) -> Read<Value> {
    let users = StoredUsers::read(file)?;
    let (n_arms, d, warm_up) = (users.n_arms, users.dimension, whole(file, "t0", ROUNDS)?);
    let ([radius, h_sub], lists): (_, Vec<Vec<Vec<f64>>>) = (numbers(file, "radius h_sub")?, get(file, "unit_laplace")?);
    let link = match run["link"].as_str() {
        Some("linear") => Link::Linear,
        Some("logistic") => Link::Logistic,
        other => return Err(format!("`link` is {other:?}").into()),
    };
    let scale: Option<f64> = get(run, "scale")?;
    // In the order in which the arms take them: one arm in a round of the warm-up, later all of them.
    let arms = (0..users.contexts.len() / d).flat_map(|round| {
        let arm = usize::try_from(round as u64 / warm_up).unwrap_or(n_arms);
        if arm < n_arms { arm..arm + 1 } else { 0..n_arms }
    });
    let mut steps = vec![0; n_arms];
    let draw = |arm: usize| {
        let draw = lists.get(arm).and_then(|list| list.get(steps[arm])).filter(|draw| draw.len() == 2 * d);
        let draw = draw.ok_or("`unit_laplace` does not have a draw for each vertex of each step")?;
        steps[arm] += 1;
        Ok(draw.iter().map(|draw| draw * scale.unwrap_or(0.0) / libm::sqrt(steps[arm] as f64)).collect())
    };
    let draws = arms.map(draw).collect::<Read<_>>()?;
    let (start, law) = (Start::Full, scale.map_or(ChoiceLaw::Exact, |scale| ChoiceLaw::Laplace { scale }));
    let terms = ChoiceTerms { n_arms, dimension: d, radius, link, warm_up, start, law, bounds: None, synthetic: true };
    let (mut policy, mut privatizer) = (DpHdb::new(terms, Some(h_sub)), ArmChoices::new(terms));
    let mut estimates: Vec<Vec<f64>> = Vec::new();
    let watch = |policy: &DpHdb| estimates.push(policy.estimates());
    let mut found = users.run(link, (&mut policy, &mut privatizer), draws, watch)?;
    found["final"] = json!(estimates.last());
    for (name, _) in run["estimates_after_round"].as_object().into_iter().flatten() {
        let round = name.parse::<usize>().ok().and_then(|round| estimates.get(round.checked_sub(1)?));
        found["estimates_after_round"][name] = json!(round.ok_or_else(|| format!("`{name}` is no round"))?);
    }
    Ok(found)
}

pub fn sums(file: &Value, _: &Value) -> Read<Value> {
    let constants = |row: &Value| {
        let (rounds, n): (_, usize) = (whole(row, "T", ROUNDS)?, whole(row, "dim", SIZE)?);
        let ([alpha, norm, epsilon, delta], nodes) = (numbers(row, "alpha L_tilde eps delta")?, dubey2021::nodes_printed(rounds));
        let sigma = shariff2018::sigma(nodes, norm * norm, epsilon, delta);
        let upsilon = dubey2021::spectrum(sigma, nodes, n, rounds, alpha);
        Ok(json!({
            "m": nodes,
            "sigma_noise": sigma,
            "upsilon": upsilon,
            "rho_min": upsilon,
            "rho_max": 3.0 * upsilon,
            "gamma": shariff2018::gamma(sigma, nodes, upsilon, n, rounds, alpha),
        }))
    };
    let (users, constants) = (StoredUsers::read(file)?, each(file, "constants", constants)?);
    let of = |name: &str| constants[0][name].as_f64().unwrap_or(f64::NAN);
    let (d, k, rounds) = (users.dimension, users.n_arms, (users.contexts.len() / users.dimension) as u64);
    let ([failure_prob, noise_sd], budget) = (numbers(file, "alpha sigma")?, budget(file, "eps delta")?.into());
    // L~² = d + 4: contexts of length sqrt(d) at most, rewards within [-2, 2].
    let (length, size) = ((d as f64).sqrt(), dot(&users.theta, &users.theta).sqrt());
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
    let plan = built(&json!({ "failure_prob": failure_prob, "beta": "theory" }), dp_linucb::parse)?;
    let request = Request { mechanism: "tree", calibration: Calibration::AsPrinted, budget, clip: None };
    let prepared = (plan.prepare)(&facts, &request)?;
    let Event::Sums { gram_sigma: sigma, .. } = prepared.mechanism.ledger().event else {
        return Err("the mechanism releases no sums".into());
    };
    let draw = |node: u64| -> Read<Vec<f64>> {
        let normals = symmetric(file, &format!("node_normals/{node}"), k * d + 1, true)?;
        Ok(normals.into_iter().map(|normal| sigma * normal).collect())
    };
    let draws = (0..rounds).map(draw).collect::<Read<_>>()?;
    let (mut policy, mut privatizer) = ((prepared.maker.make)(), prepared.mechanism.privatizer());
    let mut found = users.run(Link::Linear, (policy.as_mut(), privatizer.as_mut()), draws, |_| ())?;
    let (spectrum, gamma) = ((of("rho_min"), of("rho_max")), of("gamma"));
    let beta = BetaTerms { noise_sd, length, bound: size, n_features: k * d, spectrum, gamma, failure_prob };
    found["beta"] = each(file, "beta", |row| Ok(json!({ "value": beta.beta(whole(row, "t", ROUNDS)?) })))?;
    found["constants"] = constants;
    Ok(found)
}
