//! Weighted sums of squared exponentials in the plane, by their Taylor expansions in boxes.
//!
//! Source: the fast Gauss transform [Greengard & Strain 1991, SIAM J. Sci. Stat. Comput. 12(1)] with expansions around
//! the boxes of the points.
//!
//! Coordinates `y` are in length-scales. Around the middle b of its box, the value of `exp(-|y - u|²/2)` at y is
//! `Σ_jk (y_1 - b_1)^j (y_2 - b_2)^k c_j(b_1 - u_1) c_k(b_2 - u_2)`, where `c_j(z)` is the j-th Taylor coefficient of
//! `exp(-z²/2)`: `c_0 = exp(-z²/2)`, `c_(j+1) = -(z c_j + c_(j-1)) / (j + 1)` (Hermite's recurrence).
//!
//! **Error.** Along the segment from b to y the function is `exp(-s²/2)` times a constant of at most 1, and its n-th
//! derivative is at most `1.09 sqrt(n!)` (Cramer's bound). Terms of total degree `DEGREES` and above, n of them a
//! degree, therefore amount to at most `1.09 δ^n / sqrt(n!)` with n = `DEGREES` and `δ = |y - b| <= WIDTH / sqrt(2)`: with 22
//! and 0.75 below 3e-17 of each weight, less than the rounding of a sum of the kernel's values.

use super::Lengthscales;
use crate::Points;
use privateer_numerics::vectorised;

/// Degrees of the terms: 0 to 21.
const DEGREES: usize = 22;
/// A row of coefficients, padded with zeros to whole SIMD vectors.
type Row = [f64; DEGREES.next_multiple_of(8)];
const NONE: Row = [0.0; DEGREES.next_multiple_of(8)];
/// Side of a box, in length-scales.
const WIDTH: f64 = 0.75;
const TERMS: usize = DEGREES * (DEGREES + 1) / 2;
/// Multiply-adds that a kernel's value costs column by column, about.
const COST_OF_A_VALUE: usize = 20;
/// Rows of coefficients that are held at once (48 MB).
///
/// More centres are expanded one part after the other.
const MOST_FACTORS: usize = 1 << 18;
/// Points that are evaluated together.
const TOGETHER: usize = 32;

/// The points of a plane in boxes, for sums of squared exponentials at every point.
///
/// It takes 36 bytes a point and at most 6 for the boxes. Memory limits are of each table: a domain in the plane was
/// allowed 48 bytes a point before its boxes are made, so they need no check of their own.
#[derive(Debug)]
pub struct PlaneSums {
    variance: f64,
    /// Coordinates in length-scales, by point.
    points: Vec<[f64; 2]>,
    axes: [Axis; 2],
    /// The points that have a box in common, ascending; with their offsets from its middle.
    members: Vec<Vec<u32>>,
    offsets: Vec<[Vec<f64>; 2]>,
}

impl PlaneSums {
    /// Puts points into boxes.
    ///
    /// `None` outside the plane, and where there would be too many boxes for their points.
    pub fn over(lengthscales: &Lengthscales, variance: f64, points: &Points) -> Option<Self> {
        if points.dimension() != 2 {
            return None;
        }
        let points = from_the_corner(lengthscales, points.coordinates().as_chunks::<2>().0);
        let axis = |axis: usize| Axis::of(points.iter().map(move |point| point[axis]));
        let axes = [axis(0)?, axis(1)?];
        // With more boxes, expansions cost more than values for any number of centres.
        let count = axes[0].count.checked_mul(axes[1].count)?;
        if COST_OF_A_VALUE * points.len() <= count.checked_mul(TERMS)? {
            return None;
        }
        let (mut members, mut offsets) = (vec![Vec::new(); count], vec![[Vec::new(), Vec::new()]; count]);
        for (index, point) in (0..).zip(&points) {
            let places = [0, 1].map(|axis| axes[axis].place(point[axis]));
            let number = places[0] * axes[1].count + places[1];
            members[number].push(index);
            (0..2).for_each(|axis| offsets[number][axis].push(point[axis] - axes[axis].middle(places[axis])));
        }
        members.iter_mut().for_each(Vec::shrink_to_fit);
        offsets.iter_mut().flatten().for_each(Vec::shrink_to_fit);
        Some(Self { variance, points, axes, members, offsets })
    }

    /// Adds `variance Σ_i weight_i exp(-r²/2)` over centres to `out` at every point.
    ///
    /// A centre is a point's index, then its weight. Returns false, and adds nothing, where expansions would cost as much as
    /// the kernel's values.
    pub fn add(&self, centres: &[(usize, f64)], out: &mut [f64]) -> bool {
        let [across, along] = [&self.axes[0], &self.axes[1]].map(|axis| axis.count);
        let n = self.points.len() as f64;
        let together = (MOST_FACTORS / (across + along)).clamp(1, centres.len().max(1));
        let expanded = centres.len() as f64 * across as f64 * along as f64;
        let evaluated = centres.len().div_ceil(together) as f64 * n;
        if (expanded + evaluated) * TERMS as f64 >= (centres.len() * COST_OF_A_VALUE) as f64 * n {
            return false;
        }
        centres.chunks(together).for_each(|centres| self.add_part(centres, out));
        true
    }

    fn add_part(&self, centres: &[(usize, f64)], out: &mut [f64]) {
        // Taylor coefficients of every centre around the middles of each axis: the factors of its expansions.
        let factors: [Vec<Vec<Row>>; 2] = [0, 1].map(|axis| {
            let around =
                |middle: f64| centres.iter().map(|&(centre, _)| coefficients(middle - self.points[centre][axis])).collect();
            (0..self.axes[axis].count).map(|place| around(self.axes[axis].middle(place))).collect()
        });
        let mut terms = [NONE; DEGREES];
        for (number, (members, [first, second])) in self.members.iter().zip(&self.offsets).enumerate() {
            if members.is_empty() {
                continue;
            }
            let factors = [&factors[0][number / self.axes[1].count][..], &factors[1][number % self.axes[1].count][..]];
            expand(centres, factors, self.variance, &mut terms);
            let parts = first.chunks(TOGETHER).zip(second.chunks(TOGETHER));
            for (members, (first, second)) in members.chunks(TOGETHER).zip(parts) {
                let mut offsets = [[0.0; TOGETHER]; 2];
                offsets[0][..members.len()].copy_from_slice(first);
                offsets[1][..members.len()].copy_from_slice(second);
                let mut values = [0.0; TOGETHER];
                evaluate(&terms, &offsets, &mut values);
                members.iter().zip(values).for_each(|(&point, value)| out[point as usize] += value);
            }
        }
    }
}

/// Returns coordinates in length-scales, counted from the lowest coordinate of each axis.
///
/// Far from the origin, quotients of the coordinates themselves would lose digits.
fn from_the_corner(lengthscales: &Lengthscales, points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let low = [0, 1].map(|axis| points.iter().map(|point| point[axis]).fold(f64::INFINITY, f64::min));
    points.iter().map(|point| [0, 1].map(|axis| (point[axis] - low[axis]) / lengthscales.of(axis))).collect()
}

/// Returns the Taylor coefficients of `exp(-z²/2)` at `z`.
fn coefficients(z: f64) -> Row {
    let mut found = NONE;
    found[0] = libm::exp(-0.5 * z * z);
    let mut before = 0.0;
    for j in 1..DEGREES {
        found[j] = -(z * found[j - 1] + before) / j as f64;
        before = found[j - 1];
    }
    found
}

/// One axis of the boxes, which are equal and cover the points.
#[derive(Debug)]
struct Axis {
    low: f64,
    width: f64,
    count: usize,
}

impl Axis {
    /// Divides the range of some coordinates.
    ///
    /// `None` if it is not finite or has more boxes than there are coordinates.
    fn of(coordinates: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let n = coordinates.clone().count();
        let (low, high) = coordinates.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let count = ((high - low) / WIDTH).ceil().max(1.0);
        (count.is_finite() && count <= n as f64).then(|| Self { low, width: (high - low) / count, count: count as usize })
    }

    fn place(&self, x: f64) -> usize {
        let place = if self.width > 0.0 { ((x - self.low) / self.width).floor() } else { 0.0 };
        (place.max(0.0) as usize).min(self.count - 1)
    }

    fn middle(&self, place: usize) -> f64 {
        self.low + self.width * (place as f64 + 0.5)
    }
}

vectorised! {
    /// Expands the kernel about the middle of a box.
    ///
    /// * `factors` — of every centre, for the box's place on each axis.
    fn expand(centres: &[(usize, f64)], factors: [&[Row]; 2], variance: f64, terms: &mut [Row; DEGREES]) {
        let [first, second] = factors;
        *terms = [NONE; DEGREES];
        for ((&(_, weight), first), second) in centres.iter().zip(first).zip(second) {
            for (j, (terms, factor)) in terms.iter_mut().zip(first).enumerate() {
                let factor = variance * weight * factor;
                // Whole vectors: terms of higher degrees are not read.
                let read = (DEGREES - j).next_multiple_of(8);
                for (term, other) in terms[..read].iter_mut().zip(second) {
                    *term += factor * other;
                }
            }
        }
    }
}

vectorised! {
    fn evaluate(terms: &[Row; DEGREES], offsets: &[[f64; TOGETHER]; 2], values: &mut [f64; TOGETHER]) {
        let [first, second] = offsets;
        // Horner's rule in the second coordinate within Horner's rule in the first.
        let mut sums = [0.0; TOGETHER];
        for (j, terms) in terms.iter().enumerate().rev() {
            let mut inner = [0.0; TOGETHER];
            for &term in terms[..DEGREES - j].iter().rev() {
                for lane in 0..TOGETHER {
                    inner[lane] = inner[lane] * second[lane] + term;
                }
            }
            for lane in 0..TOGETHER {
                sums[lane] = sums[lane] * first[lane] + inner[lane];
            }
        }
        *values = sums;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kernel, squared_exponential::SquaredExponential};
    use super::*;
    use privateer_numerics::rng::{Purpose, Streams};

    fn add(lengthscales: &Lengthscales, variance: f64, points: &Points, centres: &[(usize, f64)], out: &mut [f64]) -> bool {
        PlaneSums::over(lengthscales, variance, points).is_some_and(|sums| sums.add(centres, out))
    }

    fn drawn(n: usize) -> (Points, Vec<(usize, f64)>) {
        let mut stream = Streams::new(41, "plane sums").of(0, Purpose::Function);
        let points = Points::new(2, (0..2 * n).map(|_| stream.uniform_in(-0.5, 1.5)).collect::<Vec<f64>>());
        let centres = (0..100).map(|_| (stream.index(n), stream.uniform_in(-1.0, 1.0))).collect();
        (points, centres)
    }

    #[test]
    fn sums_are_those_of_the_kernel() {
        let (points, centres) = drawn(4000);
        for lengthscales in [
            Lengthscales::Isotropic(0.5),
            Lengthscales::Isotropic(1.3),
            Lengthscales::Isotropic(40.0),
            Lengthscales::PerDimension(vec![0.3, 2.0]),
        ] {
            let kernel = SquaredExponential::new(lengthscales.clone(), 1.7);
            let mut found = vec![0.25; 4000];
            assert!(add(&lengthscales, 1.7, &points, &centres, &mut found), "{lengthscales:?}");
            let total: f64 = centres.iter().map(|(_, weight)| 1.7 * weight.abs()).sum();
            for (i, found) in found.iter().enumerate() {
                let value = |&(centre, weight): &(usize, f64)| weight * kernel.value(points.point(centre), points.point(i));
                let expected = 0.25 + centres.iter().map(value).sum::<f64>();
                assert!((found - expected).abs() < 1e-15 * total, "{lengthscales:?}: {i}: {found} {expected}");
            }
        }
    }

    #[test]
    fn far_from_the_origin_and_with_many_centres_too() {
        let (near, _) = drawn(4000);
        let far: Vec<f64> = near.coordinates().iter().map(|x| 1e6 + x).collect();
        let points = Points::new(2, far);
        let lengthscales = Lengthscales::Isotropic(0.3);
        let kernel = SquaredExponential::new(lengthscales.clone(), 1.0);
        // More than are expanded at once, so that parts are added.
        let n_centres = MOST_FACTORS / 14 + 7;
        let centres: Vec<(usize, f64)> = (0..n_centres).map(|i| (i * 7 % 4000, if i % 2 == 0 { 1.0 } else { -0.5 })).collect();
        let mut found = vec![0.0; 4000];
        assert!(add(&lengthscales, 1.0, &points, &centres, &mut found));
        for i in [0, 17, 3999] {
            let value = |&(centre, weight): &(usize, f64)| weight * kernel.value(points.point(centre), points.point(i));
            let expected: f64 = centres.iter().map(value).sum();
            assert!((found[i] - expected).abs() < 1e-15 * n_centres as f64, "{i}: {} {expected}", found[i]);
        }
    }

    #[test]
    fn the_terms_left_out_are_below_rounding() {
        let factorial: f64 = (1..=DEGREES).map(|k| k as f64).product();
        let bound = 1.09 * libm::pow(WIDTH / 2.0f64.sqrt(), DEGREES as f64) / factorial.sqrt();
        assert!(bound < 3e-17, "{bound:e}");
        // Two degrees fewer, and the bound says something.
        let fewer: f64 = (1..=DEGREES - 4).map(|k| k as f64).product();
        assert!(1e-16 < 1.09 * libm::pow(WIDTH / 2.0f64.sqrt(), DEGREES as f64 - 4.0) / fewer.sqrt());
    }

    #[test]
    fn other_dimensions_and_many_small_boxes_are_left_to_the_kernel() {
        let (points, centres) = drawn(3000);
        let mut out = vec![0.0; 3000];
        assert!(!add(&Lengthscales::Isotropic(0.01), 1.0, &points, &centres, &mut out));
        assert!(!add(&Lengthscales::Isotropic(1.0), 1.0, &points, &centres[..1], &mut out));
        let line = Points::grid(1, 3000, 0.0, 1.0);
        assert!(!add(&Lengthscales::Isotropic(1.0), 1.0, &line, &centres, &mut out));
        assert!(out.iter().all(|value| *value == 0.0));
    }

    #[test]
    fn points_on_one_line_have_boxes() {
        let points = Points::new(2, (0..200).flat_map(|i| [f64::from(i) / 200.0, 3.0]).collect::<Vec<f64>>());
        let centres: Vec<(usize, f64)> = (0..50).map(|i| (4 * i, 1.0)).collect();
        let mut out = vec![0.0; 200];
        assert!(add(&Lengthscales::Isotropic(1.0), 1.0, &points, &centres, &mut out));
        let kernel = SquaredExponential::new(Lengthscales::Isotropic(1.0), 1.0);
        for (i, found) in out.iter().enumerate() {
            let expected: f64 = centres.iter().map(|&(centre, _)| kernel.value(points.point(centre), points.point(i))).sum();
            assert!((found - expected).abs() < 1e-13, "{i}");
        }
    }
}
