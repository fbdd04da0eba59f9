//! A policy of the user: one call a round for all trials of a block.

use super::contextual::sums;
use super::guard::RunGuard;
use super::items::{KeyValues, OwnItem};
use super::problem::Problem;
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use privateer::config::facts::FactValue;
use privateer::config::params::Args;
use privateer::numerics::rng::Stream;
use privateer::privacy::gram::GramLayout;
use privateer::{BatchPolicy, OwnPolicy, PolicyFailure, PolicyStart, Release, ToldRelease, ToldReward, TrialView};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Describes the policy of a spec.
pub fn own_policy(item: &Arc<OwnItem>, args: &Args<'_>, guard: &Arc<RunGuard>) -> OwnPolicy {
    let (keys, guard) = (item.read(args), Arc::clone(guard));
    let count = |name: &str| item.count(&keys, name);
    let (least, every) = (count("least_users"), count("release_every").unwrap_or(1));
    let (candidates, users) = (count("candidates").unwrap_or(0), count("users").unwrap_or(0));
    let own = Arc::clone(item);
    let policy = OwnPolicy::batched(move |start| PythonPolicy::new(&own, &keys, &guard, start));
    let policy = if item.independent { policy.independent() } else { policy };
    match item.learns.as_deref() {
        Some("means") => policy.in_batches(least),
        Some("feature-sums") => policy.over_sums(args, every),
        Some("choice") => policy.by_choice(candidates, users),
        _ => policy,
    }
}

/// An instance of the user's class, for the trials of one block.
struct PythonPolicy {
    class_name: String,
    policy: Py<PyAny>,
    guard: Arc<RunGuard>,
    n_points: usize,
    /// What `start` is told, until the first round.
    start: Option<PolicyStart>,
    recommends: bool,
    has_state: bool,
    n_trials: usize,
    /// Number of features whose sums are released.
    features: usize,
    /// Number of users of the open batch of each trial, if the class learns means of batches.
    users: Option<Vec<u64>>,
    /// The latest round, from 1; `None` before it.
    round: Option<u64>,
    /// What `recommend` has answered in this round: an empty list if it recommends nothing.
    recommended: Mutex<Option<Vec<i64>>>,
    /// What `state` has answered, a JSON value for each trial.
    states: OnceLock<Vec<FactValue>>,
}

impl PythonPolicy {
    fn new(item: &OwnItem, keys: &KeyValues, guard: &Arc<RunGuard>, start: PolicyStart) -> Result<Self, PolicyFailure> {
        guard.call(|py| {
            let policy = item.instance_with(py, keys, guard, ["start", "ask", "tell"])?;
            Ok(Self {
                class_name: item.class_name.clone(),
                recommends: policy.hasattr("recommend").unwrap_or(false),
                has_state: written(&policy, "state"),
                policy: policy.unbind(),
                guard: Arc::clone(guard),
                n_points: start.n_points,
                n_trials: 0,
                users: (item.learns.as_deref() == Some("means")).then(Vec::new),
                features: start.features.as_ref().map_or(0, |features| features.n_features),
                start: Some(start),
                round: None,
                recommended: Mutex::default(),
                states: OnceLock::new(),
            })
        })
    }

    fn raised(&self, method: &str, error: PyErr) -> PolicyFailure {
        self.guard.raised(self.round, &format!("{}.{method}", self.class_name), error)
    }

    /// Calls `start`, with a generator for each trial that is seeded from the trial's own stream.
    fn begin(&self, py: Python<'_>, start: PolicyStart, trials: &mut [TrialView<'_>]) -> PyResult<()> {
        let numbers = PyArray1::from_vec(py, trials.iter().map(|trial| trial.trial as i64).collect());
        let generators = trials.iter_mut().map(|trial| generator(py, trial.random)).collect::<PyResult<Vec<_>>>()?;
        self.policy.call_method1(py, "start", (Problem::new(start), numbers, PyList::new(py, generators)?)).map(drop)
    }

    fn returned(&self, method: &str, found: &str) -> PolicyFailure {
        self.guard.refuse(self.round, format!("`{}.{method}` returned {found}", self.class_name))
    }

    /// Reads what `ask` or `recommend` has returned.
    fn points(&self, answer: &Bound<'_, PyAny>, n_trials: usize, method: &str) -> Result<Vec<i64>, PolicyFailure> {
        chosen(answer, n_trials, self.n_points, "points").map_err(|found| self.returned(method, &found))
    }
}

/// Reads an array int64[trials] of choices below `limit`; otherwise returns what was found and expected.
pub fn chosen(answer: &Bound<'_, PyAny>, n_trials: usize, limit: usize, of: &str) -> Result<Vec<i64>, String> {
    let wrong = |found: String| format!("{found}, expected an array int64[{n_trials}] of {of}");
    let Ok(array) = answer.cast::<PyArray1<i64>>() else {
        return Err(wrong(described(answer)));
    };
    let array = array.try_readonly().map_err(|error| wrong(error.to_string()))?;
    let choices = array.as_array();
    if choices.len() != n_trials {
        return Err(wrong(described(answer)));
    }
    if let Some((place, choice)) = choices.iter().enumerate().find(|(_, choice)| !(0..limit as i64).contains(choice)) {
        return Err(wrong(format!("{choice} at place {place}, not in 0..{limit}")));
    }
    Ok(choices.to_vec())
}

/// Returns whether an instance has a method of its own, not the one of the protocol that its class may inherit.
pub fn written(instance: &Bound<'_, PyAny>, method: &str) -> bool {
    instance.getattr(method).is_ok_and(|method| method.is_callable() && !method.hasattr("not_written").unwrap_or(false))
}

/// Describes a value by its type and, for arrays, its shape.
pub fn described(value: &Bound<'_, PyAny>) -> String {
    match value.cast::<PyUntypedArray>() {
        Ok(array) => {
            let shape: Vec<String> = array.shape().iter().map(usize::to_string).collect();
            format!("an array {}[{}]", array.dtype(), shape.join(", "))
        }
        Err(_) => format!("a value of type {}", value.get_type().name().map_or("unknown".to_owned(), |name| name.to_string())),
    }
}

/// Returns a `numpy.random.Generator` that is seeded with 128 bits of a stream.
pub fn generator<'py>(py: Python<'py>, random: &mut Stream) -> PyResult<Bound<'py, PyAny>> {
    let words = [random.word(), random.word()];
    let random = py.import(intern!(py, "numpy.random"))?;
    random.getattr(intern!(py, "Generator"))?.call1((random.getattr(intern!(py, "PCG64"))?.call1((words,))?,))
}

/// Calls `state`, which returns a sequence of one value for each trial, as JSON can write it.
pub(crate) fn read_states(
    py: Python<'_>,
    policy: &Bound<'_, PyAny>,
    guard: &RunGuard,
    class_name: &str,
    n_trials: usize,
) -> Result<Vec<FactValue>, PolicyFailure> {
    let own = py.import(intern!(py, "privateer.own"));
    let text: String = own
        .and_then(|own| own.call_method1(intern!(py, "_state_text"), (policy,))?.extract())
        .map_err(|error| guard.raised(None, &format!("{class_name}.state"), error))?;
    match serde_json::from_str(&text) {
        Ok(FactValue::List(states)) if states.len() == n_trials => Ok(states),
        Ok(_) => Err(guard.refuse(None, format!("`{class_name}.state` returned no list of {n_trials} values"))),
        Err(error) => Err(guard.refuse(None, format!("`{class_name}.state` returned what is not JSON: {error}"))),
    }
}

impl BatchPolicy for PythonPolicy {
    fn ask(&mut self, trials: &mut [TrialView<'_>]) -> Result<Vec<usize>, PolicyFailure> {
        let start = self.start.take();
        if start.is_some() {
            self.n_trials = trials.len();
            self.users.iter_mut().for_each(|users| *users = vec![0; trials.len()]);
        }
        self.round = trials.first().map(|trial| trial.round);
        let this = &*self;
        let asked = this.guard.call(|py| {
            if let Some(start) = start {
                this.begin(py, start, trials).map_err(|error| this.raised("start", error))?;
            }
            let round = trials.first().map_or(0, |trial| trial.round);
            let ask = intern!(py, "ask");
            let policy = this.policy.bind(py);
            if this.users.is_some() {
                let places = PyArray1::from_iter(py, trials.iter().map(|trial| trial.place as i64));
                let answer = policy.call_method1(ask, (round, places)).map_err(|error| this.raised("ask", error))?;
                let Ok((points, users)) = answer.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
                    return Err(this.returned("ask", &format!("{}, expected (points, users)", described(&answer))));
                };
                let users = chosen(&users, trials.len(), i64::MAX as usize, "numbers of users")
                    .map_err(|found| this.returned("ask", &found))?;
                return Ok((this.points(&points, trials.len(), "ask")?, Some(users)));
            }
            let answer = match trials.iter().map(|trial| trial.allowed).collect::<Option<Vec<&[u32]>>>() {
                None => policy.call_method1(ask, (round,)),
                // Decision sets of several sizes: one array for each trial.
                Some(sets) => {
                    let arrays =
                        sets.iter().map(|set| PyArray1::from_vec(py, set.iter().map(|&point| i64::from(point)).collect()));
                    PyList::new(py, arrays).and_then(|sets| policy.call_method1(ask, (round, sets)))
                }
            };
            let answer = answer.map_err(|error| this.raised("ask", error))?;
            Ok((this.points(&answer, trials.len(), "ask")?, None))
        });
        let (points, users) = asked?;
        if let Some((own, users)) = self.users.as_mut().zip(users) {
            trials.iter().zip(users).for_each(|(trial, users)| own[trial.place] = users as u64);
        }
        Ok(points.into_iter().map(|point| point as usize).collect())
    }

    fn users(&self, place: usize) -> u64 {
        self.users.as_ref().map_or(1, |users| users[place])
    }

    fn tell(&mut self, told: &[ToldReward]) -> Result<(), PolicyFailure> {
        self.recommended = Mutex::default();
        self.guard.call(|py| {
            let points = PyArray1::from_iter(py, told.iter().map(|told| told.point as i64));
            let released = PyArray1::from_iter(py, told.iter().map(|told| told.released));
            let (policy, tell) = (self.policy.bind(py), intern!(py, "tell"));
            let called = if self.users.is_some() {
                let places = PyArray1::from_iter(py, told.iter().map(|told| told.place as i64));
                policy.call_method1(tell, (points, released, places))
            } else {
                policy.call_method1(tell, (points, released))
            };
            called.map(drop).map_err(|error| self.raised("tell", error))
        })
    }

    fn learn(&mut self, told: &[ToldRelease<'_>]) -> Result<(), PolicyFailure> {
        self.recommended = Mutex::default();
        let (mut grams, mut moments, mut deviations, mut points) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let m = self.features;
        for told in told {
            match told.released {
                Release::Sums(released) => {
                    let (gram, moment) = sums(GramLayout::single(m), &released.entries);
                    grams.extend(gram);
                    moments.extend(moment);
                    deviations.extend([released.gram_std, released.moment_std]);
                }
                Release::Choice { point, .. } => points.push(point as i64),
                _ => {}
            }
        }
        self.guard.call(|py| {
            let (n, policy, tell) = (told.len(), self.policy.bind(py), intern!(py, "tell"));
            let call = || {
                if !points.is_empty() {
                    return policy.call_method1(tell, (PyArray1::from_vec(py, points),));
                }
                let grams = PyArray1::from_vec(py, grams).reshape([n, m, m])?;
                let moments = PyArray1::from_vec(py, moments).reshape([n, m])?;
                policy.call_method1(tell, (grams, moments, PyArray1::from_vec(py, deviations).reshape([n, 2])?))
            };
            call().map(drop).map_err(|error| self.raised("tell", error))
        })
    }

    fn recommend(&self, place: usize) -> Result<Option<usize>, PolicyFailure> {
        if !self.recommends {
            return Ok(None);
        }
        let mut recommended = self.recommended.lock().unwrap_or_else(PoisonError::into_inner);
        if recommended.is_none() {
            // One call serves all trials of the round.
            let points = self.guard.call(|py| {
                let answer = self.policy.bind(py).call_method0(intern!(py, "recommend"));
                let answer = answer.map_err(|error| self.raised("recommend", error))?;
                if answer.is_none() { Ok(Vec::new()) } else { self.points(&answer, self.n_trials, "recommend") }
            })?;
            *recommended = Some(points);
        }
        Ok(recommended.as_ref().and_then(|points| points.get(place)).map(|&point| point as usize))
    }

    fn state(&self, place: usize) -> Result<Option<FactValue>, PolicyFailure> {
        if !self.has_state {
            return Ok(None);
        }
        if self.states.get().is_none() {
            // One call serves all trials of the block, which end together.
            let states =
                self.guard.call(|py| read_states(py, self.policy.bind(py), &self.guard, &self.class_name, self.n_trials))?;
            let _ = self.states.set(states);
        }
        Ok(self.states.get().and_then(|states| states.get(place)).cloned())
    }
}
