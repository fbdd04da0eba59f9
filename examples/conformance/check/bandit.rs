//! Registered policies on stored problems: their betas, levels and constants, and whole runs through the CPU backend on stored rewards.

use super::gp::features;
use super::joint::{joint_spectrum, local_spectrum};
use super::read::*;
use privateer::engine::decide;
use privateer::policy::{KnownInputs, PolicyMaker, PolicyPlan, PolicyStreams, Proposal, SharedInputs};
use privateer::registry::{POLICIES, find};
use privateer_backend::{Backend, Cpu, Screen};
use privateer_config::error::Sources;
use privateer_config::params::{Args, Entry, Node, Sink, Table, Value as Written};
use privateer_gp::kernel::squared_exponential::SquaredExponential;
use privateer_gp::score::{Candidates, ScoreModel, TrialScore};
use privateer_numerics::linalg::{add_scaled, solve_lower, solve_lower_transposed, solve_spd};
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::accounting::zcdp;
use privateer_privacy::mechanism::{laplace, none};
use privateer_privacy::{Channel, Query, Released, RewardFacts, Signal};

/// Numbers of features behind the entries of `ata_beta` and `moma_beta`; those of `ata_b` are all but the first.
const FEATURES: [usize; 4] = [0, 1, 10, 40];

/// What a policy is told of rewards in +-(B + R) under the printed Laplace mechanism, or as they are; and such a mechanism.
pub fn setting(epsilon: Option<f64>, (bound, noise_bound): (f64, Option<f64>), rounds: u64) -> Read<(Setting, Channel)> {
    let facts = RewardFacts { bound, noise_bound, range: None, noise_variance: None, rounds };
    let (entry, budget) = (if epsilon.is_some() { laplace::ENTRY } else { none::ENTRY }, Budget::new(epsilon, None)?);
    let request = Request { mechanism: entry.name, calibration: Calibration::AsPrinted, budget, clip: None };
    let channel = Channel::Rewards((entry.build)(&request, &facts)?);
    Ok((Setting::new(&facts, noise_bound, &channel, None), channel))
}

/// Known points, with a kernel or with features that the policy brings.
pub fn problem(points: Points, kernel: Option<Arc<dyn Kernel>>, rounds: u64) -> Problem {
    let covariance = kernel.clone().unwrap_or_else(|| Arc::new(LinearKernel::new(1.0, 1.0)));
    let gram = tabulated(KernelGram::new(covariance, points.clone()));
    let inputs = KnownInputs::Shared(SharedInputs { gram, points: Some(points), kernel });
    let streams = Streams::new(0, "conformance");
    Problem { inputs, table_points: usize::MAX, rounds, streams, memory_bytes: 1e9, tables: Default::default() }
}

pub fn registered(policy: &str, keys: &Value) -> Read<PolicyPlan> {
    let entry = find(POLICIES, policy).ok_or("the policy is not registered")?;
    built(keys, |args| (entry.build)(args))
}

/// Builds what reads these keys of a spec.
pub fn built<T>(keys: &Value, build: impl FnOnce(&Args<'_>) -> T) -> Read<T> {
    let (Written::Table(table), sink) = (written(keys).value, Sink::new(Sources::default())) else {
        return Err("no keys".into());
    };
    let args = Args::new(&table, "policy", &sink);
    let made = build(&args);
    args.finish();
    sink.into_result()?;
    Ok(made)
}

fn written(value: &Value) -> Node {
    let entry = |(key, value): (&String, &Value)| Entry { key: key.clone(), key_span: None, node: written(value) };
    Node::bare(match value {
        Value::Object(keys) => Written::Table(Table { entries: keys.iter().map(entry).collect(), span: None }),
        Value::Array(items) => Written::Array(items.iter().map(written).collect()),
        Value::String(text) => Written::Text(text.clone()),
        Value::Bool(flag) => Written::Bool(*flag),
        number => number.as_i64().map_or_else(|| Written::Float(number.as_f64().unwrap_or(f64::NAN)), Written::Integer),
    })
}

/// A stream that nothing draws from.
pub fn unused() -> Stream {
    Streams::new(0, "conformance").of(0, Purpose::Noise)
}

/// A policy with a screen of the CPU backend.
pub struct Player {
    pub policy: Box<dyn Policy>,
    streams: PolicyStreams,
    screen: Box<dyn Screen>,
}

impl Player {
    pub fn new(maker: &dyn PolicyMaker, setting: &Setting) -> Read<Self> {
        let screen = Cpu::default().prepare(&maker.basis().ok_or("the policy has no basis")?)?.open(1);
        Ok(Self { policy: maker.make(setting)?, streams: PolicyStreams { start: unused(), own: unused() }, screen })
    }

    pub fn model(&mut self) -> Read<&dyn ScoreModel> {
        Ok(self.policy.scores().ok_or("the policy has no model")?)
    }

    /// The beta of the coming round.
    fn beta(&mut self) -> Read<f64> {
        Ok(self.ask(None)?.1.ok_or("a round is not scored")?)
    }

    /// The policy's next point, of these alone, and the beta that it was scored with.
    pub fn ask(&mut self, subset: Option<&[u32]>) -> Read<(usize, Option<f64>)> {
        let beta = match self.policy.propose(&mut self.streams) {
            Proposal::Play(point) => return Ok((point, None)),
            Proposal::Score { beta } => beta,
            _ => return Err("a round is not scored".into()),
        };
        let policy_model = self.policy.model().ok_or("the policy has no model")?;
        let (model, change) = policy_model.scored();
        let mut answer = [Candidates::default()];
        self.screen.round(&[TrialScore { subset, ..TrialScore::new(0, change, beta, model) }], &mut answer)?;
        let point = decide(&answer[0], model, beta, &mut Vec::new())?;
        policy_model.screened();
        Ok((point, Some(beta)))
    }

    /// Updates the policy with the reward as it is.
    pub fn tell(&mut self, point: usize, reward: f64) -> Read<()> {
        self.policy.update(point, &released(reward)?);
        Ok(())
    }
}

/// The reward as it is, through the mechanism `none`.
fn released(reward: f64) -> Read<Released<Signal>> {
    let (_, channel) = setting(None, (0.0, Some(0.0)), 1)?;
    let mut privatizer = channel.rewards().ok_or("sums are released")?.privatizer();
    Ok(privatizer.release(&Query::default(), Raw::seal(reward), (&mut unused()).into()))
}

/// What a policy reads of the problem: a row with B, R, lam, delta, approx_eps and T, and v and c where rewards are heavy-tailed.
struct Terms {
    row: Value,
    setting: Setting,
}

impl Terms {
    fn read(row: &Value, is_heavy: bool, epsilon: Option<f64>) -> Read<Self> {
        let [bound, noise_bound] = numbers(row, "B R")?;
        let (setting, _) = setting(epsilon, (bound, (!is_heavy).then_some(noise_bound)), whole(row, "T", ROUNDS)?)?;
        Ok(Self { row: row.clone(), setting })
    }

    /// The registered policy; with a dictionary of points, or one drawn every round where it is empty.
    fn plan(&self, policy: &str, scale: f64, dictionary: &[usize], users: Option<u64>) -> Read<PolicyPlan> {
        let (row, beta) = (&self.row, json!({ "kind": "scaled", "factor": scale }));
        let mut keys = json!({ "initial": "lowest-index", "ridge": row["lam"], "failure_prob": row["delta"], "beta": beta });
        let is_heavy = self.setting.facts.noise_bound.is_none();
        match policy {
            "moma-gp-ucb" if is_heavy => keys["noise_moment"] = row["c"].clone(),
            "tgp-ucb" | "ata-gp-ucb" if is_heavy => keys["moment"] = row["v"].clone(),
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
        registered(policy, &keys)
    }

    fn player(&self, plan: &PolicyPlan, kernel: Arc<dyn Kernel>, points: Points) -> Read<Player> {
        let maker = (plan.prepare)(&problem(points, Some(kernel), self.setting.facts.rounds))?;
        Player::new(maker.as_ref(), &self.setting)
    }

    /// The policy over one point, before `round` and with this information gain: rewards of 0 were played before.
    fn standing(&self, policy: &str, round: u64, gain: f64) -> Read<Player> {
        // n plays of a point with variance v have the gain ln(1 + n v / ridge) / 2; betas depend on round and gain alone.
        let (plays, [ridge]) = (round - 1, numbers(&self.row, "lam")?);
        let variance = if plays == 0 { 1.0 } else { libm::expm1(2.0 * gain) * ridge / plays as f64 };
        let kernel = Arc::new(LinearKernel::new(variance, 0.0));
        let mut player = self.player(&self.plan(policy, 1.0, &[], None)?, kernel, Points::new(1, vec![1.0]))?;
        let nothing = released(0.0)?;
        (0..plays).for_each(|_| player.policy.update(0, &nothing));
        Ok(player)
    }

    /// The policy over points too far apart to tell of each other, with a dictionary of `m` of them.
    fn apart(&self, policy: &str, variance: f64, m: usize, users: Option<u64>) -> Read<Player> {
        let kernel = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(0.01), variance));
        let plan = self.plan(policy, 1.0, &(0..m).collect::<Vec<_>>(), users)?;
        self.player(&plan, kernel, Points::new(1, (0..50).map(f64::from).collect()))
    }

    /// The truncation level of `ata-gp-ucb` with `m` features, from the largest first reward that moves its mean.
    fn level_over(&self, m: usize) -> Read<f64> {
        let [ridge] = numbers(&self.row, "lam")?;
        let moves = |reward: f64| {
            let mut player = self.apart("ata-gp-ucb", 1.0, m, None)?;
            player.beta()?;
            player.tell(0, reward)?;
            Ok(0.5 * reward < player.model()?.exact(0).mean * (1.0 + ridge))
        };
        // The only coordinate of V^{-1/2} phi that is not 0 is 1/sqrt(1 + ridge).
        Ok(last_true(1e-6, 1e9, moves)? / libm::sqrt(1.0 + ridge))
    }

    /// Betas after one update with dictionaries of these sizes; before it for no features.
    fn betas(&self, policy: &str, users: Option<u64>) -> Read<Vec<f64>> {
        let beta = |m: usize| {
            let mut player = self.apart(policy, 1.0, m.max(1), users)?;
            for _ in 0..if m == 0 { 0 } else { users.unwrap_or(1) } {
                player.ask(None)?;
                player.tell(0, 1.5)?;
            }
            player.beta()
        };
        FEATURES.into_iter().map(beta).collect()
    }

    /// The inclusion of a play in units of its posterior variance: a uniform number over the least variance of a new point at which
    /// that number draws the point.
    fn inclusion(&self) -> Read<f64> {
        let stream = |trial| Streams::new(0, "conformance").of(trial, Purpose::Start);
        // A stream that draws the point that was played before surely once it draws the new one: its third number.
        let third = |trial| {
            let mut stream = stream(trial);
            let [_, before, new] = [(); 3].map(|()| stream.uniform());
            (before < 0.5 * new).then_some((trial, new))
        };
        let (trial, number) = (0..1000).find_map(third).ok_or("no stream has such numbers")?;
        let lacks_new = |variance: f64| {
            let mut player = self.apart("ata-gp-ucb", variance, 0, None)?;
            player.streams.own = stream(trial);
            for point in [0, 1] {
                player.beta()?;
                player.tell(point, 1.5)?;
            }
            Ok(player.model()?.basis_points() != [0, 1])
        };
        Ok(number / last_true(0.0, 1.0, lacks_new)?)
    }
}

pub fn calibration(file: &Value, _: &Value) -> Read<Value> {
    let mut found = json!({ "jdp": each(file, "jdp", gaussian)?, "zhou_tan": each(file, "zhou_tan", local)? });
    if !file["sens_subgaussian"].is_null() {
        let [bound, noise, beta] = numbers(&file["sens_subgaussian"], "B rho beta")?;
        let norm = dubey2021::squared_norm(bound, noise, whole(file, "sens_subgaussian/T", ROUNDS)?, beta);
        found["sens_subgaussian"] = json!({ "L": norm });
    }
    Ok(found)
}

/// The printed sigmas, those of concentrated and Gaussian accounting at squared norm L, and the spectra.
fn gaussian(row: &Value) -> Read<Value> {
    let (rounds, (epsilon, delta), (m, zeta, l)) = (whole(row, "T", ROUNDS)?, budget(row, "alpha beta")?, (36, 0.1, 2.0));
    let (a, b, rho, mu) = (epsilon.get(), delta.get(), zcdp::textbook_rho(epsilon, delta), gdp_mu(epsilon, delta));
    let n = dubey2021::nodes_printed(rounds);
    let all = f64::from(n);
    let (x, u) = (dubey2021_local::sigma_gram(a, b), dubey2021_local::sigma_reward_bounded(1.0, a, b));
    let mut local = local_spectrum((x, u), m, rounds, zeta);
    (local["sigma_x"], local["sigma_u"]) = (json!(x), json!(u));
    let proof = dubey2021::sigma_of_the_proof(n, l, a, b);
    Ok(json!({
        "n": n,
        "zcdp_rho": rho,
        "gdp_mu": mu,
        "local_replacement": dubey2021_local::corrected_sensitivities(1.0, a, b),
        "sigma": {
            "proof": proof,
            "statement": dubey2021::sigma_of_the_statement(n, l, a, b),
            "ss": dubey2021::sigma_right_power(n, l, a, b),
            "zcdp": l * libm::sqrt(0.5 * all / rho),
            "zcdp_repl": l * libm::sqrt(2.0 * all / (4.0 * rho)),
            "gdp_repl": l * libm::sqrt(all) / mu,
        },
        "spectrum_proof_m36_zeta0.1": joint_spectrum(proof, m, rounds, zeta),
        "local": local,
    }))
}

/// Betas and levels of the policies, under Laplace noise where the row states a budget.
fn local(row: &Value) -> Read<Value> {
    let epsilon: Option<f64> = get(row, "eps")?;
    let (terms, bounded) = (Terms::read(row, epsilon.is_none(), epsilon)?, Terms::read(row, false, None)?);
    let tgp = |at: &Value| terms.standing("tgp-ucb", whole(at, "t", ROUNDS)?, get(at, "info")?)?.beta();
    // The largest reward that a round admits.
    let level = |round: u64| {
        last_true(1e-6, 1e9, |reward| {
            let mut player = terms.standing("tgp-ucb", round, 1.0)?;
            player.tell(0, reward)?;
            Ok(0.0 < player.model()?.exact(0).mean)
        })
    };
    let levels = [1, 2, 10, 1000].into_iter().map(level).collect::<Read<Vec<f64>>>()?;
    Ok(json!({
        "laplace_scale": terms.setting.released.laplace_scale.unwrap_or(0.0),
        "igp": [bounded.standing("igp-ucb", 1, 0.0)?.beta()?, bounded.standing("igp-ucb", 10, 3.0)?.beta()?],
        "tgp_b": levels,
        "tgp_beta": each(row, "tgp_beta", |at| Ok(json!({ "beta": tgp(at)? })))?,
        "ata_b": FEATURES[1..].iter().map(|&m| terms.level_over(m)).collect::<Read<Vec<f64>>>()?,
        "ata_beta": terms.betas("ata-gp-ucb", None)?,
        "moma_beta": terms.betas("moma-gp-ucb", Some(3))?,
        "q": terms.inclusion()?,
        // The users of an epoch where no `k` is stated.
        "k": (terms.plan("moma-gp-ucb", 1.0, &[], None)?.patience)(terms.setting.facts.rounds),
    }))
}

pub fn sequences(file: &Value, _: &Value) -> Read<Value> {
    let runs = file["runs"].as_object().into_iter().flatten().map(|(name, run)| Ok((name.clone(), play(file, run, name)?)));
    Ok(json!({ "runs": runs.collect::<Read<Value>>()? }))
}

fn play(file: &Value, run: &Value, name: &str) -> Read<Value> {
    let (policy, noise) = name.split_once('_').ok_or_else(|| format!("`{name}` names no policy and noise"))?;
    let policy = if policy.ends_with("gp") { format!("{policy}-ucb") } else { format!("{policy}-gp-ucb") };
    let mut row = run["params"].clone();
    ["B", "delta", "approx_eps", "T"].into_iter().for_each(|key| row[key] = file[key].clone());
    let ([scale, ridge], users): (_, Option<u64>) = (numbers(&row, "scale lam")?, get(run, "k")?);
    let terms = Terms::read(&row, noise == "heavy", get(&row, "eps")?)?;
    let (points, (_, dictionary, table)) = (points(file, "X")?, features(file, "dictionary")?);
    let (n, m, k) = (points.n_points(), table.n_features, users.unwrap_or(1).max(1));
    ensure(m == dictionary.len(), "the dictionary is not of full rank")?;
    let draws = format!("noise/{}", get::<String>(run, "noise")?);
    let (values, draws) = (shaped(file, "f", (n, 1))?, shaped(file, &draws, (terms.setting.facts.rounds as usize, 1))?);
    let plan = terms.plan(&policy, scale, &dictionary, users)?;
    let mut player = terms.player(&plan, kernel(&file["kernel"])?, points)?;
    // V over epochs, and of each user of an epoch the sum of reward times features.
    let (mut v, mut sums) = (vec![0.0; m * m], vec![vec![0.0; m]; k as usize]);
    (0..m).for_each(|i| v[i * m + i] = ridge);
    let (mut idx, mut epoch_points, mut betas, mut truncated, mut means_after) = (vec![], vec![], vec![], vec![], vec![]);
    let (mut chosen, mut distances) = (Vec::new(), Vec::new());
    for (round, draw) in (1u64..).zip(draws) {
        let (user, (point, beta)) = ((round - 1) % k, player.ask(None)?);
        ensure(beta.is_some() || user != 0, "the first round of an epoch is not scored")?;
        let (before, reward) = (player.model()?.exact(point), values[point] + draw);
        player.tell(point, reward)?;
        let model = player.model()?;
        let means: Vec<f64> = (0..n).map(|point| model.exact(point).mean).collect();
        // Whether the model took this reward as 0, from how far its mean moved.
        let admitted = before.mean + (means[point] - before.mean) * (before.variance + ridge) / before.variance;
        if admitted.abs() < (admitted - reward).abs() {
            truncated.push(round);
        }
        if let Some(beta) = beta {
            epoch_points.push(point);
            betas.push(beta);
        }
        idx.push(point);
        let row = &*table.row(point);
        add_scaled(&mut sums[user as usize], reward, row);
        if user + 1 == k {
            (0..m).for_each(|i| add_scaled(&mut v[i * m..(i + 1) * m], row[i], row));
            let mut factor = v.clone();
            cholesky(&mut factor, m)?;
            let mut estimates = sums.clone();
            estimates.iter_mut().for_each(|estimate| solve_lower(&factor, estimate));
            distances.extend(if users.is_some() { median_distances(&estimates) } else { Vec::new() });
            // The estimate whose means the model has.
            estimates.iter_mut().for_each(|estimate| solve_lower_transposed(&factor, estimate));
            let fits =
                |theta: &Vec<f64>| means.iter().enumerate().all(|(x, mean)| (dot(&table.row(x), theta) - mean).abs() < 1e-9);
            chosen.extend(estimates.iter().position(fits));
        }
        if [1, 2, 10, 25].contains(&round) {
            means_after.extend(means);
        }
    }
    let model = player.model()?;
    let (means, variances) = super::gp::unzipped((0..n).map(|point| model.exact(point)));
    // The features of the dictionary's points are the symmetric root of their covariance.
    let mut root: Vec<f64> = dictionary.iter().flat_map(|&point| table.row(point).to_vec()).collect();
    let mut theta: Vec<f64> = dictionary.iter().map(|&point| means[point]).collect();
    cholesky(&mut root, m)?;
    solve_spd(&root, &mut theta);
    // Over a fixed dictionary the number of features, and with it beta, is the same from the second update on.
    let distance = |x: &&f64| (**x - run["beta_rest"].as_f64().unwrap_or(f64::NAN)).abs();
    let rest = betas[1..].iter().max_by(|a, b| distance(a).total_cmp(&distance(b)));
    let level = if run["b_tau"].is_null() { None } else { Some(terms.level_over(dictionary.len())?) };
    let found = json!({
        "beta": betas,
        "beta_first": betas.first(),
        "beta_rest": rest,
        "epoch_points": epoch_points,
        "chosen_j": chosen,
        "r": distances,
        "mean_after_round": means_after,
        "truncated_rounds": truncated,
        "b_tau": level,
        "theta_final": theta,
    });
    // No file is without these.
    let mut found = stated(found, run);
    (found["idx"], found["mean_final"], found["var_final"]) = (json!(idx), json!(means), json!(variances));
    Ok(found)
}
