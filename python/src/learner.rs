//! A learner of the user: one instance for each trial.

use super::guard::RunGuard;
use super::items::{KeyValues, OwnItem};
use super::policy::{described, written};
use numpy::{PyArray1, PyArrayMethods};
use privateer::{LearnerFailure, OwnLearner, SumsLearner, SumsStart};
use pyo3::intern;
use pyo3::prelude::*;
use std::sync::Arc;

/// Describes the learner of a spec.
pub fn own_learner(item: &Arc<OwnItem>, keys: KeyValues, guard: &Arc<RunGuard>) -> OwnLearner {
    let (item, guard) = (Arc::clone(item), Arc::clone(guard));
    OwnLearner::of_sums(move |start| PythonLearner::new(&item, &keys, &guard, start))
}

/// What is publicly known before the first sample.
#[pyclass(frozen, module = "privateer")]
pub struct LearnerProblem {
    start: SumsStart,
}

#[pymethods]
impl LearnerProblem {
    /// Dimension of the parameters.
    #[getter]
    fn dimension(&self) -> usize {
        self.start.set.dimension()
    }

    /// Number of samples of a trial.
    #[getter]
    fn rounds(&self) -> u64 {
        self.start.steps
    }

    /// The learning rate of the spec.
    #[getter]
    fn learning_rate(&self) -> f64 {
        self.start.learning_rate
    }

    /// Half of the set's diameter, in the Euclidean norm.
    #[getter]
    fn radius(&self) -> f64 {
        self.start.radius
    }

    /// Bound on the Euclidean length of a gradient; what the spec states where nothing is clipped.
    #[getter]
    fn lipschitz(&self) -> f64 {
        self.start.lipschitz
    }

    /// Root mean square of the Euclidean length of the noise on a prefix sum, at most; 0 without noise.
    #[getter]
    fn noise(&self) -> f64 {
        self.start.noise
    }

    /// The point of the set where the program's learners start, float64[dimension].
    #[getter]
    fn centre<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.start.set.centre())
    }

    /// Returns the nearest point of the set, float64[dimension].
    fn project<'py>(&self, py: Python<'py>, point: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut point = numbers(point, self.start.set.dimension()).map_err(pyo3::exceptions::PyValueError::new_err)?;
        self.start.set.project(&mut point);
        Ok(PyArray1::from_vec(py, point))
    }
}

/// Reads an array float64[d] of finite numbers; otherwise returns what was found and expected.
fn numbers(answer: &Bound<'_, PyAny>, d: usize) -> Result<Vec<f64>, String> {
    let wrong = |found: String| format!("{found}, expected an array float64[{d}] of finite numbers");
    let Ok(array) = answer.cast::<PyArray1<f64>>() else { return Err(wrong(described(answer))) };
    let array = array.try_readonly().map_err(|error| wrong(error.to_string()))?;
    let point: Vec<f64> = array.as_array().iter().copied().collect();
    if point.len() != d {
        return Err(wrong(described(answer)));
    }
    if point.iter().all(|number| number.is_finite()) { Ok(point) } else { Err(wrong("a number that is not finite".to_owned())) }
}

/// An instance of the user's class, for one trial.
struct PythonLearner {
    class_name: String,
    learner: Py<PyAny>,
    guard: Arc<RunGuard>,
    answers_apart: bool,
    dimension: usize,
    points: Vec<f64>,
    answers: Vec<f64>,
}

impl PythonLearner {
    fn new(item: &OwnItem, keys: &KeyValues, guard: &Arc<RunGuard>, start: &SumsStart) -> Result<Self, LearnerFailure> {
        guard.call(|py| {
            let learner = item.instance_with(py, keys, guard, ["start", "point", "learn"])?;
            let problem = LearnerProblem { start: start.clone() };
            learner
                .call_method1(intern!(py, "start"), (problem,))
                .map_err(|error| guard.raised(None, &format!("{}.start", item.class_name), error))?;
            let mut begun = Self {
                class_name: item.class_name.clone(),
                answers_apart: written(&learner, "answer"),
                learner: learner.unbind(),
                guard: Arc::clone(guard),
                dimension: start.set.dimension(),
                points: Vec::new(),
                answers: Vec::new(),
            };
            begun.read(py)?;
            Ok(begun)
        })
    }

    fn read(&mut self, py: Python<'_>) -> Result<(), LearnerFailure> {
        let get = |method: &str| {
            let name = format!("{}.{method}", self.class_name);
            let answer = self.learner.bind(py).call_method0(method).map_err(|error| self.guard.raised(None, &name, error))?;
            numbers(&answer, self.dimension).map_err(|found| self.guard.refuse(None, format!("`{name}` returned {found}")))
        };
        let points = get("point")?;
        let answers = if self.answers_apart { get("answer")? } else { points.clone() };
        (self.points, self.answers) = (points, answers);
        Ok(())
    }
}

impl SumsLearner for PythonLearner {
    fn points(&self) -> &[f64] {
        &self.points
    }

    fn learn(&mut self, sums: &[f64]) -> Result<(), LearnerFailure> {
        let guard = Arc::clone(&self.guard);
        guard.call(|py| {
            let learned = self.learner.bind(py).call_method1(intern!(py, "learn"), (PyArray1::from_slice(py, sums),));
            learned.map_err(|error| guard.raised(None, &format!("{}.learn", self.class_name), error))?;
            self.read(py)
        })
    }

    fn answers(&self) -> &[f64] {
        &self.answers
    }
}
