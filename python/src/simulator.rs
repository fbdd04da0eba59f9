//! Trials whose points the caller chooses, one step of all of them at a time.

use super::failure::{Phase, exception};
use super::spec::Sweep;
use numpy::{PyArray1, PyReadonlyArray1};
use privateer::{Cpu, Preparation, Simulator, SimulatorStep};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Several trials of a cell, whose points the caller chooses.
#[pyclass(frozen, module = "privateer._native")]
pub struct Simulators {
    trials: Mutex<Vec<Simulator>>,
}

/// Released rewards and regrets.
type Steps<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Simulators {
    /// Makes the trials of these numbers of a cell, before their first round.
    #[new]
    #[pyo3(signature = (sweep, cell, trials, data=None))]
    fn new(py: Python<'_>, sweep: &Sweep, cell: usize, trials: Vec<u64>, data: Option<PathBuf>) -> PyResult<Self> {
        let Some(plan) = sweep.sweep.cells.get(cell) else {
            return Err(PyIndexError::new_err(format!("there is no cell {cell}: the spec has {}", sweep.sweep.cells.len())));
        };
        let data = sweep.data(data);
        let made = py.detach(|| {
            let backend = Cpu::default();
            let preparation = Preparation::new(&sweep.sweep, &data, &backend);
            trials.into_iter().map(|trial| Simulator::new(&preparation, plan, trial)).collect::<Result<Vec<Simulator>, _>>()
        });
        Ok(Self { trials: Mutex::new(made.map_err(|error| exception(py, &error, Phase::Running))?) })
    }

    /// Number of points of the domain.
    #[getter]
    fn n_points(&self) -> usize {
        self.trials.lock().unwrap_or_else(PoisonError::into_inner).first().map_or(0, Simulator::n_points)
    }

    /// Whether the horizon is reached.
    #[getter]
    fn is_over(&self) -> bool {
        self.trials.lock().unwrap_or_else(PoisonError::into_inner).first().is_none_or(Simulator::is_over)
    }

    /// Plays a point in each trial; returns the released rewards, NaN where none is released, and the regrets.
    fn step<'py>(&self, py: Python<'py>, points: PyReadonlyArray1<'py, i64>) -> PyResult<Steps<'py>> {
        let points = points.as_array();
        let mut trials = self.trials.lock().unwrap_or_else(PoisonError::into_inner);
        if points.len() != trials.len() {
            return Err(PyValueError::new_err(format!("{} points were given for {} trials", points.len(), trials.len())));
        }
        let (mut released, mut regrets) = (Vec::with_capacity(points.len()), Vec::with_capacity(points.len()));
        for (trial, &point) in trials.iter_mut().zip(points) {
            let step = trial.step(usize::try_from(point).unwrap_or(usize::MAX));
            let SimulatorStep { released: reward, regret, .. } = step.map_err(|error| exception(py, &error, Phase::Reading))?;
            released.push(reward.unwrap_or(f64::NAN));
            regrets.push(regret);
        }
        Ok((PyArray1::from_vec(py, released), PyArray1::from_vec(py, regrets)))
    }
}
