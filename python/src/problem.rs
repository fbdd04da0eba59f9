//! What a policy of the user is told before the first round.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use privateer::{PolicyStart, SumsFeatures, TrialFacts};
use pyo3::prelude::*;

/// What is publicly known about the problem before the first round.
#[pyclass(frozen, module = "privateer")]
pub struct Problem {
    start: PolicyStart,
}

impl Problem {
    pub fn new(start: PolicyStart) -> Self {
        Self { start }
    }

    fn each<'py>(&self, py: Python<'py>, value: impl Fn(&TrialFacts) -> Option<f64>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.start.trials.iter().map(|trial| value(trial).unwrap_or(f64::NAN)).collect())
    }
}

#[pymethods]
impl Problem {
    /// Number of points of the domain.
    #[getter]
    fn n_points(&self) -> usize {
        self.start.n_points
    }

    /// Horizon: number of rounds.
    #[getter]
    fn rounds(&self) -> u64 {
        self.start.rounds
    }

    /// Coordinates of the points, float64[n_points, dimension]; None where the domain has none.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let shaped = |points: &privateer::gp::Points| {
            PyArray1::from_slice(py, points.coordinates()).reshape([points.n_points(), points.dimension()])
        };
        self.start.points.as_ref().map(shaped).transpose()
    }

    /// Prior covariance of the points, float64[n_points, n_points]; computed at each call.
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (n, gram) = (self.start.n_points, &self.start.covariance);
        let mut entries = vec![0.0; n * n];
        for (point, row) in entries.chunks_mut(n.max(1)).enumerate() {
            gram.column(point, 0, row);
        }
        PyArray1::from_vec(py, entries).reshape([n, n])
    }

    /// Public bound B on the magnitude of the mean reward, float64[trials].
    #[getter]
    fn bound<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |trial| Some(trial.rewards.bound))
    }

    /// Variance of the observation noise, float64[trials]; NaN where it is infinite or unknown.
    #[getter]
    fn noise_variance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |trial| trial.rewards.noise_variance)
    }

    /// Worst-case variance that the privacy mechanism adds to a reward, float64[trials]; 0 without one.
    #[getter]
    fn mechanism_variance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |trial| Some(trial.released.mechanism_variance))
    }

    /// Bound on the magnitude of a reward before the mechanism's noise, float64[trials]; NaN where there is none.
    #[getter]
    fn clipped_bound<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |trial| trial.released.clipped_bound)
    }

    /// Features of the points whose running sums are released, float64[n_points, n_features], none longer than 1; None otherwise.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let shaped = |features: &SumsFeatures| {
            PyArray1::from_slice(py, &features.rows).reshape([self.start.n_points, features.n_features])
        };
        self.start.features.as_ref().map(shaped).transpose()
    }

    /// Public centre that is subtracted from each reward before it enters sums, float64[trials]; 0 where rewards are released.
    #[getter]
    fn centre<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |trial| Some(trial.sums.map_or(0.0, |sums| sums.centre)))
    }

    /// Least number of users of a batch whose mean is released, int64[trials]; 1 where rewards arrive one by one.
    #[getter]
    fn least_users<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let least = |trial: &TrialFacts| trial.batches.map_or(1, |batches| batches.least as i64);
        PyArray1::from_iter(py, self.start.trials.iter().map(least))
    }

    /// Variance of the mean reward of `users` users with the mechanism's noise, float64[trials]; NaN where it is infinite or unknown.
    fn mean_variance<'py>(&self, py: Python<'py>, users: f64) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |trial| {
            let one_by_one = || Some((trial.rewards.noise_variance? + trial.released.mechanism_variance) / users);
            trial.batches.map(|batches| batches.variance(users)).or_else(one_by_one)
        })
    }

    fn __repr__(&self) -> String {
        format!("Problem(n_points={}, rounds={}, trials={})", self.start.n_points, self.start.rounds, self.start.trials.len())
    }
}
