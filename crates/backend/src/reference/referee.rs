//! Follows every slot by direct evaluation in f64, as a referee in tests of devices.
//!
//! It bounds the rounding of a device that computes in its type in any order of sums, and reports whether planes and
//! answers are within the bounds.

use super::buffers::{MEAN, P, VARIANCE};
use super::cases::{OwnedWork, TestBasis};
use crate::device::{Answer, CAPACITY, Precision, Start};
use privateer_gp::score::VarianceForm;

/// A number with a bound on a device's error.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// The number.
    pub value: f64,
    /// The bound, at least 0.
    pub error: f64,
}

/// The referee of all slots.
pub struct Referee<'a> {
    basis: &'a TestBasis,
    u: f64,
    sqrt_error: f64,
    kernel_error: Vec<f64>,
    /// Planes of each slot, point by point.
    pub slots: Vec<[Vec<Known>; 4]>,
}

impl<'a> Referee<'a> {
    /// Creates a referee.
    /// * `kernel_error` — of each slot
    pub fn new(basis: &'a TestBasis, precision: Precision, kernel_error: Vec<f64>) -> Self {
        let zero = vec![Known::default(); basis.n_points()];
        let slots = vec![[(); 4].map(|()| zero.clone()); kernel_error.len()];
        // The referee itself rounds in f64.
        let u = precision.unit() + if precision == Precision::F64 { precision.unit() } else { 0.0 };
        Self { basis, u, sqrt_error: precision.sqrt_error(), kernel_error, slots }
    }

    /// Returns `sum_i c_i h_i(x)` over the first `n` coefficients, with its error.
    fn sum(&self, work: &OwnedWork, coefficients: &[f64], x: usize) -> Known {
        let (mut value, mut magnitude, mut total) = (0.0, 0.0, 0.0);
        for (i, c) in coefficients.iter().enumerate() {
            let h = self.basis.h(work.slot, &work.basis, i, x);
            value += c * h;
            magnitude += (c * h).abs();
            total += c.abs();
        }
        let error = 2.0 * (coefficients.len() as f64 + 4.0) * self.u * magnitude + 1.01 * total * self.kernel_error[work.slot];
        Known { value, error }
    }

    /// Applies steps 1 and 2 of a slot's round.
    pub fn play(&mut self, work: &OwnedWork) {
        let u = self.u;
        for x in 0..self.basis.n_points() {
            let (prior, residual) = self.basis.base(work.slot, x);
            let rounded = |value: f64| Known { value, error: 2.0 * u * value.abs() };
            let started = match &work.start {
                Start::Keep => None,
                Start::Prior => Some((Known::default(), Known { value: prior, error: 4.0 * u * prior })),
                Start::Upload { mean, variance } => Some((rounded(mean[x]), rounded(variance[x]))),
                Start::Factor(factor) => {
                    let n = factor.weights.len();
                    let (mut square, mut error) = (0.0, 0.0);
                    for i in 0..n {
                        let s = self.sum(work, &factor.rows[i * n..=i * n + i], x);
                        square += s.value * s.value;
                        error += 2.0 * s.value.abs() * s.error + s.error * s.error;
                    }
                    let (base, sign) = if factor.variance == VarianceForm::Added { (residual, 1.0) } else { (prior, -1.0) };
                    error += 2.0 * (n as f64 + 8.0) * u * (square + base.abs());
                    Some((self.sum(work, &factor.weights, x), Known { value: base + sign * square, error }))
                }
            };
            let row = work.visit.as_ref().and_then(|(row, ..)| row.as_ref());
            let weighted = work.weights.as_ref().map(|weights| self.sum(work, weights, x));
            let p = row.map_or(self.slots[work.slot][P][x], |row| self.sum(work, row, x));
            let sqrt_error = self.sqrt_error;
            let [slot_p, mean, variance, error] = self.slots[work.slot].each_mut().map(|plane| &mut plane[x]);
            *slot_p = p;
            if let Some(started) = started {
                (*mean, *variance) = started;
                *error = Known::default();
            }
            let (before, band) = (*error, work.band);
            let (mut along, mut along_error) = (0.0, 0.0);
            if let Some((_, scale, _)) = work.visit {
                along = (scale * p.value).abs();
                along_error = scale.abs() * p.error + 2.0 * u * along;
            }
            let square = variance.value.max(0.0) + before.value;
            error.value += band.c0 + band.c1 * along + band.c2 * variance.value.max(0.0) + band.c3 * square.sqrt();
            error.error += band.c1 * along_error
                + band.c2 * variance.error
                + band.c3 * (sqrt_shift(square, variance.error + before.error) + sqrt_error * square.sqrt())
                + 40.0 * u * error.value;
            if let Some((_, scale, step)) = work.visit {
                let s2 = scale * scale;
                variance.value -= s2 * p.value * p.value;
                variance.error += s2 * (2.0 * p.value.abs() * p.error + p.error * p.error + 10.0 * u * p.value * p.value);
                variance.error += 2.0 * u * variance.value.abs();
                if let Some(weighted) = weighted {
                    *mean = weighted;
                } else {
                    mean.value += step * p.value;
                    mean.error += step.abs() * (p.error + 4.0 * u * p.value.abs()) + 2.0 * u * mean.value.abs();
                }
            }
        }
    }

    /// Returns both ends of a point's interval.
    fn ends(&self, work: &OwnedWork, x: usize) -> (Known, Known) {
        let [_, mean, variance, error] = self.slots[work.slot].each_ref().map(|plane| plane[x]);
        let e = error.value;
        let moved = variance.error + error.error + 8.0 * self.u * (variance.value.abs() + e);
        let end = |sign: f64| {
            let under = variance.value + sign * e;
            let root = under.max(0.0).sqrt();
            let beta = work.beta * (1.0 + sign * self.sqrt_error);
            let value = mean.value + sign * work.band.c + beta * root;
            let spread_error = beta * (sqrt_shift(under, moved) + self.sqrt_error * (root + moved.sqrt()));
            let error = mean.error + spread_error + 8.0 * self.u * (mean.value.abs() + work.band.c + beta * root);
            Known { value, error }
        };
        (end(-1.0), end(1.0))
    }

    /// Returns the first error in a slot's planes, if any.
    /// * `planes` — p, mean, variance, error, each at least as long as the domain
    pub fn check_planes(&self, slot: usize, planes: &[Vec<f64>; 4]) -> Result<(), String> {
        for ((name, known), plane) in ["p", "mean", "variance", "error"].into_iter().zip(&self.slots[slot]).zip(planes) {
            for (x, known) in known.iter().enumerate() {
                let apart = (plane[x] - known.value).abs();
                if apart.is_nan() || known.error < apart {
                    return Err(format!("slot {slot}, {name} of point {x} is {} and not {known:?}", plane[x]));
                }
            }
        }
        Ok(())
    }

    /// Returns the first difference beyond the bounds between the planes of two devices, if any.
    pub fn check_apart(&self, slot: usize, left: &[Vec<f64>; 4], right: &[Vec<f64>; 4]) -> Result<(), String> {
        for (plane, known) in self.slots[slot].iter().enumerate() {
            for (x, known) in known.iter().enumerate() {
                let (a, b) = (left[plane][x], right[plane][x]);
                if known.error < (a - b).abs() {
                    return Err(format!("slot {slot}, plane {plane} of point {x}: {a} and {b}, {known:?}"));
                }
            }
        }
        Ok(())
    }

    /// Returns the first error in an answer, if any.
    pub fn check_answer(&self, work: &OwnedWork, answer: &Answer) -> Result<(), String> {
        let all: Vec<u32> = (0..self.basis.n_points() as u32).collect();
        let scored = work.subset.as_ref().unwrap_or(&all);
        let fault = |what: String| Err(format!("slot {}: {what} in {answer:?}", work.slot));
        if answer.scored as usize != scored.len() {
            return fault(format!("{} points were to be scored", scored.len()));
        }
        let slot = &self.slots[work.slot];
        let ends: Vec<(Known, Known)> = scored.iter().map(|&x| self.ends(work, x as usize)).collect();
        let most = |known: &mut dyn Iterator<Item = Known>| {
            known.fold((f64::NEG_INFINITY, f64::NEG_INFINITY), |(low, high), one| {
                (low.max(one.value - one.error), high.max(one.value + one.error))
            })
        };
        let lower = most(&mut ends.iter().map(|ends| ends.0));
        for (name, got, (low, high)) in [
            ("best lower", answer.best_lower, lower),
            ("best upper", answer.best_upper, most(&mut ends.iter().map(|ends| ends.1))),
            ("largest variance", answer.largest_variance, most(&mut scored.iter().map(|&x| slot[VARIANCE][x as usize]))),
            (
                "largest mean",
                answer.largest_mean,
                most(&mut scored.iter().map(|&x| {
                    let mean = slot[MEAN][x as usize];
                    Known { value: mean.value.abs(), error: mean.error }
                })),
            ),
        ] {
            if !(low..=high).contains(&got) {
                return fault(format!("{name} is not within {low} and {high}"));
            }
        }
        let sure = |known: Known| lower.1 <= known.value - known.error;
        let possible = |known: Known| lower.0 <= known.value + known.error;
        let n_sure = ends.iter().filter(|ends| sure(ends.1)).count();
        let n_possible = ends.iter().filter(|ends| possible(ends.1)).count();
        if !(n_sure..=n_possible).contains(&(answer.count as usize)) || answer.count == 0 {
            return fault(format!("{n_sure} to {n_possible} points reach the best lower end"));
        }
        let mut named = answer.points.clone();
        named.sort_unstable();
        named.dedup();
        if named.len() != (answer.count as usize).min(CAPACITY) {
            return fault("the list is not as long as it says".to_owned());
        }
        for (&x, ends) in scored.iter().zip(&ends) {
            let is_named = named.binary_search(&x).is_ok();
            if is_named && !possible(ends.1) {
                return fault(format!("point {x} cannot be the best"));
            }
            if !is_named && sure(ends.1) && answer.count as usize <= CAPACITY {
                return fault(format!("point {x} is missing"));
            }
        }
        if named.iter().any(|x| scored.binary_search(x).is_err()) {
            return fault("a point was not to be scored".to_owned());
        }
        Ok(())
    }
}

/// Returns the largest change of `sqrt(max(0, v))` when `v` changes by at most `e`.
fn sqrt_shift(v: f64, e: f64) -> f64 {
    let root = |v: f64| v.max(0.0).sqrt();
    (root(v + e) - root(v)).max(root(v) - root(v - e))
}
