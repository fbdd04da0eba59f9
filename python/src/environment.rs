//! An environment of the user: points, with mean rewards or a black box.

use super::guard::{RunGuard, raised_message};
use super::items::{KeyValues, OwnItem};
use super::policy::{described, generator, written};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use privateer::FnEnvironment;
use privateer::config::params::Args;
use privateer::env::noise::parse_noise;
use privateer::numerics::rng::Stream;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// Reads an environment: an instance of the class states its points, and their mean rewards or a function that draws rewards.
pub fn environment(item: &Arc<OwnItem>, args: &Args<'_>, guard: &Arc<RunGuard>) -> FnEnvironment {
    let keys = item.read(args);
    match Python::attach(|py| PythonEnvironment::new(py, item, &keys)) {
        Ok(PythonEnvironment { dimension, coordinates, means: Some(means), .. }) => {
            let by_bits: HashMap<Vec<u64>, f64> = coordinates.chunks(dimension).map(bits).zip(means).collect();
            let by_bits = Arc::new(by_bits);
            let mean = move |x: &[f64]| by_bits.get(&bits(x)).copied().unwrap_or(f64::NAN);
            let noise = parse_noise(args);
            let bounds = noise.range();
            let drawn = mean.clone();
            let environment =
                FnEnvironment::new(dimension, coordinates, move |x, random| noise.reward(drawn(x), 0, random)).with_mean(mean);
            bounded(environment, bounds).read(args)
        }
        Ok(PythonEnvironment { dimension, coordinates, instance, range, samples, .. }) => {
            let (class_name, guard) = (item.class_name.clone(), Arc::clone(guard));
            let environment = FnEnvironment::new(dimension, coordinates, move |x, random| {
                let reward = guard.call(|py| {
                    drawn(py, &instance, &class_name, x, random)
                        .map_err(|(problem, exception)| guard.of_environment(format!("{problem}, at the point {x:?}"), exception))
                });
                // The engine ends the run at a reward that is not finite.
                reward.unwrap_or(f64::NAN)
            });
            bounded(environment.with_samples(samples), range).read(args)
        }
        Err(failure) => {
            let message = Python::attach(|_| match failure {
                Failure::Raised(place, error) => guard.raised(None, &format!("{}{place}", item.class_name), error).to_string(),
                Failure::Wrong(problem) => format!("`{}` {problem}", item.class_name),
            });
            args.reject("kind", message, "a class with `points`, and with `mean` or `reward`");
            // Unread, because only a class that works says whether it takes noise; it is no mistake.
            args.documents("noise", "observation noise");
            empty(args)
        }
    }
}

fn bounded(environment: FnEnvironment, range: Option<(f64, f64)>) -> FnEnvironment {
    match range {
        Some((lo, hi)) => environment.with_range(lo, hi),
        None => environment,
    }
}

/// Calls `reward`; otherwise returns what is wrong, with the exception if one was raised.
fn drawn(
    py: Python<'_>,
    instance: &Py<PyAny>,
    class_name: &str,
    x: &[f64],
    random: &mut Stream,
) -> Result<f64, (String, Option<PyErr>)> {
    let raised = |error: PyErr| (raised_message(&format!("{class_name}.reward"), &error), Some(error));
    let arguments = (PyArray1::from_slice(py, x), generator(py, random).map_err(raised)?);
    let drawn = instance.bind(py).call_method1("reward", arguments).map_err(raised)?;
    drawn.extract::<f64>().map_err(|error| {
        // A value of another type; any other exception is raised by the user's own `__float__`.
        if error.is_instance_of::<PyTypeError>(py) {
            (format!("`{class_name}.reward` returned {}, expected a finite number", described(&drawn)), None)
        } else {
            raised(error)
        }
    })
}

/// Returns an environment without points, after a mistake was reported.
fn empty(args: &Args<'_>) -> FnEnvironment {
    FnEnvironment::new(1, Vec::new(), |_, _| 0.0).read(args)
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Why a class is no environment.
enum Failure {
    /// Its code has raised an exception; the place is as in `.mean`, empty where the instance is made.
    Raised(&'static str, PyErr),
    /// What it states is wrong.
    Wrong(String),
}

/// What an instance states.
struct PythonEnvironment {
    instance: Py<PyAny>,
    dimension: usize,
    coordinates: Vec<f64>,
    means: Option<Vec<f64>>,
    range: Option<(f64, f64)>,
    samples: u32,
}

/// Draws at a point from which its mean is estimated, if the class states no other number.
const SAMPLES: u32 = 400;

/// Returns what an instance states under this name, if it states anything.
fn attribute<'py>(instance: &Bound<'py, PyAny>, name: &str, place: &'static str) -> Result<Option<Bound<'py, PyAny>>, Failure> {
    let raised = |error| Failure::Raised(place, error);
    if instance.hasattr(name).map_err(raised)? { instance.getattr(name).map(Some).map_err(raised) } else { Ok(None) }
}

impl PythonEnvironment {
    fn new(py: Python<'_>, item: &OwnItem, keys: &KeyValues) -> Result<Self, Failure> {
        let wrong = Failure::Wrong;
        let instance = item.instance(py, keys).map_err(|error| Failure::Raised("", error))?;
        let Some(stated) = attribute(&instance, "points", ".points")? else {
            return Err(wrong("has no `points`, an array float64[n_points, dimension]".to_owned()));
        };
        let Ok(points) = stated.extract::<PyReadonlyArray2<'_, f64>>() else {
            return Err(wrong(format!("has as `points` {}, expected an array float64[n_points, dimension]", described(&stated))));
        };
        let array = points.as_array();
        let (n_points, dimension) = array.dim();
        if n_points == 0 || dimension == 0 || array.iter().any(|x| !x.is_finite()) {
            return Err(wrong(format!("has {n_points} points of {dimension} coordinates, or one that is not finite")));
        }
        let coordinates: Vec<f64> = array.iter().copied().collect();
        let means = if written(&instance, "mean") {
            let shaped: PyResult<Bound<'_, PyArray2<f64>>> =
                PyArray1::from_slice(py, &coordinates).reshape([n_points, dimension]);
            let stated = shaped
                .and_then(|shaped| instance.call_method1("mean", (shaped,)))
                .map_err(|error| Failure::Raised(".mean", error))?;
            let means: Option<Vec<f64>> =
                stated.extract::<PyReadonlyArray1<'_, f64>>().ok().map(|means| means.as_array().to_vec());
            let expected =
                |found: String| wrong(format!("returned from `mean` {found}, expected finite numbers float64[{n_points}]"));
            let means = means.filter(|means| means.len() == n_points).ok_or_else(|| expected(described(&stated)))?;
            if let Some((point, mean)) = means.iter().enumerate().find(|(_, mean)| !mean.is_finite()) {
                return Err(expected(format!("{mean} at point {point}")));
            }
            Some(means)
        } else if attribute(&instance, "reward", ".reward")?.is_some() {
            None
        } else {
            return Err(wrong("has neither `mean(points)` nor `reward(point, rng)`".to_owned()));
        };
        let range = attribute(&instance, "range", ".range")?.map(|range| range.extract::<(f64, f64)>()).transpose();
        let range = range.map_err(|_| wrong("has a `range` that is not a pair of numbers (lo, hi)".to_owned()))?;
        let samples = match attribute(&instance, "samples", ".samples")? {
            Some(samples) => match samples.extract::<u32>() {
                Ok(samples @ 2..) => samples,
                _ => {
                    let found = samples.extract::<i64>().map_or_else(|_| described(&samples), |count| count.to_string());
                    return Err(wrong(format!("has as `samples` {found}, expected a whole number from 2 to {}", u32::MAX)));
                }
            },
            None => SAMPLES,
        };
        Ok(Self { instance: instance.unbind(), dimension, coordinates, means, range, samples })
    }
}
