//! Evaluates a covariance formula over coordinates, vectorised over the points of a block.
//!
//! The distance of each value from the model's own is bounded.

use super::kernels::{is_fused, multiply_add};
use super::lattice::{Lattice, ReferenceBounds};
use super::order::BlockOrder;
use super::vectors::{BlockVectors, VectorRows};
use crate::cpu::path::WORK_OF_A_VALUE;
use crate::device::Precision;
use crate::device::tables::{Coordinates, INVERSE_FACTORIALS, kernel_error};
use privateer_gp::score::{KernelFamily, KernelForm};
use privateer_numerics::vectorised;

/// `ln 2` as a sum of two parts, the first of 33 bits.
const LN2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), f64::from_bits(0x3dea_39ef_3579_3c76)];

/// The Taylor series of the exponential, highest power first, without a term that f64 does not need.
const TERMS: &[f64] = INVERSE_FACTORIALS.split_at(1).1;

/// `1.5 * 2^52`: added to a small integer, it leaves that integer in the lowest bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// Above this argument `t`, `exp(-t)` is taken as `exp(-700)`, about 1e-304.
const CUTOFF: f64 = 700.0;

/// The formula, and the coordinates by point and by block.
#[derive(Debug)]
pub struct Formula {
    family: KernelFamily,
    scale: f64,
    offset: f64,
    /// Coordinates, centred in the bounding box where only distances matter.
    vectors: BlockVectors,
    /// Bound on the difference between a value here and the model's, both of which round.
    pub error: f64,
}

impl Formula {
    /// Builds the formula over blocks of this order, with their reference points.
    ///
    /// These are corners, or the point nearest to the middle of a block's bounding box. `box_of_points` holds the smallest
    /// and largest coordinate of each axis.
    pub fn of(form: &KernelForm, order: &BlockOrder, box_of_points: &[(f64, f64)]) -> (Self, ReferenceBounds) {
        let d = form.dimension;
        let (mut largest, mut unmoved) = (0.0f64, 0.0f64);
        let mut middle = Vec::with_capacity(d);
        for &(low, high) in box_of_points {
            let half_way = if form.family == KernelFamily::Linear { 0.0 } else { low / 2.0 + high / 2.0 };
            unmoved = unmoved.max(low.abs()).max(high.abs());
            largest = largest.max((low - half_way).abs()).max((high - half_way).abs());
            middle.push(half_way);
        }
        let mut points = form.points.to_vec();
        points.chunks_exact_mut(d).for_each(|z| z.iter_mut().zip(&middle).for_each(|(z, middle)| *z -= middle));
        // Rounding of coordinates, formula and the model's own value: see `kernel_error`. `exp_negative` rounds as much as
        // `libm::exp`.
        let error = kernel_error(form, &Coordinates::<f64> { values: Vec::new(), largest, unmoved }, Precision::F64);
        let mut formula = Self {
            family: form.family,
            scale: form.scale,
            offset: form.offset,
            vectors: BlockVectors::of(d, VectorRows::Own(points), order),
            error,
        };
        let lattice =
            if d == 2 && form.family != KernelFamily::Linear { Lattice::of(order, formula.vectors.rows()) } else { None };
        if let Some(lattice) = lattice {
            formula.vectors.take_reference_points(&lattice.coordinates);
            let radii = formula.radii(order, &lattice);
            let prior = vec![formula.scale + formula.offset + form.row_term; lattice.reference_points.n];
            return (formula, ReferenceBounds { reference_points: lattice.reference_points, radii, prior });
        }
        let (centres, radii): (Vec<u32>, Vec<f64>) = (0..order.n_blocks()).map(|block| formula.centre(block, order)).unzip();
        let coordinates: Vec<f64> =
            centres.iter().flat_map(|&centre| formula.vectors.row(centre as usize).into_owned()).collect();
        formula.vectors.take_reference_points(&coordinates);
        (formula, ReferenceBounds::centres(radii))
    }

    /// Bounds, for each block, the distance of a point from the combination of its corners.
    fn radii(&self, order: &BlockOrder, lattice: &Lattice) -> Vec<f64> {
        let size = order.size;
        let mut radii = vec![0.0; order.n_blocks()];
        let mut columns = vec![0.0; 4 * size];
        lattice.each(order, self.vectors.rows(), |block, corners| {
            let place = |reference_point: usize| &lattice.coordinates[2 * reference_point..][..2];
            for (&reference_point, column) in corners.reference_points.iter().zip(columns.chunks_exact_mut(size)) {
                values(self, place(reference_point), self.vectors.block(block, size), column);
            }
            let between = corners.reference_points.map(|a| corners.reference_points.map(|b| self.value(place(a), place(b))));
            let own = self.scale + self.offset;
            // |phi(x) - sum w phi(a)|² = k(x, x) - 2 sum w k(x, a) + sum w w k(a, b): twice four values at most, and their
            // sums.
            let square = |(at, weights): (usize, &[f64; 4])| {
                let mut sum = own;
                for (a, wa) in weights.iter().enumerate() {
                    let to_others: f64 = between[a].iter().zip(weights).map(|(k, wb)| k * wb).sum();
                    sum += wa * (to_others - 2.0 * columns[a * size + at]);
                }
                sum
            };
            let most = corners.weights.iter().enumerate().map(square).fold(0.0, f64::max);
            radii[block] = (most + 8.0 * self.error + 64.0 * f64::EPSILON * own).sqrt() * (1.0 + 1e-9);
        });
        radii
    }

    fn centre(&self, block: usize, order: &BlockOrder) -> (u32, f64) {
        let size = order.size;
        let values = self.vectors.block(block, size);
        let middle: Vec<f64> = values
            .chunks_exact(size)
            .map(|along| {
                let (low, high) = along.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &z| (l.min(z), h.max(z)));
                low / 2.0 + high / 2.0
            })
            .collect();
        let squares = |from: &dyn Fn(usize) -> f64, out: &mut [f64]| {
            out.fill(0.0);
            for (axis, along) in values.chunks_exact(size).enumerate() {
                let from = from(axis);
                out.iter_mut().zip(along).for_each(|(sum, z)| *sum += (z - from) * (z - from));
            }
        };
        let mut apart = vec![0.0; size];
        squares(&|axis| middle[axis], &mut apart);
        let at = (0..size).min_by(|&a, &b| apart[a].total_cmp(&apart[b])).unwrap_or(0);
        squares(&|axis| values[axis * size + at], &mut apart);
        let most = apart.iter().copied().fold(0.0, f64::max);
        // |phi(x) - phi(c)|² = k(x, x) + k(c, c) - 2 k(x, c), which falls with k; two values round, each twice.
        let square = match self.family {
            KernelFamily::Linear => self.scale * most * (1.0 + 1e-9),
            _ => 2.0 * self.scale * (1.0 - self.rho(most)) + 4.0 * self.error,
        };
        (order.points[block * size + at], square.max(0.0).sqrt() * (1.0 + 1e-9))
    }

    /// Returns the correlation `rho` at a squared distance.
    fn rho(&self, square: f64) -> f64 {
        match self.family {
            KernelFamily::SquaredExponential => smooth::<false>(square),
            KernelFamily::MaternHalf => half::<false>(square),
            KernelFamily::MaternThreeHalves => three_halves::<false>(square),
            KernelFamily::MaternFiveHalves => five_halves::<false>(square),
            KernelFamily::Linear => square,
        }
    }

    /// Returns the estimated multiply-adds of a value.
    pub fn work(&self) -> usize {
        self.vectors.q + WORK_OF_A_VALUE
    }

    /// Returns the number of reference points, padded to a whole number of SIMD lanes.
    pub fn padded_reference_points(&self) -> usize {
        self.vectors.padded_reference_points()
    }

    /// Returns `k(x, x)` of these points, without the row term.
    pub fn diagonals(&self, points: &[u32]) -> Vec<f64> {
        match self.family {
            KernelFamily::Linear => points.iter().map(|&x| self.entry(x as usize, x as usize)).collect(),
            _ => vec![self.scale * self.rho(0.0) + self.offset; points.len()],
        }
    }

    /// Returns `k(a, b)` without the row term.
    pub fn entry(&self, a: usize, b: usize) -> f64 {
        self.value(&self.vectors.row(a), &self.vectors.row(b))
    }

    fn value(&self, a: &[f64], b: &[f64]) -> f64 {
        let pairs = a.iter().zip(b);
        let sum: f64 = match self.family {
            KernelFamily::Linear => pairs.map(|(a, b)| a * b).sum(),
            _ => pairs.map(|(a, b)| (a - b) * (a - b)).sum(),
        };
        self.scale * self.rho(sum) + self.offset
    }

    /// Writes `k(point, x)` for the points of a block.
    #[inline(always)]
    pub fn column<const FUSED: bool>(&self, point: usize, block: usize, out: &mut [f64]) {
        self.values::<FUSED>(&self.vectors.row(point), self.vectors.block(block, out.len()), out);
    }

    /// Writes `k(point, a)` for the reference points, padded.
    #[inline(always)]
    pub fn at_reference_points<const FUSED: bool>(&self, point: usize, out: &mut [f64]) {
        self.values::<FUSED>(&self.vectors.row(point), &self.vectors.reference_points, out);
    }

    /// Writes `k(from, x)` at these coordinates.
    ///
    /// It loops over slices: for arrays of fixed length the compiler emits many shuffles.
    #[inline(always)]
    fn values<const FUSED: bool>(&self, from: &[f64], coordinates: &[f64], out: &mut [f64]) {
        let linear = self.family == KernelFamily::Linear;
        out.fill(0.0);
        for (&from, along) in from.iter().zip(coordinates.chunks_exact(out.len().max(1))) {
            if linear {
                out.iter_mut().zip(along).for_each(|(sum, z)| *sum = multiply_add::<FUSED>(from, *z, *sum));
            } else {
                out.iter_mut().zip(along).for_each(|(sum, z)| *sum = multiply_add::<FUSED>(from - z, from - z, *sum));
            }
        }
        match self.family {
            KernelFamily::SquaredExponential => self.scaled::<FUSED>(smooth::<FUSED>, out),
            KernelFamily::MaternHalf => self.scaled::<FUSED>(half::<FUSED>, out),
            KernelFamily::MaternThreeHalves => self.scaled::<FUSED>(three_halves::<FUSED>, out),
            KernelFamily::MaternFiveHalves => self.scaled::<FUSED>(five_halves::<FUSED>, out),
            KernelFamily::Linear => self.scaled::<FUSED>(|product| product, out),
        }
    }

    #[inline(always)]
    fn scaled<const FUSED: bool>(&self, rho: impl Fn(f64) -> f64, out: &mut [f64]) {
        let (scale, offset) = (self.scale, self.offset);
        out.iter_mut().for_each(|value| *value = multiply_add::<FUSED>(scale, rho(*value), offset));
    }
}

vectorised! {
    /// [`Formula::values`], vectorised.
    fn values(formula: &Formula, from: &[f64], coordinates: &[f64], out: &mut [f64]) where _simd: S {
        if is_fused::<S>() {
            formula.values::<true>(from, coordinates, out);
        } else {
            formula.values::<false>(from, coordinates, out);
        }
    }
}

#[inline(always)]
fn smooth<const FUSED: bool>(square: f64) -> f64 {
    exp_negative::<FUSED>(0.5 * square)
}

#[inline(always)]
fn half<const FUSED: bool>(square: f64) -> f64 {
    exp_negative::<FUSED>(square.sqrt())
}

#[inline(always)]
fn three_halves<const FUSED: bool>(square: f64) -> f64 {
    let z = (3.0 * square).sqrt();
    (1.0 + z) * exp_negative::<FUSED>(z)
}

#[inline(always)]
fn five_halves<const FUSED: bool>(square: f64) -> f64 {
    let z = (5.0 * square).sqrt();
    (1.0 + z + (1.0 / 3.0) * (z * z)) * exp_negative::<FUSED>(z)
}

/// Returns `exp(-t)` for t >= 0.
///
/// `t = k ln 2 - y` with |y| at most half of ln 2. A Taylor polynomial in y, truncated where `y^13 / 13! < 2 u`, is
/// multiplied by a power of two made from its bits.
#[inline(always)]
fn exp_negative<const FUSED: bool>(t: f64) -> f64 {
    let t = if t < CUTOFF { t } else { CUTOFF };
    let shifted = t * std::f64::consts::LOG2_E + MAGIC;
    let k = shifted - MAGIC;
    let y = (k * LN2[0] - t) + k * LN2[1];
    let power = f64::from_bits((0x3ff_u64 << 52).wrapping_sub(shifted.to_bits() << 52));
    TERMS[1..].iter().fold(TERMS[0], |sum, &term| multiply_add::<FUSED>(sum, y, term)) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exponential is within the 10 roundings of its bound, plus one for the reduced argument.
    #[test]
    fn the_exponential_stays_within_its_bound() {
        let mut most = 0.0f64;
        for i in 0..400_000 {
            let t = [i as f64 * 1e-5, i as f64 * 1.7e-3, (i as f64 * 1e-4).exp2() * 1e-12][i % 3].min(699.0);
            let exact = libm::exp(-t);
            for found in [exp_negative::<false>(t), exp_negative::<true>(t)] {
                most = most.max((found - exact).abs() / (exact * f64::EPSILON / 2.0));
            }
        }
        assert!(0.5 < most && most < 8.0, "{most} roundings");
        assert!(exp_negative::<false>(1e300) < 1e-300);
    }
}
