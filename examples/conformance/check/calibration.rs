//! Calibrations and betas: the Gaussian budget, the Laplace scale, the betas and levels of all policies, `q` and `k`. The
//! constants v, c and K of the files stand in those betas.

use super::bandit::{Noise, Terms, apart, level_over, mechanism, released, scores, unused, unused_streams};
use super::joint::{joint_spectrum, local_spectrum};
use super::read::{Read, all, budget, each, get, last_true, rounds};
use privateer::policy::{Policy, PolicyStreams, Proposal};
use privateer_gp::Points;
use privateer_gp::kernel::Kernel;
use privateer_gp::kernel::linear::LinearKernel;
use privateer_numerics::rng::{Purpose, Streams};
use privateer_privacy::accounting::zcdp;
use privateer_privacy::printed::{dubey2021, dubey2021_local};
use privateer_privacy::{Calibration, gdp_mu};
use serde_json::{Value, json};
use std::sync::Arc;

/// Features and failure probability of the stored spectra, and the bound of the squared norm of a datum.
const JDP: (usize, f64, f64) = (36, 0.1, 2.0);
/// Numbers of features behind the entries of `ata_beta` and `moma_beta`; those of `ata_b` are all but the first.
const FEATURES: [usize; 4] = [0, 1, 10, 40];
/// Rounds and gains behind the entries of `igp`.
const IGP: [(u64, f64); 2] = [(1, 0.0), (10, 3.0)];
/// Rounds behind the entries of `tgp_b`.
const LEVELS: [u64; 4] = [1, 2, 10, 1000];

pub fn check(file: &Value) -> Read<Value> {
    let mut found = json!({ "jdp": each(file, "jdp", gaussian)?, "zhou_tan": each(file, "zhou_tan", local)? });
    if !file["sens_subgaussian"].is_null() {
        let [bound, noise, beta] = all(&file["sens_subgaussian"], ["B", "rho", "beta"])?;
        let norm = dubey2021::squared_norm(bound, noise, rounds(file, "sens_subgaussian/T")?, beta);
        found["sens_subgaussian"] = json!({ "L": norm });
    }
    Ok(found)
}

/// The printed sigmas, those of concentrated and Gaussian accounting at squared norm L, and the spectra.
fn gaussian(row: &Value) -> Read<Value> {
    let (rounds, (epsilon, delta), (m, zeta, l)) = (rounds(row, "T")?, budget(row, ["alpha", "beta"])?, JDP);
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
    let [bound, noise_bound] = all(row, ["B", "R"])?;
    let scale = |epsilon| -> Read<f64> {
        let laplace = mechanism("laplace", Calibration::AsPrinted, Some(epsilon), (bound, noise_bound))?;
        Ok(laplace.laplace_scale().ok_or("the mechanism has no scale")?)
    };
    let scale = epsilon.map(scale).transpose()?;
    let terms = Terms::read(row, scale.map_or(Noise::Heavy, Noise::Laplace))?;
    let bounded = Terms::read(row, Noise::Bounded)?;
    let igp = |(round, gain)| beta(standing(&bounded, "igp-ucb", round, gain)?);
    let tgp = |at: &Value| beta(standing(&terms, "tgp-ucb", rounds(at, "t")?, get(at, "info")?)?);
    Ok(json!({
        "laplace_scale": scale.unwrap_or(0.0),
        "igp": IGP.into_iter().map(igp).collect::<Read<Vec<f64>>>()?,
        "tgp_b": LEVELS.into_iter().map(|round| level(&terms, round)).collect::<Read<Vec<f64>>>()?,
        "tgp_beta": each(row, "tgp_beta", |at| Ok(json!({ "beta": tgp(at)? })))?,
        "ata_b": FEATURES[1..].iter().map(|&m| level_over(&terms, m)).collect::<Read<Vec<f64>>>()?,
        "ata_beta": betas(&terms, "ata-gp-ucb", None)?,
        "moma_beta": betas(&terms, "moma-gp-ucb", Some(3))?,
        "q": inclusion(&terms)?,
        "k": users(&terms)?,
    }))
}

/// The registered policy over one point, before `round` and with this information gain: rewards of 0 were played before.
fn standing(terms: &Terms, policy: &str, round: u64, gain: f64) -> Read<Box<dyn Policy>> {
    // n plays of a point with variance v have the gain ln(1 + n v / ridge) / 2; beta values look at round and gain alone.
    let plays = round - 1;
    let variance = if plays == 0 { 1.0 } else { libm::expm1(2.0 * gain) * terms.ridge / plays as f64 };
    let kernel: Arc<dyn Kernel> = Arc::new(LinearKernel::new(variance, 0.0));
    let maker = terms.maker(policy, (kernel, Points::new(1, vec![1.0])), (1.0, &[], None))?;
    let (mut policy, nothing) = (maker.make(&terms.setting())?, released(0.0)?);
    (0..plays).for_each(|_| policy.update(0, &nothing));
    Ok(policy)
}

fn beta(mut policy: Box<dyn Policy>) -> Read<f64> {
    match policy.propose(&mut unused_streams()) {
        Proposal::Score { beta } => Ok(beta),
        _ => Err("a round is not scored".into()),
    }
}

/// The largest reward that round `round` admits.
fn level(terms: &Terms, round: u64) -> Read<f64> {
    last_true(1e-6, 1e9, 100, |reward| {
        let mut policy = standing(terms, "tgp-ucb", round, 1.0)?;
        policy.update(0, &released(reward)?);
        Ok(0.0 < scores(policy.as_mut())?.exact(0).mean)
    })
}

/// Proposes and observes one reward at a point.
fn play(policy: &mut dyn Policy, point: usize) -> Read<()> {
    policy.propose(&mut unused_streams());
    policy.update(point, &released(1.5)?);
    Ok(())
}

/// Betas after one update with dictionaries of some sizes; before it for no features.
fn betas(terms: &Terms, policy: &str, users: Option<u64>) -> Read<Vec<f64>> {
    FEATURES.iter().map(|&m| beta(updated(terms, policy, m, users)?)).collect()
}

/// The registered policy after one update with a dictionary of `m` points; before it for none.
fn updated(terms: &Terms, policy: &str, m: usize, users: Option<u64>) -> Read<Box<dyn Policy>> {
    let dictionary: Vec<f64> = (0..m.max(1)).map(|point| point as f64).collect();
    let mut policy = apart(terms, policy, 1.0, &dictionary, users)?.make(&terms.setting())?;
    for _ in 0..if m == 0 { 0 } else { users.unwrap_or(1) } {
        play(policy.as_mut(), 0)?;
    }
    Ok(policy)
}

/// How many users an epoch has where no `k` is stated: rounds until it is over.
fn users(terms: &Terms) -> Read<u64> {
    let mut policy = apart(terms, "moma-gp-ucb", 1.0, &[0.0], None)?.make(&terms.setting())?;
    for round in 1..=terms.rounds {
        play(policy.as_mut(), 0)?;
        // The rounds within an epoch repeat its point; its end is followed by a score.
        if matches!(policy.propose(&mut unused_streams()), Proposal::Score { .. }) {
            return Ok(round);
        }
    }
    Err("the first epoch has no end".into())
}

/// The inclusion of a play in units of its posterior variance: a uniform number over the least variance of a new point at which
/// that number draws the point.
fn inclusion(terms: &Terms) -> Read<f64> {
    // Streams whose first number draws a point that was played before surely once the second draws the new one.
    let streams = |trial| PolicyStreams { start: unused(), own: Streams::new(0, "conformance").of(trial, Purpose::Start) };
    let numbers = |trial| {
        let mut own = streams(trial).own;
        [own.uniform(), own.uniform(), own.uniform()]
    };
    let trial = (0..1000).find(|&trial| numbers(trial)[1] < 0.5 * numbers(trial)[2]).ok_or("no stream has such numbers")?;
    let lacks_new = |variance: f64| {
        let mut policy = apart(terms, "ata-gp-ucb", variance, &[], None)?.make(&terms.setting())?;
        let mut streams = streams(trial);
        for point in [0, 1] {
            policy.propose(&mut streams);
            policy.update(point, &released(1.5)?);
        }
        Ok(scores(policy.as_mut())?.basis_points() != [0, 1])
    };
    Ok(numbers(trial)[2] / last_true(0.0, 1.0, 60, lacks_new)?)
}
