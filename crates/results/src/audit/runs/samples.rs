//! Audits samples of a learner: those of one user have the largest gradient, in one direction or the other.
//!
//! All other samples are zeros, whose gradients vanish. **White box**: all releases. **Black box**: the answers after every
//! round.

use super::participation::{covered, rounds_of, takes_part};
use super::replay::{AttackerView, ReplayJob, RunAttack, attack, side_of};
use super::transcript::Transcript;
use privateer_config::error::Error;
use privateer_engine::oco::learner::Rates;
use privateer_engine::oco::problem::{Problem, ProblemContext, Trial};
use privateer_engine::spec::{CellPlan, OnlinePlan, Task};
use privateer_privacy::Ledger;
use std::sync::Arc;

/// Magnitude of the planted sample's response, far beyond every clip of a slope.
const RESPONSE: f64 = 1e6;

/// Returns both attacks on a cell that claims privacy.
pub(super) fn attacks(
    job: &ReplayJob<'_>,
    plan: &CellPlan,
    online: &OnlinePlan,
    ledger: &Ledger,
) -> Result<Vec<RunAttack>, Error> {
    let mut planted = plan.clone();
    // The choice of a rate on validation data is no part of the claim.
    let rates = match &online.rates {
        Rates::Validated { grid, .. } => Rates::Fixed(grid.first().copied().unwrap_or(1.0)),
        Rates::Fixed(rate) => Rates::Fixed(*rate),
    };
    let (inner, samples, participation) = (Arc::clone(&online.problem), job.samples(), covered(ledger));
    let problem = Arc::new(move |context: &ProblemContext<'_>| {
        let Problem { setting, facts, trial } = inner(context)?;
        let ones = vec![1.0; setting.set.dimension()];
        let x = setting.sample_radius / setting.set.norm().dual().size(&ones);
        let planted = move |number: u64| {
            let (response, mut round) = (side_of(number, samples).pick(RESPONSE, -RESPONSE), 0);
            Trial::new(ones.len(), trial(0).score, move |features| {
                round += 1;
                let (entry, response) = if takes_part(participation, round) { (x, response) } else { (0.0, 0.0) };
                features.fill(entry);
                response
            })
        };
        Ok(Problem { setting, facts, trial: Box::new(planted) })
    });
    planted.task = Task::Online(Box::new(online.on(problem, rates)));
    let transcript = Transcript { rounds: plan.rounds as usize, learns: true, ..Transcript::default() };
    let (released, answered, _) = job.play(planted, transcript)?;
    let (white, black) = (released.discriminant(), answered.logistic());
    let user = rounds_of(participation);
    let pair = &format!("one user's gradient of {user} is one way against the other, all other samples zero");
    let (all, answers) = ("a linear discriminant of all releases along it", "a logistic fit on all answers along it");
    Ok(vec![
        attack(plan, ledger, AttackerView::Releases, pair, all, white),
        attack(plan, ledger, AttackerView::Plays, pair, answers, black),
    ])
}
