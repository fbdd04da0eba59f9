//! Sums up what a sweep asks of a backend, for the choice between the CPU and a device.

use super::prepare::Preparation;
use crate::spec::{Sweep, Task};
use privateer_backend::cost::{WorkColumns, Workload};
use privateer_config::error::Error;
use privateer_gp::score::Basis;

/// Returns what the cells of a sweep ask of a backend, one entry for each prepared basis; cells that never score are left out.
pub fn workloads(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Vec<Workload>, Error> {
    let mut found: Vec<(&str, Basis, Workload)> = Vec::new();
    for plan in sweep.cells.iter() {
        let Task::Bandit(_) = plan.task else { continue };
        let cell = preparation.cell(plan).map_err(|error| plan.placed(error))?;
        let (Some(basis), Some(_)) = (cell.maker.basis(), &cell.domain) else { continue };
        let n_points = basis.n_points();
        let visited = n_points.min(usize::try_from(plan.rounds).unwrap_or(usize::MAX));
        let columns = match &basis {
            Basis::Table(table) => WorkColumns::Features(table.n_features),
            Basis::Gram(_) => WorkColumns::Visited(visited),
            Basis::Own(_) => WorkColumns::Own(visited),
        };
        let update_kind = cell.update_kind();
        let same = |(key, known, work): &&mut (&str, Basis, Workload)| {
            *key == &*plan.environment_key && known.is(&basis) && work.update_kind == update_kind
        };
        if let Some((_, _, work)) = found.iter_mut().find(same) {
            let all = work.trials + sweep.trials;
            work.rounds = (work.rounds * work.trials as f64 + (plan.rounds * sweep.trials) as f64) / all as f64;
            work.trials = all;
        } else {
            let work = Workload { n_points, columns, update_kind, trials: sweep.trials, rounds: plan.rounds as f64 };
            found.push((&plan.environment_key, basis, work));
        }
    }
    Ok(found.into_iter().map(|(_, _, work)| work).collect())
}
