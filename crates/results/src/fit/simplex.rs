//! Minimises a function of a few variables without derivatives, by the Nelder-Mead method.
//!
//! Source: [Nelder & Mead 1965, Computer Journal 7], with the standard coefficients.

use std::cell::Cell;

/// Holds the end of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The minimizer found.
    pub at: Vec<f64>,
    pub value: f64,
    /// Number of values computed.
    pub evaluations: usize,
}

/// Searches for a minimum from `start` with first steps of `step`.
///
/// The search ends when the values of the simplex agree to `tolerance` (relative to 1 + |value|) and its corners to the square
/// root of that, or when `most` values are computed. Values that are not finite count as infinitely large.
pub fn minimise(f: impl Fn(&[f64]) -> f64, start: &[f64], step: f64, tolerance: f64, most: usize) -> Minimum {
    let n = start.len();
    let evaluations = Cell::new(0);
    let value = |x: &[f64]| {
        evaluations.set(evaluations.get() + 1);
        let found = f(x);
        if found.is_nan() { f64::INFINITY } else { found }
    };
    let mut simplex: Vec<(Vec<f64>, f64)> = (0..=n)
        .map(|corner| {
            let mut x = start.to_vec();
            if 0 < corner {
                x[corner - 1] += step;
            }
            let found = value(&x);
            (x, found)
        })
        .collect();
    while evaluations.get() < most {
        simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (best, worst) = (simplex[0].1, simplex[n].1);
        // Equal values alone do not end the search, because corners on both sides of a minimum can have them.
        let small = |x: f64, b: f64| (x - b).abs() <= libm::sqrt(tolerance) * (1.0 + b.abs());
        let narrow = simplex[1..].iter().all(|(x, _)| x.iter().zip(&simplex[0].0).all(|(&x, &b)| small(x, b)));
        if narrow && (worst - best).abs() <= tolerance * (1.0 + best.abs()) {
            break;
        }
        let centre: Vec<f64> = (0..n).map(|j| simplex[..n].iter().map(|(x, _)| x[j]).sum::<f64>() / n as f64).collect();
        let along = |t: f64| -> Vec<f64> { (0..n).map(|j| centre[j] + t * (simplex[n].0[j] - centre[j])).collect() };
        let reflected = along(-1.0);
        let at_reflected = value(&reflected);
        let next = if at_reflected < best {
            let expanded = along(-2.0);
            let at_expanded = value(&expanded);
            Some(if at_expanded < at_reflected { (expanded, at_expanded) } else { (reflected, at_reflected) })
        } else if at_reflected < simplex[n - 1].1 {
            Some((reflected, at_reflected))
        } else {
            let contracted = along(if at_reflected < worst { -0.5 } else { 0.5 });
            let at_contracted = value(&contracted);
            (at_contracted < worst.min(at_reflected)).then_some((contracted, at_contracted))
        };
        match next {
            Some(corner) => simplex[n] = corner,
            None => {
                // Shrinks the simplex towards its best corner.
                let towards = simplex[0].0.clone();
                for (x, found) in &mut simplex[1..] {
                    x.iter_mut().zip(&towards).for_each(|(x, b)| *x = 0.5 * (*x + b));
                    *found = value(x);
                }
            }
        }
    }
    simplex.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (at, found) = simplex.swap_remove(0);
    Minimum { at, value: found, evaluations: evaluations.get() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_minima_are_found() {
        let bowl = minimise(|x| (x[0] - 3.0).powi(2) + 10.0 * (x[1] + 1.0).powi(2), &[0.0, 0.0], 0.5, 1e-14, 2000);
        assert!((bowl.at[0] - 3.0).abs() < 1e-5 && (bowl.at[1] + 1.0).abs() < 1e-5, "{bowl:?}");
        let valley = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2);
        let found = minimise(valley, &[-1.2, 1.0], 0.5, 1e-16, 5000);
        assert!((found.at[0] - 1.0).abs() < 1e-4 && (found.at[1] - 1.0).abs() < 1e-4, "{found:?}");
        let one = minimise(|x| (x[0] - 0.25).abs(), &[9.0], 1.0, 1e-12, 500);
        assert!((one.at[0] - 0.25).abs() < 1e-8);
        // A value that is not finite is never the minimum.
        let walled = minimise(|x| if x[0] < 1.0 { f64::NAN } else { x[0] }, &[4.0], 1.0, 1e-12, 500);
        assert!((walled.at[0] - 1.0).abs() < 1e-6, "{walled:?}");
        assert!(minimise(valley, &[-1.2, 1.0], 0.5, 0.0, 40).evaluations <= 44, "the budget holds");
    }
}
