//! Calibrations and betas: the Gaussian budget, the Laplace scale, the betas and levels of all policies, `q` and `k`, and the
//! constants v, c and K behind them, solved for in the betas.

use super::bandit::{Constants, Formulas, Nystrom, admitted, levels, mechanism, released, said, unused_streams};
use super::joint::{joint_spectrum, local_spectrum};
use super::outcome::Outcome;
use super::read::{self, field, number, optional_number};
use privateer::policy::{Policy, PolicyMaker, Proposal};
use privateer_gp::Points;
use privateer_gp::kernel::linear::LinearKernel;
use privateer_gp::kernel::{Lengthscales, squared_exponential::SquaredExponential};
use privateer_privacy::accounting::zcdp;
use privateer_privacy::printed::{dubey2021, dubey2021_local};
use privateer_privacy::{Calibration, Delta, Epsilon, gdp_mu};
use serde_json::Value;
use std::sync::Arc;

/// Features and failure probability of the stored spectra, and the bound of the squared norm of a datum.
const JDP: (usize, f64, f64) = (36, 0.1, 2.0);
/// Numbers of features behind the entries of `ata_beta` and `moma_beta`; those of `ata_b` are all but the first.
const FEATURES: [usize; 4] = [0, 1, 10, 40];
/// Rounds and gains behind the entries of `igp`.
const IGP: [(u64, f64); 2] = [(1, 0.0), (10, 3.0)];
/// Rounds behind the entries of `tgp_b`.
const LEVELS: [u64; 4] = [1, 2, 10, 1000];

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    let rows = |section: &str| file[section].as_array().cloned().unwrap_or_default();
    let column = |section: &str, key: &str| Value::Array(rows(section).iter().map(|row| row[key].clone()).collect());
    for (at, row) in rows("jdp").iter().enumerate() {
        outcome.compare_named(&format!("jdp {at}"), budgets(row), row);
        outcome.compare(&format!("jdp {at} local_replacement"), replacement(row), &row["local_replacement"]);
        for (section, found) in
            [("sigma", sigmas(row)), ("spectrum_proof_m36_zeta0.1", printed_spectrum(row)), ("local", printed_local(row))]
        {
            outcome.compare_named(&format!("jdp {at} {section}"), found, &row[section]);
        }
    }
    let unbounded = &file["sens_subgaussian"];
    if !unbounded.is_null() {
        let found = || -> Result<Vec<f64>, String> {
            let (bound, noise) = (number(unbounded, "B")?, number(unbounded, "rho")?);
            Ok(vec![dubey2021::squared_norm(bound, noise, read::rounds(unbounded, "T")?, number(unbounded, "beta")?)])
        };
        outcome.compare("sens_subgaussian", found(), &Value::Array(vec![unbounded["L"].clone()]));
    }
    let each = |compute: fn(&Value) -> Result<Vec<f64>, String>| {
        rows("zhou_tan").iter().map(compute).collect::<Result<Vec<_>, _>>().map(|rows| rows.concat())
    };
    outcome.compare(
        "zhou_tan laplace_scale",
        rows("zhou_tan").iter().map(laplace_scale).collect(),
        &column("zhou_tan", "laplace_scale"),
    );
    outcome.compare("zhou_tan igp", each(igp_betas), &column("zhou_tan", "igp"));
    outcome.compare("zhou_tan tgp_b", each(tgp_levels), &column("zhou_tan", "tgp_b"));
    let betas = rows("zhou_tan").into_iter().flat_map(|row| row["tgp_beta"].as_array().cloned().unwrap_or_default());
    outcome.compare("zhou_tan tgp_beta", each(tgp_betas), &Value::Array(betas.map(|row| row["beta"].clone()).collect()));
    outcome.compare("zhou_tan ata_b", each(|row| sketched(row, Sketch::Levels)), &column("zhou_tan", "ata_b"));
    outcome.compare("zhou_tan ata_beta", each(|row| sketched(row, Sketch::Betas)), &column("zhou_tan", "ata_beta"));
    outcome.compare("zhou_tan moma_beta", each(|row| sketched(row, Sketch::MedianBetas)), &column("zhou_tan", "moma_beta"));
    outcome.compare("zhou_tan q", each(|row| inclusion(row).map(|q| vec![q])), &column("zhou_tan", "q"));
    outcome.compare("zhou_tan k", each(|row| users(row).map(|k| vec![k])), &column("zhou_tan", "k"));
    for (key, compute) in [("v", reward_moment as fn(&Value) -> Result<f64, String>), ("c", noise_moment), ("K", known_moment)] {
        outcome.compare(&format!("zhou_tan {key}"), rows("zhou_tan").iter().map(compute).collect(), &column("zhou_tan", key));
    }
    outcome.note_rest(file, &["jdp", "zhou_tan", "sens_subgaussian"]);
    outcome
}

fn budget(row: &Value) -> Result<(Epsilon, Delta), String> {
    let epsilon = Epsilon::try_from(number(row, "alpha")?).map_err(|bad| bad.to_string())?;
    Ok((epsilon, Delta::try_from(number(row, "beta")?).map_err(|bad| bad.to_string())?))
}

fn budgets(row: &Value) -> Result<Vec<(&'static str, f64)>, String> {
    let (epsilon, delta) = budget(row)?;
    let n = f64::from(nodes(row)?);
    Ok(vec![("n", n), ("zcdp_rho", zcdp::textbook_rho(epsilon, delta)), ("gdp_mu", gdp_mu(epsilon, delta))])
}

fn replacement(row: &Value) -> Result<Vec<f64>, String> {
    let (gram, reward) = dubey2021_local::corrected_sensitivities(1.0, number(row, "alpha")?, number(row, "beta")?);
    Ok(vec![gram, reward])
}

fn nodes(row: &Value) -> Result<u32, String> {
    Ok(dubey2021::nodes_printed(read::rounds(row, "T")?))
}

/// The printed sigmas, and those of concentrated and Gaussian accounting at squared norm L.
fn sigmas(row: &Value) -> Result<Vec<(&'static str, f64)>, String> {
    let (n, (epsilon, delta), (.., l)) = (nodes(row)?, budget(row)?, JDP);
    let (a, b, rho) = (epsilon.get(), delta.get(), zcdp::textbook_rho(epsilon, delta));
    let all = f64::from(n);
    Ok(vec![
        ("proof", dubey2021::sigma_of_the_proof(n, l, a, b)),
        ("statement", dubey2021::sigma_of_the_statement(n, l, a, b)),
        ("ss", dubey2021::sigma_right_power(n, l, a, b)),
        ("zcdp", l * libm::sqrt(0.5 * all / rho)),
        ("zcdp_repl", l * libm::sqrt(2.0 * all / (4.0 * rho))),
        ("gdp_repl", l * libm::sqrt(all) / gdp_mu(epsilon, delta)),
    ])
}

fn printed_spectrum(row: &Value) -> Result<Vec<(&'static str, f64)>, String> {
    let (n, rounds, (m, zeta, l)) = (nodes(row)?, read::rounds(row, "T")?, JDP);
    let sigma = dubey2021::sigma_of_the_proof(n, l, number(row, "alpha")?, number(row, "beta")?);
    Ok(joint_spectrum(sigma, m, rounds, zeta))
}

fn printed_local(row: &Value) -> Result<Vec<(&'static str, f64)>, String> {
    let (rounds, a, b, (m, zeta, _)) = (read::rounds(row, "T")?, number(row, "alpha")?, number(row, "beta")?, JDP);
    let (x, u) = (dubey2021_local::sigma_gram(a, b), dubey2021_local::sigma_reward_bounded(1.0, a, b));
    Ok([vec![("sigma_x", x), ("sigma_u", u)], local_spectrum((x, u), m, rounds, zeta)].concat())
}

fn constants(row: &Value) -> Result<Constants, String> {
    Ok(Constants {
        bound: number(row, "B")?,
        noise_bound: number(row, "R")?,
        laplace_scale: laplace_scale(row)?,
        // Stated where there is no budget alone.
        moment: optional_number(row, "v")?.unwrap_or(0.0),
        ridge: number(row, "lam")?,
        failure_prob: number(row, "delta")?,
        scale: 1.0,
        rounds: read::rounds(row, "T")?,
        noise_moment: optional_number(row, "c")?.unwrap_or(0.0),
    })
}

/// The printed scale, 0 where the row has no budget.
fn laplace_scale(row: &Value) -> Result<f64, String> {
    let Some(epsilon) = optional_number(row, "eps")? else { return Ok(0.0) };
    let made = mechanism("laplace", Calibration::AsPrinted, Some(epsilon), number(row, "B")?, number(row, "R")?)?;
    made.laplace_scale().ok_or_else(|| "the mechanism has no scale".to_owned())
}

/// The registered policy as it would stand before `round` with this information gain: a saved state, moved there.
fn standing(row: &Value, formulas: Formulas, round: u64, gain: f64) -> Result<Box<dyn Policy>, String> {
    let constants = constants(row)?;
    // One point with any covariance: beta values look at round and gain alone.
    let maker =
        constants.maker(formulas, Arc::new(LinearKernel::new(1.0, 0.0)), Points::new(1, vec![1.0]), &Nystrom::default())?;
    let setting = constants.setting(formulas);
    let mut state = maker.make(&setting).map_err(said)?.save();
    let mut put = |pointer: &str, value: Value| state.pointer_mut(pointer).map(|at| *at = value);
    put("/round", round.into()).ok_or("a saved state has no round")?;
    // Small domains keep it in another place.
    let gain = put("/posterior/model/gain", gain.into()).or_else(|| put("/posterior/start_gain", gain.into()));
    gain.ok_or("a saved state has no information gain")?;
    maker.restore(&setting, state).map_err(said)
}

fn beta(row: &Value, formulas: Formulas, round: u64, gain: f64) -> Result<f64, String> {
    match standing(row, formulas, round, gain)?.propose(&mut unused_streams()) {
        Proposal::Score { beta } => Ok(beta),
        _ => Err(format!("round {round} is not scored")),
    }
}

fn truncating(row: &Value) -> Result<Formulas, String> {
    Ok(if optional_number(row, "eps")?.is_some() { Formulas::LocalDp } else { Formulas::HeavyTails })
}

fn igp_betas(row: &Value) -> Result<Vec<f64>, String> {
    IGP.iter().map(|&(round, gain)| beta(row, Formulas::Improved, round, gain)).collect()
}

fn tgp_betas(row: &Value) -> Result<Vec<f64>, String> {
    let wanted = field(row, "tgp_beta")?.as_array().ok_or("`tgp_beta` is not a list")?;
    wanted.iter().map(|at| beta(row, truncating(row)?, read::rounds(at, "t")?, number(at, "info")?)).collect()
}

fn tgp_levels(row: &Value) -> Result<Vec<f64>, String> {
    LEVELS.iter().map(|&round| level(row, round)).collect()
}

/// The largest reward that round `round` admits, by bisection.
fn level(row: &Value, round: u64) -> Result<f64, String> {
    let formulas = truncating(row)?;
    let admits = |reward: f64| -> Result<bool, String> {
        let mut policy = standing(row, formulas, round, 0.0)?;
        policy.update(0, &released(reward)?);
        Ok(admitted(policy.as_ref(), 0) == reward)
    };
    let (mut low, mut high) = (1e-6, 1e9);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if admits(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// v: what beta of ATA grows by over its first, `4 sqrt(ln(4 m T/failure) v m / ridge)`.
fn reward_moment(row: &Value) -> Result<f64, String> {
    moment_of_betas(row, sketches(row, false)?)
}

fn moment_of_betas(row: &Value, formulas: Formulas) -> Result<f64, String> {
    let constants = constants(row)?;
    let (first, later, m) = first_and_later(&betas_over(row, formulas, None)?);
    let logarithm = (4.0 * m * constants.rounds as f64 / constants.failure_prob).ln();
    Ok(((later - first) / 4.0).powi(2) * constants.ridge / (m * logarithm))
}

/// c: what beta of MoMA grows by over its first, `3 sqrt(9 m c / ridge)`.
fn noise_moment(row: &Value) -> Result<f64, String> {
    let (first, later, m) = first_and_later(&betas_over(row, sketches(row, true)?, Some(3))?);
    Ok(((later - first) / 3.0).powi(2) * constants(row)?.ridge / (9.0 * m))
}

/// K: under Laplace what TGP's first beta holds of the bias, `sqrt(K / ridge)`; else v where nothing is stated.
fn known_moment(row: &Value) -> Result<f64, String> {
    if truncating(row)? == Formulas::HeavyTails {
        return moment_of_betas(row, Formulas::AtaBounded);
    }
    let constants = constants(row)?;
    let deviation = 2.0 * 2.0f64.sqrt() * level(row, 1)? * (1.0 / constants.failure_prob).ln().sqrt();
    let beta = beta(row, Formulas::LocalDp, 1, 0.0)?;
    Ok(((beta - constants.bound) * constants.ridge.sqrt() - deviation).powi(2))
}

/// Beta without features, that with the most, and how many these are.
fn first_and_later(betas: &[f64]) -> (f64, f64, f64) {
    (betas[0], betas[FEATURES.len() - 1], FEATURES[FEATURES.len() - 1] as f64)
}

/// Which numbers of a policy over a dictionary.
#[derive(Clone, Copy, PartialEq)]
enum Sketch {
    Levels,
    Betas,
    MedianBetas,
}

/// The registered policy over points too far apart to tell of each other.
fn apart(row: &Value, formulas: Formulas, nystrom: &Nystrom, variance: f64) -> Result<Box<dyn PolicyMaker>, String> {
    let kernel = SquaredExponential::new(Lengthscales::Isotropic(0.01), variance);
    let points = Points::new(1, (0..50).map(f64::from).collect());
    constants(row)?.maker(formulas, Arc::new(kernel), points, nystrom)
}

fn sketches(row: &Value, medians: bool) -> Result<Formulas, String> {
    Ok(match (optional_number(row, "eps")?.is_some(), medians) {
        (true, false) => Formulas::AtaLocalDp,
        (false, false) => Formulas::AtaHeavyTails,
        (true, true) => Formulas::MomaLocalDp,
        (false, true) => Formulas::MomaHeavyTails,
    })
}

/// Betas after one update with dictionaries of some sizes (before it for no features), or the update's level.
fn sketched(row: &Value, which: Sketch) -> Result<Vec<f64>, String> {
    let formulas = sketches(row, which == Sketch::MedianBetas)?;
    match which {
        Sketch::Levels => FEATURES[1..]
            .iter()
            .map(|&m| levels(updated(row, formulas, m, None)?.as_ref()).pop().ok_or_else(|| "no level".to_owned()))
            .collect(),
        Sketch::Betas => betas_over(row, formulas, None),
        Sketch::MedianBetas => betas_over(row, formulas, Some(3)),
    }
}

fn betas_over(row: &Value, formulas: Formulas, users: Option<u64>) -> Result<Vec<f64>, String> {
    let beta = |m: usize| match updated(row, formulas, m, users)?.propose(&mut unused_streams()) {
        Proposal::Score { beta } => Ok(beta),
        _ => Err(format!("{m} features: not scored")),
    };
    FEATURES.iter().map(|&m| beta(m)).collect()
}

/// The registered policy after one update with a dictionary of `m` points; before it for none.
fn updated(row: &Value, formulas: Formulas, m: usize, users: Option<u64>) -> Result<Box<dyn Policy>, String> {
    let dictionary = (0..m.max(1)).map(|point| point as f64).collect();
    let nystrom = Nystrom { dictionary, accuracy: number(row, "approx_eps")?, users };
    let setting = constants(row)?.setting(formulas);
    let mut policy = apart(row, formulas, &nystrom, 1.0)?.make(&setting).map_err(said)?;
    for _ in 0..if m == 0 { 0 } else { users.unwrap_or(1) } {
        policy.propose(&mut unused_streams());
        policy.update(0, &released(1.5)?);
    }
    Ok(policy)
}

/// How many users an epoch has where no `k` is stated: rounds until it is over.
fn users(row: &Value) -> Result<f64, String> {
    let formulas = sketches(row, true)?;
    let nystrom = Nystrom { dictionary: vec![0.0], accuracy: number(row, "approx_eps")?, users: None };
    let mut policy = apart(row, formulas, &nystrom, 1.0)?.make(&constants(row)?.setting(formulas)).map_err(said)?;
    for round in 1..=constants(row)?.rounds {
        policy.propose(&mut unused_streams());
        policy.update(0, &released(1.5)?);
        if policy.save()["epochs"]["rewards"].as_array().is_some_and(Vec::is_empty) {
            return Ok(round as f64);
        }
    }
    Err("the first epoch has no end".to_owned())
}

/// The inclusion of a play in units of its posterior variance: the largest uniform number that still draws a new point of small
/// variance, over that variance.
fn inclusion(row: &Value) -> Result<f64, String> {
    let (formulas, variance) = (sketches(row, false)?, 1e-4);
    let nystrom = Nystrom { dictionary: Vec::new(), accuracy: number(row, "approx_eps")?, users: None };
    let (maker, setting) = (apart(row, formulas, &nystrom, variance)?, constants(row)?.setting(formulas));
    let mut policy = maker.make(&setting).map_err(said)?;
    policy.propose(&mut unused_streams());
    policy.update(0, &released(1.5)?);
    policy.propose(&mut unused_streams());
    let state = policy.save();
    let draws = |u: f64| -> Result<bool, String> {
        let mut state = state.clone();
        // The first point is drawn for certain, the new one by `u`.
        *state.pointer_mut("/sketch/uniforms").ok_or("a saved state has no uniform numbers")? = serde_json::json!([0.0, u]);
        let mut policy = maker.restore(&setting, state).map_err(said)?;
        policy.update(1, &released(1.5)?);
        Ok(policy.save()["posterior"]["dictionary"].as_array().is_some_and(|points| points.contains(&Value::from(1))))
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if draws(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low / variance)
}
