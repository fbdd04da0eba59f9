//! The backend, its prepared bases and its screens.

use super::trial::TrialScreen;
use crate::backend::{Backend, Band, Counters, Domain, Screen};
use crate::error::Error;
use crate::score::{Basis, Candidates, Change, TrialScore};
use std::sync::Arc;

/// The CPU backend.
#[derive(Debug, Clone)]
pub struct Cpu {
    band: Band,
}

impl Default for Cpu {
    fn default() -> Self {
        Self { band: Band::Proved }
    }
}

impl Cpu {
    /// A backend with another band, for tests of the contract.
    #[must_use]
    pub fn with_band(band: Band) -> Self {
        Self { band }
    }
}

impl Backend for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn prepare(&self, basis: &Basis) -> Result<Arc<dyn Domain>, Error> {
        let columns = match basis {
            Basis::Gram(_) | Basis::Own(_) => Columns::default(),
            Basis::Table(table) => {
                // Feature-major copy: one feature of all points is contiguous, so that a block's sums run in many lanes.
                let n = table.n_points;
                let mut values = vec![0.0; table.n_features * n];
                for point in 0..n {
                    for (feature, &value) in table.row(point).iter().enumerate() {
                        values[feature * n + point] = value;
                    }
                }
                let magnitude = |column: &[f64]| column.iter().fold(0.0f64, |most, value| most.max(value.abs()));
                let largest = values.chunks(n.max(1)).map(magnitude).collect();
                Columns { values, largest }
            }
        };
        Ok(Arc::new(CpuDomain { basis: basis.clone(), columns: Arc::new(columns), band: self.band }))
    }
}

/// Feature-major values of a table basis; empty for a Gram basis.
#[derive(Debug, Default)]
struct Columns {
    values: Vec<f64>,
    /// Largest magnitude in each column.
    largest: Vec<f64>,
}

struct CpuDomain {
    basis: Basis,
    columns: Arc<Columns>,
    band: Band,
}

impl Domain for CpuDomain {
    fn batch(&self, _rounds: u64) -> usize {
        // A trial's arrays (mean, spread², p, score: 32 bytes a point) should stay in a second-level cache of 1 MiB with
        // its state; lockstep buys nothing beyond that, as trials share no arithmetic here.
        (1usize << 19).checked_div(32 * self.basis.n_points()).unwrap_or(1).clamp(1, 8)
    }

    fn open(&self, n_trials: usize) -> Box<dyn Screen> {
        let n_points = self.basis.n_points();
        Box::new(CpuScreen {
            basis: self.basis.clone(),
            columns: Arc::clone(&self.columns),
            band: self.band,
            trials: (0..n_trials).map(|_| TrialScreen::new(n_points)).collect(),
            counters: Counters::default(),
        })
    }
}

struct CpuScreen {
    basis: Basis,
    columns: Arc<Columns>,
    band: Band,
    trials: Vec<TrialScreen>,
    counters: Counters,
}

impl Screen for CpuScreen {
    fn begin(&mut self, _trials: &[TrialScore<'_>]) -> Result<(), Error> {
        Ok(())
    }

    fn finish(&mut self, trials: &[TrialScore<'_>], out: &mut [Candidates]) -> Result<(), Error> {
        for (request, answer) in trials.iter().zip(out) {
            let trial = &mut self.trials[request.trial];
            let mut start_anew = false;
            match request.change {
                Change::None => {}
                Change::Rebuild | Change::Factor => trial.forget(),
                Change::Row { row, scale, mean_step, repeated, rebuilt } => {
                    start_anew = rebuilt;
                    // Projected even where the screen starts anew: the next observation may repeat the row.
                    match &self.basis {
                        _ if repeated => {}
                        Basis::Table(table) => {
                            let n = table.n_points;
                            let column = |i: usize| &self.columns.values[i * n..(i + 1) * n];
                            trial.project(row, column, |i| self.columns.largest[i]);
                        }
                        Basis::Own(_) => {
                            if let Some(gram) = request.model.own_gram() {
                                let points = request.model.basis_points();
                                trial.project_gram(gram.as_ref(), points, row, request.model.prior_variance_bound());
                            }
                        }
                        Basis::Gram(gram) => {
                            let points = request.model.basis_points();
                            trial.project_gram(gram.as_ref(), points, row, request.model.prior_variance_bound());
                        }
                    }
                    if trial.is_fresh() {
                        trial.observe(scale, mean_step);
                    }
                }
            }
            if start_anew || !trial.is_fresh() || trial.has_drifted(request.model.prior_variance_bound()) {
                // A model that has just been rebuilt is no reference for what the screen followed.
                trial.rebuild(request.model, !start_anew, &mut self.counters);
            } else {
                trial.check(request.model, &mut self.counters);
            }
            trial.candidates(request, self.band, answer);
            self.counters.rounds += 1;
            self.counters.candidates += answer.points.len() as u64;
            self.counters.ambiguous += u64::from(1 < answer.points.len());
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
