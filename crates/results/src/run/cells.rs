//! Describes the cells of a checked sweep for the manifest.

use super::RunObserver;
use privateer_config::error::Error;
use privateer_engine::engine::{CellInfo, Measures, Preparation, unify_swept};
use privateer_engine::spec::{SharedValues, Sweep, Task};
use rayon::ThreadPool;
use std::sync::Arc;

/// Returns the cells of a sweep as the manifest lists them; their pilot trials are played on the pool.
pub(super) fn cell_infos(
    sweep: &Sweep,
    preparation: &Preparation<'_>,
    pool: &ThreadPool,
    observer: &dyn RunObserver,
) -> Result<Vec<CellInfo>, Error> {
    pool.install(|| {
        preparation.tune(&sweep.cells, &|factors| observer.tuned(factors))?;
        infos(sweep, preparation)
    })
}

fn infos(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Vec<CellInfo>, Error> {
    let (mut ledgers, mut shared, mut warnings) = (SharedValues::default(), SharedValues::default(), SharedValues::default());
    let mut swept = Arc::default();
    let mut cells = sweep
        .cells
        .iter()
        .map(|plan| {
            // The cells of a sweep point share their values.
            let values = plan.swept.values();
            if values != swept {
                swept = values;
            }
            let facts = preparation.facts(plan).map_err(|error| plan.placed(error))?;
            Ok(CellInfo {
                cell: plan.index,
                policy: Arc::clone(&plan.policy),
                environment: Arc::clone(&plan.environment.label),
                swept: Arc::clone(&swept),
                role: plan.role.clone(),
                resolved: plan.resolved.clone(),
                // A copy has no spare memory.
                ledger: ledgers.share(facts.ledger.clone()),
                facts: shared.share(facts.facts.clone()),
                measures: match &plan.task {
                    Task::Bandit(_) => Measures::Regret,
                    Task::Contextual(task) if task.environment_plan.replays => Measures::Replay,
                    Task::Contextual(_) => Measures::Contextual,
                    Task::Online(_) => Measures::Risk,
                },
                warnings: warnings.share(facts.warnings),
            })
        })
        .collect::<Result<Vec<CellInfo>, Error>>()?;
    unify_swept(&mut cells);
    Ok(cells)
}
