//! Maximises the marginal likelihood of a Gaussian process over its hyperparameters.
//!
//! They are length-scales, prior variance and noise variance.

use super::simplex::minimise;
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::env::csv_table::Spread;
use privateer_gp::Points;
use privateer_gp::kernel::{Kernel, Lengthscales, matern::Matern, squared_exponential::SquaredExponential};
use privateer_numerics::linalg;
use std::f64::consts::PI;

/// Names the form of the fitted kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LikelihoodForm {
    SquaredExponential,
    /// The Matern kernel of this smoothness, > 0.
    Matern(f64),
}

/// Holds the hyperparameters at the maximum that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedHyperparameters {
    /// One length-scale, or one per coordinate; in units of the inputs.
    pub lengthscales: Vec<f64>,
    /// Prior variance.
    pub variance: f64,
    pub noise_variance: f64,
    /// Logarithm of the marginal likelihood of the centred values.
    pub log_likelihood: f64,
    /// Number of likelihoods computed.
    pub evaluations: usize,
}

/// Length-scales from which the search starts, as fractions of the inputs' standard deviation.
const STARTS: [f64; 3] = [0.1, 0.4, 1.5];

/// Number of likelihoods computed from one start, per variable.
const EVALUATIONS: usize = 80;

/// Largest prior variance, as a multiple of the values' variance.
///
/// The likelihood of a linear function without noise rises for ever with variance and length-scale.
const MOST_VARIANCE: f64 = 100.0;

/// Returns the largest number of likelihoods that a fit over inputs of `dimension` coordinates computes.
pub fn most_evaluations(per_coordinate: bool, dimension: usize) -> u64 {
    (STARTS.len() * EVALUATIONS * (2 + if per_coordinate { dimension } else { 1 })) as u64
}

/// Fits a kernel to centred values at points, deterministically.
///
/// There is one length-scale, or one per coordinate. `computed` is called after each likelihood.
///
/// # Errors
/// If there are fewer than three points, if values or inputs are constant, or if no likelihood is finite.
pub fn fit(
    form: LikelihoodForm,
    points: &Points,
    values: &[f64],
    per_coordinate: bool,
    computed: impl Fn(),
) -> Result<FittedHyperparameters, Error> {
    let refuse = |problem: &str, hint: &str| Diagnostic::new(problem).hint(hint).refuse();
    let (n, d) = (points.n_points(), points.dimension());
    if n < 3 || values.len() != n {
        return refuse("a fit needs three rows at least", "give a longer table");
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let y: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let variance = y.iter().map(|y| y * y).sum::<f64>() / n as f64;
    if !variance.is_finite() {
        return refuse(
            "the variance of the values overflows f64",
            "look for a mistyped cell, or state the values in other units",
        );
    }
    if variance <= 0.0 {
        return refuse("the values are constant, and any length-scale fits them", "choose another value column");
    }
    let column = |j: usize| (0..n).map(move |i| points.point(i)[j]);
    let sizes: Vec<f64> = (0..d).map(|j| Spread::of(column(j)).map_or(f64::NAN, |spread| spread.deviation)).collect();
    if let Some(at) = sizes.iter().position(|&size| !(size.is_finite() && 0.0 < size)) {
        let fault = if sizes[at] == 0.0 { "is constant, and has no length-scale" } else { "has a variance that overflows f64" };
        return refuse(&format!("input column {} of {d} {fault}", at + 1), "leave it out of the inputs");
    }
    let n_scales = if per_coordinate { d } else { 1 };
    let size = |j: usize| if per_coordinate { sizes[j] } else { libm::sqrt(sizes.iter().map(|s| s * s).sum::<f64>()) };
    // The variables are logarithms of length-scales, variance and noise variance, each relative to the data's own scale.
    let read = |x: &[f64]| {
        let lengthscales: Vec<f64> = (0..n_scales).map(|j| size(j) * libm::exp(x[j])).collect();
        (lengthscales, variance * libm::exp(x[n_scales]), variance * libm::exp(x[n_scales + 1]))
    };
    let cost = |x: &[f64]| {
        // Beyond e^±14 the likelihood no longer distinguishes values.
        if x.iter().any(|x| !(-14.0..=14.0).contains(x)) || libm::log(MOST_VARIANCE) < x[n_scales] {
            return f64::INFINITY;
        }
        let (lengthscales, variance, noise) = read(x);
        let likelihood = log_likelihood(kernel(form, &lengthscales, variance).as_ref(), points, &y, noise);
        computed();
        -likelihood.unwrap_or(f64::NEG_INFINITY)
    };
    let minima = STARTS.map(|start| {
        let mut x = vec![libm::log(start); n_scales];
        x.extend([0.0, libm::log(0.1)]);
        minimise(cost, &x, 0.7, 1e-7, EVALUATIONS * x.len())
    });
    let evaluations = minima.iter().map(|minimum| minimum.evaluations).sum();
    let found = minima.into_iter().min_by(|a, b| a.value.total_cmp(&b.value));
    match found.filter(|minimum| minimum.value.is_finite()) {
        Some(minimum) => {
            let (lengthscales, variance, noise_variance) = read(&minimum.at);
            Ok(FittedHyperparameters { lengthscales, variance, noise_variance, log_likelihood: -minimum.value, evaluations })
        }
        None => refuse("no likelihood of these values is finite", "check the table for values of very different sizes"),
    }
}

fn kernel(form: LikelihoodForm, lengthscales: &[f64], variance: f64) -> Box<dyn Kernel> {
    let lengthscales = match lengthscales {
        [one] => Lengthscales::Isotropic(*one),
        many => Lengthscales::PerDimension(many.to_vec()),
    };
    match form {
        LikelihoodForm::SquaredExponential => Box::new(SquaredExponential::new(lengthscales, variance)),
        LikelihoodForm::Matern(nu) => Box::new(Matern::new(nu, lengthscales, variance)),
    }
}

/// Returns `ln p(y) = -½ y^T (K + noise I)^{-1} y - ½ ln det(K + noise I) - n/2 ln 2π`.
///
/// Source: [Rasmussen2006, 2.30]. `None` if the matrix is not positive definite to rounding.
fn log_likelihood(kernel: &dyn Kernel, points: &Points, y: &[f64], noise: f64) -> Option<f64> {
    let n = y.len();
    let mut a = vec![0.0; n * n];
    for i in 0..n {
        for j in i..n {
            a[i * n + j] = kernel.value(points.point(i), points.point(j));
        }
        a[i * n + i] += noise;
    }
    linalg::cholesky_upper(&mut a, n).ok()?;
    let mut half = y.to_vec();
    linalg::solve_upper_transposed(&a, &mut half);
    Some(-0.5 * (linalg::dot(&half, &half) + linalg::log_determinant(&a, n) + n as f64 * libm::log(2.0 * PI)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_numerics::rng::{Purpose, Streams};

    /// Fits a known process's draw; with 180 points, the maximum is within a third of the truth.
    #[test]
    fn a_known_process_is_recognised() {
        let mut stream = Streams::new(5, "fit").of(0, Purpose::Function);
        let (n, truth) = (180, SquaredExponential::new(Lengthscales::Isotropic(0.3), 2.0));
        let points = Points::random_in(&[(0.0, 2.0); 2], n, &mut stream);
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                a[i * n + j] = truth.value(points.point(i), points.point(j));
            }
            a[i * n + i] += 1e-9;
        }
        linalg::cholesky(&mut a, n).expect("positive");
        let z: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let y: Vec<f64> = (0..n).map(|i| 7.0 + linalg::dot(&a[i * n..=i * n + i], &z[..=i]) + 0.1 * stream.normal()).collect();
        let one = fit(LikelihoodForm::SquaredExponential, &points, &y, false, || ()).expect("a fit");
        assert!((0.24..0.37).contains(&one.lengthscales[0]), "{one:?}");
        assert!((0.006..0.016).contains(&one.noise_variance) && (0.8..5.0).contains(&one.variance), "{one:?}");
        let each = fit(LikelihoodForm::SquaredExponential, &points, &y, true, || ()).expect("a fit");
        assert!(one.log_likelihood <= each.log_likelihood + 1e-3, "more freedom fits no worse: {each:?}");
        let rough = fit(LikelihoodForm::Matern(0.5), &points, &y, false, || ()).expect("a fit");
        assert!(rough.log_likelihood < one.log_likelihood, "a smooth draw is not rough");
    }

    /// The likelihood of values that are linear in their inputs rises for ever with variance and length-scale.
    #[test]
    fn linear_values_have_a_prior_of_their_own_size() {
        let points = Points::random_in(&[(0.0, 1.0); 3], 60, &mut Streams::new(6, "fit").of(0, Purpose::Function));
        let y: Vec<f64> = (0..60).map(|i| 50.0 + 3.0 * points.point(i)[0] - 2.0 * points.point(i)[2]).collect();
        let mean = y.iter().sum::<f64>() / 60.0;
        let variance = y.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / 60.0;
        let found = fit(LikelihoodForm::SquaredExponential, &points, &y, false, || ()).expect("a fit");
        assert!(found.variance <= 100.0 * variance && found.noise_variance < 1e-4 * variance, "{found:?}");
    }

    #[test]
    fn what_cannot_be_fitted_is_refused() {
        let line = Points::new(1, vec![0.0, 1.0, 2.0, 3.0]);
        assert!(fit(LikelihoodForm::SquaredExponential, &line, &[1.0; 4], false, || ()).is_err());
        assert!(
            fit(LikelihoodForm::SquaredExponential, &Points::new(1, vec![1.0; 4]), &[1.0, 2.0, 3.0, 4.0], false, || ()).is_err()
        );
        assert!(fit(LikelihoodForm::SquaredExponential, &Points::new(1, vec![1.0, 2.0]), &[1.0, 2.0], false, || ()).is_err());
    }
}
