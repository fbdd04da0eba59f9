//! Whole runs of registered policies through the CPU backend, on stored rewards.

use super::bandit::{Constants, Formulas, Nystrom, admitted, levels, released, said, unused_streams};
use super::outcome::{Outcome, Part};
use super::read::{self, kernel, line, number, numbers, optional_number};
use privateer::engine::decide;
use privateer::policy::Proposal;
use privateer::policy::moma_gp_ucb::median_distances;
use privateer_backend::{Backend, Cpu};
use privateer_gp::nystrom::Embedding;
use privateer_gp::posterior::{ExactPosterior, SketchedPosterior};
use privateer_gp::score::{Candidates, GramSource, ScoreModel, TrialScore};
use privateer_gp::{KernelGram, tabulated};
use privateer_numerics::linalg::solve_lower;
use serde_json::Value;
use std::sync::Arc;

const RUNS: [(&str, Formulas); 7] = [
    ("igp_ucb", Formulas::Improved),
    ("tgp_ldp", Formulas::LocalDp),
    ("tgp_heavy", Formulas::HeavyTails),
    ("ata_ldp", Formulas::AtaLocalDp),
    ("ata_heavy", Formulas::AtaHeavyTails),
    ("moma_ldp", Formulas::MomaLocalDp),
    ("moma_heavy", Formulas::MomaHeavyTails),
];
/// Rounds behind the rows of `mean_after_round`.
const MEANS_AFTER: [u32; 4] = [1, 2, 10, 25];
const INPUTS: [&str; 12] = ["X", "kernel", "f", "B", "R", "dictionary", "T", "delta", "approx_eps", "noise", "runs", "notes"];

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    for (name, formulas) in RUNS {
        let Some(run) = file["runs"].get(name) else { continue };
        let found = play(file, run, formulas);
        let of = |read: fn(&Found) -> &Vec<f64>| found.as_ref().map(|found| read(found).clone()).map_err(Clone::clone);
        // Over a fixed dictionary the number of features, and with it beta, is the same from the second update on.
        for (key, pick) in [("beta_first", 0), ("beta_rest", 1)] {
            if run.get(key).is_some() {
                let beta =
                    found.as_ref().map(|found| if pick == 0 { found.betas[..1].to_vec() } else { found.betas[1..].to_vec() });
                let expected = vec![run[key].clone(); beta.as_ref().map_or(1, Vec::len)];
                outcome.compare(&format!("{name} {key}"), beta.map_err(Clone::clone), &Value::Array(expected));
            }
        }
        let parts: [Part<Found>; 6] = [
            ("beta", |found| found.betas.clone()),
            ("epoch_points", |found| found.epoch_points.clone()),
            ("chosen_j", |found| found.chosen.clone()),
            ("r", |found| found.distances.clone()),
            ("theta_final", |found| found.theta.clone()),
            ("mean_after_round", |found| found.means_after.clone()),
        ];
        let stated: Vec<Part<Found>> = parts.into_iter().filter(|(key, _)| run.get(*key).is_some()).collect();
        outcome.compare_parts(name, &found, &stated, run);
        // One level for all rounds: the dictionary is fixed.
        if matches!(formulas, Formulas::AtaLocalDp | Formulas::AtaHeavyTails) {
            let expected = vec![run["b_tau"].clone(); found.as_ref().map_or(1, |found| found.points.len())];
            outcome.compare(&format!("{name} b_tau"), of(|found| &found.levels), &Value::Array(expected));
        }
        let parts: [Part<Found>; 3] = [
            ("idx", |found| found.points.clone()),
            ("mean_final", |found| found.means.clone()),
            ("var_final", |found| found.variances.clone()),
        ];
        outcome.compare_parts(name, &found, &parts, run);
        let truncated = of(|found| &found.truncated);
        // No truncation on either side is agreement without a number.
        if run.get("truncated_rounds").is_some()
            && !(truncated.as_ref().is_ok_and(Vec::is_empty) && run["truncated_rounds"].as_array().is_some_and(Vec::is_empty))
        {
            outcome.compare(&format!("{name} truncated_rounds"), truncated, &run["truncated_rounds"]);
        }
    }
    let known = |name: &str| RUNS.iter().any(|(known, _)| *known == name);
    let runs = file["runs"].as_object().into_iter().flat_map(|runs| runs.keys());
    outcome.not_yet.extend(runs.filter(|name| !known(name)).map(|name| format!("runs {name}")));
    outcome.note_rest(file, &INPUTS);
    outcome
}

/// What a run did.
#[derive(Default)]
struct Found {
    points: Vec<f64>,
    betas: Vec<f64>,
    truncated: Vec<f64>,
    means: Vec<f64>,
    /// After some rounds.
    means_after: Vec<f64>,
    variances: Vec<f64>,
    epoch_points: Vec<f64>,
    chosen: Vec<f64>,
    /// Median distances of the estimates of each epoch.
    distances: Vec<f64>,
    /// Truncation levels of all rounds, in no order.
    levels: Vec<f64>,
    /// Weights of the features of the symmetric root.
    theta: Vec<f64>,
}

fn play(file: &Value, run: &Value, formulas: Formulas) -> Result<Found, String> {
    let params = &run["params"];
    let constants = Constants {
        bound: number(file, "B")?,
        noise_bound: number(params, "R")?,
        laplace_scale: number(params, "laplace_scale")?,
        moment: number(params, "v")?,
        ridge: number(params, "lam")?,
        failure_prob: number(file, "delta")?,
        scale: number(params, "scale")?,
        rounds: read::rounds(file, "T")?,
        noise_moment: number(params, "c")?,
    };
    let nystrom = Nystrom {
        dictionary: numbers(file, "dictionary")?,
        accuracy: number(file, "approx_eps")?,
        users: optional_number(run, "k")?.map(|k| k as u64),
    };
    let epoch = nystrom.users.unwrap_or(1);
    let table = run["noise"].as_str().ok_or("the run names no noise")?;
    let (values, noise) = (numbers(file, "f")?, numbers(&file["noise"], table)?);
    let points = line(file, "X")?;
    if points.n_points() != values.len() || noise.len() as u64 != constants.rounds {
        return Err("`X` and `f`, or `noise` and `T`, do not fit".to_owned());
    }
    let gram = tabulated(KernelGram::new(kernel(file)?, points.clone()));
    let maker = constants.maker(formulas, kernel(file)?, points, &nystrom)?;
    let basis = maker.basis().ok_or("the policy has no basis")?;
    let mut screen = Cpu::default().prepare(&basis).map_err(said)?.open(1);
    let mut policy = maker.make(&constants.setting(formulas)).map_err(said)?;
    let mut found = Found::default();
    for (round, noise) in (1u32..).zip(&noise) {
        let point = match policy.propose(&mut unused_streams()) {
            Proposal::Score { beta } => {
                let mut answer = [Candidates::default()];
                let model = policy.model().ok_or("the policy has no model")?;
                screen.round(&[TrialScore::new(0, policy.change(), beta, model)], &mut answer).map_err(said)?;
                let point = decide(&answer[0], model, beta, &mut Vec::new()).map_err(said)?;
                policy.screened();
                found.betas.push(beta);
                found.epoch_points.push(point as f64);
                point
            }
            Proposal::Play(point) if (u64::from(round) - 1) % epoch != 0 => point,
            _ => return Err(format!("round {round} is not scored")),
        };
        let before = admitted(policy.as_ref(), point);
        policy.update(point, &released(values[point] + noise)?);
        if admitted(policy.as_ref(), point) == before {
            found.truncated.push(f64::from(round));
        }
        found.points.push(point as f64);
        if MEANS_AFTER.contains(&round) {
            let model = policy.model().ok_or("the policy has no model")?;
            found.means_after.extend((0..values.len()).map(|point| model.exact(point).mean));
        }
        if u64::from(round) % epoch == 0 {
            let state = policy.save();
            found.chosen.extend(state["epochs"]["chosen"].as_f64());
            if let Some(k) = nystrom.users {
                found.distances.extend(distances(&gram, constants.ridge, &state, k as usize)?);
            }
        }
    }
    let model = policy.model().ok_or("the policy has no model")?;
    found.levels = levels(policy.as_ref());
    if matches!(formulas, Formulas::AtaLocalDp | Formulas::AtaHeavyTails) {
        found.theta = theta(&gram, model)?;
    }
    let moments = (0..values.len()).map(|point| model.exact(point));
    (found.means, found.variances) = moments.map(|m| (m.mean, m.variance)).unzip();
    Ok(found)
}

/// Median distances of the k estimates, from a saved state.
fn distances(gram: &Arc<dyn GramSource>, ridge: f64, state: &Value, k: usize) -> Result<Vec<f64>, String> {
    let bound = ExactPosterior::prior_bound(gram.as_ref());
    let posterior = SketchedPosterior::restore(Arc::clone(gram), bound, ridge, true, state["posterior"].clone());
    let posterior = posterior.map_err(|error| error.to_string())?;
    let sums = numbers(&state["epochs"], "sums")?;
    let mut whitened = posterior.moments(&sums, k);
    posterior.whiten(&mut whitened);
    Ok(median_distances(&(0..k).map(|user| whitened.column(user)).collect::<Vec<_>>()))
}

/// `O L^{-1}` times the means of the dictionary's points, which are `L` times the weights of their coordinates.
fn theta(gram: &Arc<dyn GramSource>, model: &dyn ScoreModel) -> Result<Vec<f64>, String> {
    let embedding = Embedding::of(model.basis_points(), |a, b| gram.entry(a as usize, b as usize));
    let m = embedding.m();
    let mut coordinates: Vec<f64> = embedding.points().iter().map(|&point| model.exact(point as usize).mean).collect();
    solve_lower(embedding.factor(), &mut coordinates);
    let rotation = embedding.rotation().ok_or("the covariance is not finite")?;
    Ok(rotation.chunks_exact(m).map(|row| row.iter().zip(&coordinates).map(|(a, b)| a * b).sum()).collect())
}
