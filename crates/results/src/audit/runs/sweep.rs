//! Audits all cells of a sweep, at one family-wise error rate.

use super::replay::{ReplayJob, RunAttack};
use super::{bandit, curated, samples, users};
use crate::audit::study::found;
use crate::audit::{Finding, PassedOver, Settings};
use privateer_backend::Backend;
use privateer_config::error::Error;
use privateer_engine::env::DataFolder;
use privateer_engine::spec::{Sweep, Task};
use privateer_privacy::Guarantee;

/// Holds the results of the audit of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct RunsAudit {
    /// One finding per attack.
    pub findings: Vec<Finding>,
    /// Cells that were not attacked.
    pub passed_over: Vec<PassedOver>,
}

/// Audits every cell of a sweep that claims privacy, with `settings.samples` replays per side.
///
/// Calls `each` after every cell, with the number of cells.
pub fn of_runs(
    sweep: &Sweep,
    data: &DataFolder,
    backend: &dyn Backend,
    settings: Settings,
    each: &(dyn Fn(u64) + Sync),
) -> Result<RunsAudit, Error> {
    let job = ReplayJob { sweep, data, backend, settings };
    let (mut attacks, mut passed_over): (Vec<RunAttack>, Vec<PassedOver>) = (Vec::new(), Vec::new());
    let n_cells = sweep.listed().len() as u64;
    for plan in sweep.listed() {
        let (plan, facts) = job.shortened(plan)?;
        let before = attacks.len();
        let replays = matches!(&plan.task, Task::Contextual(task) if task.environment_plan.replays);
        if facts.ledger.reward.epsilon.is_some() && !replays {
            attacks.extend(match &plan.task {
                Task::Bandit(bandit) => bandit::attacks(&job, &plan, bandit, &facts.ledger.reward)?,
                Task::Contextual(task) => users::attacks(&job, &plan, task, &facts.ledger.reward)?,
                Task::Online(online) => samples::attacks(&job, &plan, online, &facts.ledger.reward)?,
            });
        }
        let mut reason = "claims nothing".to_owned();
        if replays {
            reason =
                "a log is replayed, and its rows cannot be planted; audit the policy on an environment with users".to_owned();
        }
        if let (Task::Bandit(bandit), Some(inputs)) = (&plan.task, &facts.ledger.inputs) {
            match (&bandit.curator, &inputs.guarantee) {
                (Some(_), Guarantee::NoGuarantee { .. }) => {
                    reason = format!(
                        "there is no guarantee behind what `{}` claims; `privateer audit as-printed` shows it",
                        inputs.mechanism
                    );
                }
                (Some(curator), _) if inputs.epsilon.is_some() => {
                    attacks.extend(curated::attacks(&job, &plan, bandit, curator, inputs)?);
                }
                _ => {}
            }
        }
        if attacks.len() == before {
            passed_over.push(PassedOver { name: plan.label(), reason });
        }
        each(n_cells);
    }
    let alpha = (1.0 - settings.confidence) / attacks.len().max(1) as f64;
    let findings = attacks.into_iter().map(|attack| found(&attack.case, &attack.first, &attack.second, alpha)).collect();
    Ok(RunsAudit { findings, passed_over })
}
