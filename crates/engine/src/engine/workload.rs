//! Sums up what a sweep asks of a backend, for the choice between the CPU and a device.

use super::prepare::Preparation;
use super::tuned::at;
use crate::spec::{Sweep, Task};
use privateer_backend::UpdateKind;
use privateer_config::error::Error;
use privateer_gp::score::Basis;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// Cells over one prepared basis, whose models change in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Points of the domain.
    pub n_points: usize,
    /// What scores are linear in.
    pub columns: WorkColumns,
    /// How models change.
    pub update_kind: UpdateKind,
    /// What the cells state of environment, privacy and policy, as JSON.
    pub settings: BTreeSet<String>,
    /// Whether pilot trials choose an exploration factor of a cell first.
    pub is_tuned: bool,
    /// Indices of the cells.
    pub cells: Vec<u32>,
    /// Trials of all cells.
    pub trials: u64,
    /// Rounds of all trials.
    pub trial_rounds: u64,
}

/// Basis functions of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkColumns {
    /// This number of features of every point.
    Features(usize),
    /// Covariances with a trial's visited points.
    Visited,
    /// As `Visited`, over inputs of each trial's own.
    Own,
}

impl fmt::Display for Workload {
    /// Writes sizes and kind, as in "1024 points, 64 features, 200 trials of 500 rounds".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} points, ", self.n_points)?;
        match self.columns {
            WorkColumns::Features(m) => write!(f, "{m} features")?,
            WorkColumns::Visited => f.write_str("visited points")?,
            WorkColumns::Own => f.write_str("inputs of each trial's own")?,
        }
        let full = if self.update_kind == UpdateKind::Full { ", new every round" } else { "" };
        write!(f, "{full}, {} trials of {} rounds", self.trials, self.trial_rounds / self.trials.max(1))
    }
}

/// Returns what the cells of a sweep ask of a backend, one entry for each prepared basis; cells that never score are left out.
///
/// # Errors
/// The first of the preparation of a cell.
pub fn workloads(sweep: &Sweep, preparation: &Preparation<'_>) -> Result<Vec<Workload>, Error> {
    let mut found: Vec<(&str, Basis, Workload)> = Vec::new();
    for plan in sweep.cells.iter() {
        let Task::Bandit(_) = plan.task else { continue };
        // Any factor shows the sizes: nothing is played here.
        let played = plan.tuning.as_deref().map_or(Cow::Borrowed(plan), |tuning| Cow::Owned(at(plan, tuning, 0)));
        let cell = preparation.cell(&played).map_err(|error| plan.placed(error))?;
        let (Some(basis), Some(_)) = (cell.maker.basis(), &cell.domain) else { continue };
        let update_kind = cell.update_kind();
        let same = |(key, known, work): &(&str, Basis, Workload)| {
            *key == &*plan.environment.key && known.is(&basis) && work.update_kind == update_kind
        };
        let at = found.iter().position(same).unwrap_or_else(|| {
            let columns = match &basis {
                Basis::Table(table) => WorkColumns::Features(table.n_features),
                Basis::Gram(_) => WorkColumns::Visited,
                Basis::Own(_) => WorkColumns::Own,
            };
            let (n_points, settings, cells) = (basis.n_points(), BTreeSet::new(), Vec::new());
            let (is_tuned, trials, trial_rounds) = (false, 0, 0);
            let work = Workload { n_points, columns, update_kind, settings, is_tuned, cells, trials, trial_rounds };
            found.push((&plan.environment.key, basis, work));
            found.len() - 1
        });
        let work = &mut found[at].2;
        let sections = plan.resolved.sections().filter(|(name, _)| *name != "rounds");
        work.settings.insert(sections.map(|(_, section)| section.to_string()).collect::<Vec<_>>().join(" "));
        work.is_tuned |= plan.tuning.is_some();
        work.cells.push(plan.index);
        work.trials = work.trials.saturating_add(sweep.trials);
        work.trial_rounds = work.trial_rounds.saturating_add(sweep.trials.saturating_mul(plan.rounds));
    }
    Ok(found.into_iter().map(|(_, _, work)| work).collect())
}
