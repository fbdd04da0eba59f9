//! Trials whose points the caller chooses, one step of all of them at a time.

use super::failure::{Phase, exception, named};
use super::guard::{RunGuard, UserFailure, attached};
use super::spec::Sweep;
use numpy::{PyArray1, PyReadonlyArray1};
use privateer::{Error, Simulator, SimulatorStep};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Several trials of a cell, whose points the caller chooses.
#[pyclass(frozen, module = "privateer._native")]
pub struct Simulators {
    trials: Mutex<Vec<Simulator>>,
    /// Whether a step has failed, so that some trials are a round ahead of others.
    failed: AtomicBool,
    guard: Arc<RunGuard>,
}

/// Released rewards and regrets.
type Steps<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Simulators {
    /// Makes the trials of these numbers of a cell, before their first round.
    #[new]
    #[pyo3(signature = (sweep, cell, trials, data=None))]
    fn new(py: Python<'_>, sweep: &Sweep, cell: usize, trials: Vec<u64>, data: Option<PathBuf>) -> PyResult<Self> {
        sweep.guard.begin();
        let made = sweep.made(py, cell, data, |preparation, plan| {
            trials.into_iter().map(|trial| Simulator::new(preparation, plan, trial)).collect()
        })?;
        Ok(Self { trials: Mutex::new(made), failed: AtomicBool::new(false), guard: Arc::clone(&sweep.guard) })
    }

    /// Number of points of the domain.
    #[getter]
    fn n_points(&self, py: Python<'_>) -> usize {
        attached(py, &self.trials).first().map_or(0, Simulator::n_points)
    }

    /// Whether the horizon is reached.
    #[getter]
    fn is_over(&self, py: Python<'_>) -> bool {
        attached(py, &self.trials).first().is_none_or(Simulator::is_over)
    }

    /// Plays a point in each trial; returns the released rewards, NaN where none is released, and the regrets.
    fn step<'py>(&self, py: Python<'py>, points: PyReadonlyArray1<'py, i64>) -> PyResult<Steps<'py>> {
        let points: Vec<usize> = points.as_array().iter().map(|&point| usize::try_from(point).unwrap_or(usize::MAX)).collect();
        let stepped = py.detach(|| {
            let mut trials = self.trials.lock().unwrap_or_else(PoisonError::into_inner);
            if points.len() != trials.len() {
                return Err((format!("{} points were given for {} trials", points.len(), trials.len()), None));
            }
            // No trial goes on where one of them cannot.
            let failed = |error: Error| (String::new(), Some(Box::new(error)));
            trials.iter().zip(&points).try_for_each(|(trial, &point)| trial.check(point)).map_err(failed)?;
            if self.failed.load(Ordering::Relaxed) {
                return Err(("the environment failed in an earlier step: create new trials".to_owned(), None));
            }
            // An environment of the user's that fails ends its step with an error or, by a bug of ours, with a panic.
            let all = || trials.iter_mut().zip(&points).map(|(trial, &point)| trial.step(point)).collect();
            let steps = match catch_unwind(AssertUnwindSafe(all)) {
                Ok(steps) => Result::<Vec<SimulatorStep>, Error>::map_err(steps, failed),
                Err(_) => Err(("the environment failed: these trials cannot go on".to_owned(), None)),
            };
            self.failed.store(steps.is_err(), Ordering::Relaxed);
            steps
        });
        let steps = stepped.map_err(|(problem, error)| match (self.guard.take(), error) {
            (Some(UserFailure { exception: Some(exception), .. }), _) => exception,
            (Some(UserFailure { message, .. }), _) => named(py, "PolicyError", &message),
            (None, Some(error)) => exception(py, &error, Phase::Reading),
            (None, None) => PyValueError::new_err(problem),
        })?;
        let released: Vec<f64> = steps.iter().map(|step| step.released.unwrap_or(f64::NAN)).collect();
        let regrets: Vec<f64> = steps.iter().map(|step| step.regret).collect();
        Ok((PyArray1::from_vec(py, released), PyArray1::from_vec(py, regrets)))
    }
}
