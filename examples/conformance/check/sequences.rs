//! Whole runs of registered policies through the CPU backend, on stored rewards. The runs over Nystrom features (`ata`,
//! `moma`) are not computed so far.

use super::bandit::{Constants, Formulas, admitted, no_luck, released, said};
use super::outcome::Outcome;
use super::read::{kernel, line, number, numbers};
use privateer::backend::{Backend, Cpu};
use privateer::engine::decide;
use privateer::policy::Proposal;
use privateer::score::{Candidates, TrialScore};
use serde_json::Value;

const RUNS: [(&str, Formulas); 3] =
    [("igp_ucb", Formulas::Improved), ("tgp_ldp", Formulas::LocalDp), ("tgp_heavy", Formulas::HeavyTails)];
const INPUTS: [&str; 12] = ["X", "kernel", "f", "B", "R", "dictionary", "T", "delta", "approx_eps", "noise", "runs", "notes"];

pub fn recognise(file: &Value) -> bool {
    ["X", "f", "noise", "runs"].iter().all(|key| file.get(key).is_some())
}

pub fn check(file: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    for (name, formulas) in RUNS {
        let Some(run) = file["runs"].get(name) else { continue };
        let found = play(file, run, formulas);
        let of = |read: fn(&Found) -> &Vec<f64>| found.as_ref().map(|found| read(found).clone()).map_err(Clone::clone);
        outcome.compare(&format!("{name} idx"), of(|found| &found.points), &run["idx"]);
        outcome.compare(&format!("{name} beta"), of(|found| &found.widths), &run["beta"]);
        outcome.compare(&format!("{name} mean_final"), of(|found| &found.means), &run["mean_final"]);
        outcome.compare(&format!("{name} var_final"), of(|found| &found.variances), &run["var_final"]);
        let truncated = of(|found| &found.truncated);
        // No truncation on either side is agreement without a number.
        if !(truncated.as_ref().is_ok_and(Vec::is_empty) && run["truncated_rounds"].as_array().is_some_and(Vec::is_empty)) {
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
    widths: Vec<f64>,
    truncated: Vec<f64>,
    means: Vec<f64>,
    variances: Vec<f64>,
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
        rounds: number(file, "T")? as u64,
    };
    let table = run["noise"].as_str().ok_or("the run names no noise")?;
    let (values, noise) = (numbers(file, "f")?, numbers(&file["noise"], table)?);
    let points = line(file, "X")?;
    if points.n_points() != values.len() || noise.len() as u64 != constants.rounds {
        return Err("`X` and `f`, or `noise` and `T`, do not fit".to_owned());
    }
    let maker = constants.maker(formulas, kernel(file)?, points)?;
    let basis = maker.basis().ok_or("the policy has no basis")?;
    let mut screen = Cpu::default().prepare(&basis).map_err(said)?.open(1);
    let mut policy = maker.make(&constants.setting(formulas)).map_err(said)?;
    let mut found = Found::default();
    for (round, noise) in (1..).zip(&noise) {
        let Proposal::Score { width } = policy.propose(&mut no_luck()) else {
            return Err(format!("round {round} is not scored"));
        };
        let mut answer = [Candidates::default()];
        let point = {
            let model = policy.model().ok_or("the policy has no model")?;
            screen.round(&[TrialScore::new(0, policy.change(), width, model)], &mut answer).map_err(said)?;
            decide(&answer[0], model, width, &mut Vec::new()).map_err(said)?
        };
        policy.screened();
        let before = admitted(policy.as_ref(), point);
        policy.update(point, &released(values[point] + noise)?);
        if admitted(policy.as_ref(), point) == before {
            found.truncated.push(f64::from(round));
        }
        found.points.push(point as f64);
        found.widths.push(width);
    }
    let model = policy.model().ok_or("the policy has no model")?;
    let moments = (0..values.len()).map(|point| model.exact(point));
    (found.means, found.variances) = moments.map(|m| (m.mean, m.variance)).unzip();
    Ok(found)
}
