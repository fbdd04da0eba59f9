//! Trials of a cell whose rewards the caller measures.

use super::failure::{Phase, exception, named};
use super::guard::{RunGuard, attached};
use super::run::raised;
use super::spec::Sweep;
use numpy::{PyArray1, PyReadonlyArray1};
use privateer::spec::CellPlan;
use privateer::{AskTell, AskTellState, Preparation};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Trials of a cell whose rewards the caller measures; `privateer.AskTell` documents them.
#[pyclass(frozen, module = "privateer._native")]
pub struct AskedTrials {
    trials: Mutex<AskTell>,
    guard: Arc<RunGuard>,
}

impl AskedTrials {
    /// Locks the trials for code that runs without the interpreter.
    fn lock(&self) -> MutexGuard<'_, AskTell> {
        self.trials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(sweep: &Sweep, trials: AskTell) -> Self {
        Self { trials: Mutex::new(trials), guard: Arc::clone(&sweep.guard) }
    }
}

#[pymethods]
impl AskedTrials {
    /// Makes the trials `first..first + count` of a cell, before their first round.
    #[new]
    #[pyo3(signature = (sweep, cell, first, count, data=None))]
    fn new(py: Python<'_>, sweep: &Sweep, cell: usize, first: u64, count: u64, data: Option<PathBuf>) -> PyResult<Self> {
        sweep.guard.begin();
        let trials = first..first.saturating_add(count);
        sweep.made(py, cell, data, |preparation, plan| AskTell::new(preparation, plan, trials)).map(|made| Self::of(sweep, made))
    }

    /// Restores trials from a state that `save` returned.
    #[staticmethod]
    #[pyo3(signature = (sweep, cell, state, data=None))]
    fn restore(py: Python<'_>, sweep: &Sweep, cell: usize, state: &str, data: Option<PathBuf>) -> PyResult<Self> {
        let state: AskTellState = serde_json::from_str(state).map_err(|error| {
            let hint = "pass the text that `AskTell.save` returned, whole";
            named(py, "DataError", &format!("the state of the trials cannot be read: {error}\nhint: {hint}"))
        })?;
        let restore = |preparation: &Preparation<'_>, plan: &CellPlan| AskTell::restore(preparation, plan, &state);
        sweep.made(py, cell, data, restore).map(|made| Self::of(sweep, made))
    }

    /// Returns the point that each trial observes next, int64[trials].
    fn ask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let points = py.detach(|| self.lock().ask().map(<[usize]>::to_vec));
        let points = points.map_err(|error| raised(py, &self.guard, &error))?;
        Ok(PyArray1::from_iter(py, points.into_iter().map(|point| point as i64)))
    }

    /// Takes the reward of each trial; returns the released rewards, NaN where the mechanism releases sums.
    fn tell<'py>(&self, py: Python<'py>, rewards: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let rewards = rewards.as_array().to_vec();
        let released = py.detach(|| self.lock().tell(&rewards)).map_err(|error| raised(py, &self.guard, &error))?;
        Ok(PyArray1::from_iter(py, released.into_iter().map(|reward| reward.unwrap_or(f64::NAN))))
    }

    /// Returns the point that each trial recommends, int64[trials]; -1 before its first play.
    fn recommend<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let points = py.detach(|| self.lock().recommend()).map_err(|error| raised(py, &self.guard, &error))?;
        Ok(PyArray1::from_iter(py, points.into_iter().map(|point| point.map_or(-1, |point| point as i64))))
    }

    /// Returns the points that a trial may play in the asked round, int64; `None` where all may be played.
    fn allowed<'py>(&self, py: Python<'py>, place: usize) -> Option<Bound<'py, PyArray1<i64>>> {
        let trials = attached(py, &self.trials);
        trials.allowed(place).map(|set| PyArray1::from_iter(py, set.iter().map(|&point| i64::from(point))))
    }

    /// Returns the coordinates of a point, float64[dimension]; `None` where it has none.
    fn point<'py>(&self, py: Python<'py>, point: usize) -> Option<Bound<'py, PyArray1<f64>>> {
        attached(py, &self.trials).point(point).map(|point| PyArray1::from_slice(py, point))
    }

    /// Returns the state, as JSON.
    fn save(&self, py: Python<'_>) -> PyResult<String> {
        let state = attached(py, &self.trials).save().map_err(|error| exception(py, &error, Phase::Reading))?;
        serde_json::to_string(&state).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The ledger of one reward, as JSON.
    #[getter]
    fn ledger(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&attached(py, &self.trials).ledger()).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Number of points of the domain.
    #[getter]
    fn n_points(&self, py: Python<'_>) -> usize {
        attached(py, &self.trials).n_points()
    }

    /// The round of the asked points, from 1.
    #[getter]
    fn round(&self, py: Python<'_>) -> u64 {
        attached(py, &self.trials).round()
    }

    /// Whether all rounds are told.
    #[getter]
    fn is_over(&self, py: Python<'_>) -> bool {
        attached(py, &self.trials).is_over()
    }
}
