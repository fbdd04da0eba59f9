//! Translates a checked sweep and its results into what is recorded.

use crate::engine::{Preparation, Rows};
use crate::record::{self, CellInfo, Measures, PartRows};
use crate::spec::{Sweep, Task};
use privateer_config::error::Error;

/// Returns the cells of a sweep as the manifest lists them.
///
/// # Errors
/// The first error of the preparation of a cell.
pub(super) fn cell_infos(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Vec<CellInfo>, Error> {
    let mut cells = sweep
        .cells
        .iter()
        .map(|plan| {
            let facts = preparation.facts(plan).map_err(|error| plan.placed(error))?;
            Ok(CellInfo {
                cell: plan.index,
                label: plan.label(),
                policy: plan.policy.clone(),
                environment: plan.environment.clone(),
                swept: plan.swept.clone(),
                resolved: plan.resolved.clone(),
                ledger: facts.ledgers(),
                facts: facts.facts.into_iter().collect::<serde_json::Map<_, _>>().into(),
                measures: match &plan.task {
                    Task::Bandit(_) => Measures::Regret,
                    Task::Contextual(task) if task.environment_plan.replays() => Measures::Replay,
                    Task::Contextual(_) => Measures::Contextual,
                    Task::Online(_) => Measures::Risk,
                },
            })
        })
        .collect::<Result<Vec<CellInfo>, Error>>()?;
    record::unify_swept(&mut cells);
    Ok(cells)
}

/// The rows of a part.
pub(super) fn part_rows(rows: Rows) -> PartRows {
    PartRows {
        trial: rows.trial,
        round: rows.round,
        point: rows.point,
        regret: rows.regret,
        cumulative_regret: rows.cumulative_regret,
        simple_regret: rows.simple_regret,
        recommended_regret: rows.recommended_regret,
        best_share: rows.best_share,
        taken: rows.taken,
        value: rows.value,
        standard_error: rows.standard_error,
        risk: rows.risk,
        suboptimality: rows.suboptimality,
    }
}
