//! Audits inputs behind a curator: one row moves by the radius.
//!
//! **White box**: the release of that row. **Black box**: the points that were played.

use super::fit::{Transcripts, played};
use super::planted::planted;
use super::replay::{AttackerView, ReplayJob, RunAttack, attack};
use super::transcript::Transcript;
use privateer_config::error::Error;
use privateer_engine::engine::{self, Options, Preparation, Stop, Trace};
use privateer_engine::env::{BuildContext, Environment, EnvironmentPlan};
use privateer_engine::spec::{BanditPlan, CellEnvironment, CellPlan, CuratorPlan, Task};
use privateer_gp::Points;
use privateer_privacy::Ledger;
use rayon::prelude::*;
use std::sync::Arc;

/// Returns both attacks on a cell whose curator claims privacy.
pub(super) fn attacks(
    job: &ReplayJob<'_>,
    plan: &CellPlan,
    bandit: &BanditPlan,
    curator: &CuratorPlan,
    inputs: &Ledger,
) -> Result<Vec<RunAttack>, Error> {
    let distance = curator.moves();
    let of = |by: f64| {
        let mut replay = plan.clone();
        let key = format!("{} moved by {by}", plan.environment.key).into();
        replay.environment = Arc::new(CellEnvironment { key, ..(*plan.environment).clone() });
        let inner = Arc::clone(&bandit.environment_plan);
        let environment_plan = Arc::new(EnvironmentPlan::new(move |context| moved(&inner, by, context)));
        replay.task = Task::Bandit(BanditPlan { environment_plan, ..bandit.clone() });
        replay
    };
    let samples = job.samples();
    let sides = [of(0.5 * distance), of(-0.5 * distance)];
    let mut white = Vec::new();
    let mut black = Vec::new();
    let mut n_points = 1;
    for side in sides {
        let sweep = job.sweep_of(vec![side.clone()], samples);
        let preparation = Preparation::new(&sweep, job.data, job.backend);
        let cell = preparation.cell(&side)?;
        n_points = cell.environment.points.as_ref().map_or(1, Points::n_points);
        let released_inputs = (0..samples)
            .into_par_iter()
            .map(|trial| {
                let setting = cell.trial(trial)?.setting;
                let row = setting
                    .released_inputs
                    .map(|released_inputs| released_inputs.value().values[..released_inputs.value().dimension].to_vec());
                Ok(row.unwrap_or_default())
            })
            .collect::<Result<Vec<Vec<f64>>, Error>>()?;
        white.push(released_inputs);
        let heard = Transcript { rounds: plan.rounds as usize, ..Transcript::default() };
        engine::run(&sweep, &preparation, Options::default(), &Default::default(), &Stop::new(), &heard)?;
        black.push(heard.heard(|trial| job.side(trial)).2);
    }
    let width = white.first().and_then(|released_inputs| released_inputs.first()).map_or(1, Vec::len).max(1);
    let mut white = white.into_iter().map(|released_inputs| released_inputs.concat());
    let transcripts =
        Transcripts { width, first: white.next().unwrap_or_default(), second: white.next().unwrap_or_default() }.discriminant();
    let mut rows = Trace::default();
    for (side, mut part) in black.into_iter().enumerate() {
        part.trial.iter_mut().for_each(|trial| *trial += side as u32 * samples as u32);
        rows.extend(part);
    }
    let played = played(&rows, samples, n_points).logistic();
    let pair = format!("the first row of the inputs is moved by {distance}");
    Ok(vec![
        attack(plan, inputs, AttackerView::ReleasedInputs, &pair, "a linear discriminant of the released row", transcripts),
        attack(plan, inputs, AttackerView::PlaysOnInputs, &pair, "a logistic fit on the points played after round 1", played),
    ])
}

/// Returns the problem with its first row moved along the first column.
fn moved(plan: &EnvironmentPlan, by: f64, context: &BuildContext<'_>) -> Result<Environment, Error> {
    let mut problem = planted(plan, None, context)?;
    problem.points = problem.points.map(|points| {
        let mut coordinates = points.coordinates().to_vec();
        coordinates[0] += by;
        Points::new(points.dimension(), coordinates)
    });
    Ok(problem)
}
