//! Middle products of real sequences with a real kernel, by fast Fourier transforms.
//!
//! The middle product of `x_0 … x_(s-1)` and `c_0 … c_(2s-1)` holds the entries s to 2s - 1 of their convolution, the only ones
//! of 2s that a wrap-around does not reach. Modulo `X^s - i`, the kernel is the complex sequence `c_k + i c_(k+s)`, and the
//! middle product is the imaginary part of the product. With `w^s = i`, the weights `w^k` turn a product modulo `X^s - i` into
//! a cyclic convolution of length s. So a real sequence takes a transform of its own length, and nothing else is in it.
//!
//! Transforms are of radix 4: decimation in frequency forward, decimation in time back, so that frequencies stay in a permuted
//! order between the two and no entry is moved.

use super::dot::LANES;
use crate::vectorised;
use std::f64::consts::PI;

/// Number of entries whose transform stays in the L1 cache.
const IN_CACHE: usize = 256;

/// Holds one entry of eight complex sequences: real parts, then imaginary parts.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct ComplexLanes(pub [[f64; LANES]; 2]);

impl ComplexLanes {
    /// The zero vector.
    pub const ZERO: Self = Self([[0.0; LANES]; 2]);
}

type Complex = [f64; 2];
/// The powers 1, 2 and 3 of roots of unity.
///
/// They belong to one pass of radix 4, over a block of four times as many entries.
type Twiddles = Vec<[Complex; 3]>;

/// A kernel, for middle products with sequences of half its length.
#[derive(Debug)]
pub struct MiddleProduct {
    /// Roots of unity of the passes: those over all entries first.
    twiddles: Vec<Twiddles>,
    /// The weights `w^k`.
    weights: Vec<Complex>,
    /// Transform of the weighted kernel in permuted order, divided by the length.
    spectrum: Vec<Complex>,
}

impl MiddleProduct {
    /// Transforms a kernel.
    ///
    /// # Panics
    /// If its length is not a power of two, or below 2.
    pub fn new(kernel: &[f64]) -> Self {
        assert!(kernel.len().is_power_of_two() && 2 <= kernel.len(), "the length of a kernel is a power of two, at least 2");
        let s = kernel.len() / 2;
        let root = |turn: f64| [libm::cos(2.0 * PI * turn), libm::sin(2.0 * PI * turn)];
        let blocks = std::iter::successors(Some(s), |m| Some(m / 4)).take_while(|m| 4 <= *m);
        let powers = |m: usize| (0..m / 4).map(move |k| [1, 2, 3].map(|r| root(-((r * k) as f64 / m as f64)))).collect();
        let twiddles: Vec<Twiddles> = blocks.map(powers).collect();
        let weights: Vec<Complex> = (0..s).map(|k| root(k as f64 / (4 * s) as f64)).collect();
        let (low, high) = kernel.split_at(s);
        let mut x = vec![ComplexLanes::ZERO; s];
        for (((x, c), d), weight) in x.iter_mut().zip(low).zip(high).zip(&weights) {
            (x.0[0][0], x.0[1][0]) = (c / s as f64, d / s as f64);
            *x = times(*x, *weight);
        }
        forward(&twiddles, &mut x);
        Self { twiddles, weights, spectrum: x.iter().map(|x| [x.0[0][0], x.0[1][0]]).collect() }
    }

    /// Replaces the real parts of eight sequences by their middle products.
    ///
    /// Entry j, from 0 to s - 1, is `sum_i x_i c_(s + j - i)`.
    ///
    /// Imaginary parts are overwritten. The bits of a sequence do not depend on the other seven. To first order in eps, the
    /// error of an entry is at most `12 eps (log2(s) + 2)` times the Euclidean norms of the kernel and of its sequence.
    ///
    /// With u = eps / 2: a pass of radix 4 adds twice (2 u), multiplies by a root (√5 u) and rounds the root. Its angle is below
    /// 4.72, and pi, the quotient and the product err by 1.7 u of it (8.1 u); cosine and sine add √2 u. That is less than 15 u of the
    /// Euclidean norm. Three transforms of at most (log2 s + 1)/2 passes take 22.5 u (log2 s + 1). The three products by weights
    /// take 7 u each (angles below 1.58), and that of the spectra √5 u. In all less than 22.5 u log2 s + 46 u. Within the
    /// transform back the bound is that of sums of magnitudes, and those of two spectra are at most the product of their norms.
    ///
    /// # Panics
    /// If `x` is not half as long as the kernel.
    pub fn apply(&self, x: &mut [ComplexLanes]) {
        assert_eq!(x.len(), self.spectrum.len(), "sequences are half as long as the kernel");
        weigh_wide(&self.weights, false, x);
        convolve(&self.twiddles, &self.spectrum, x);
        weigh_wide(&self.weights, true, x);
    }
}

/// Multiplies by the weights, or takes them `back`: imaginary parts of the results then take the place of real parts.
#[inline(always)]
fn weigh(weights: &[Complex], back: bool, x: &mut [ComplexLanes]) {
    for (x, weight) in x.iter_mut().zip(weights) {
        if back {
            x.0[0] = times(*x, conjugate(*weight)).0[1];
        } else {
            x.0[1] = [0.0; LANES];
            *x = times(*x, *weight);
        }
    }
}

vectorised! {
    fn weigh_wide(weights: &[Complex], back: bool, x: &mut [ComplexLanes]) {
        weigh(weights, back, x);
    }
}

/// Convolves a block, each quarter on its own once the block is split.
fn convolve(twiddles: &[Twiddles], spectrum: &[Complex], x: &mut [ComplexLanes]) {
    match twiddles {
        [first, rest @ ..] if IN_CACHE < x.len() => {
            let quarter = x.len() / 4;
            pass(false, first, x);
            let quarters = x.chunks_exact_mut(quarter).zip(spectrum.chunks_exact(quarter));
            quarters.for_each(|(x, spectrum)| convolve(rest, spectrum, x));
            pass(true, first, x);
        }
        _ => convolve_wide(twiddles, spectrum, x),
    }
}

#[inline(always)]
fn convolve_whole(twiddles: &[Twiddles], spectrum: &[Complex], x: &mut [ComplexLanes]) {
    forward(twiddles, x);
    for (x, factor) in x.iter_mut().zip(spectrum) {
        *x = times(*x, *factor);
    }
    add_pairs(x);
    for twiddles in twiddles.iter().rev() {
        for block in x.chunks_exact_mut(4 * twiddles.len()) {
            join(twiddles, block);
        }
    }
}

vectorised! {
    fn convolve_wide(twiddles: &[Twiddles], spectrum: &[Complex], x: &mut [ComplexLanes]) {
        convolve_whole(twiddles, spectrum, x);
    }
}

vectorised! {
    fn pass(back: bool, twiddles: &[[Complex; 3]], x: &mut [ComplexLanes]) {
        if back { join(twiddles, x) } else { split(twiddles, x) }
    }
}

/// Computes the Fourier transform, in permuted order.
#[inline(always)]
fn forward(twiddles: &[Twiddles], x: &mut [ComplexLanes]) {
    for twiddles in twiddles {
        for block in x.chunks_exact_mut(4 * twiddles.len()) {
            split(twiddles, block);
        }
    }
    add_pairs(x);
}

/// Transforms blocks of two entries.
///
/// Passes of radix 4 leave them, unless the length is a power of four.
#[inline(always)]
fn add_pairs(x: &mut [ComplexLanes]) {
    if !x.len().trailing_zeros().is_multiple_of(2) {
        for [a, b] in x.as_chunks_mut::<2>().0 {
            (*a, *b) = (plus(*a, *b), minus(*a, *b));
        }
    }
}

/// Makes the butterflies of decimation in frequency.
///
/// The transforms of the quarters are then frequencies 0, 2, 1 and 3 modulo 4 of that of the block.
#[inline(always)]
fn split(twiddles: &[[Complex; 3]], x: &mut [ComplexLanes]) {
    let [x_0, x_1, x_2, x_3] = quarters(x);
    for ((((w, a), b), c), d) in twiddles.iter().zip(x_0).zip(x_1).zip(x_2).zip(x_3) {
        let (sum_ac, minus_ac, sum_bd, minus_bd) = (plus(*a, *c), minus(*a, *c), plus(*b, *d), minus(*b, *d));
        let rotated = times_i(minus_bd);
        *a = plus(sum_ac, sum_bd);
        *b = times(minus(sum_ac, sum_bd), w[1]);
        *c = times(minus(minus_ac, rotated), w[0]);
        *d = times(plus(minus_ac, rotated), w[2]);
    }
}

/// Makes the butterflies of decimation in time: reverses [`split`], times 4.
#[inline(always)]
fn join(twiddles: &[[Complex; 3]], x: &mut [ComplexLanes]) {
    let [x_0, x_1, x_2, x_3] = quarters(x);
    for ((((w, a), b), c), d) in twiddles.iter().zip(x_0).zip(x_1).zip(x_2).zip(x_3) {
        let (of_b, of_c, of_d) = (times(*b, conjugate(w[1])), times(*c, conjugate(w[0])), times(*d, conjugate(w[2])));
        let (sum_ac, sum_bd, minus_ac) = (plus(*a, of_b), plus(of_c, of_d), minus(*a, of_b));
        let rotated = times_i(minus(of_c, of_d));
        (*a, *c) = (plus(sum_ac, sum_bd), minus(sum_ac, sum_bd));
        (*b, *d) = (plus(minus_ac, rotated), minus(minus_ac, rotated));
    }
}

#[inline(always)]
fn quarters(x: &mut [ComplexLanes]) -> [&mut [ComplexLanes]; 4] {
    let (low, high) = x.split_at_mut(x.len() / 2);
    let ((x_0, x_1), (x_2, x_3)) = (low.split_at_mut(low.len() / 2), high.split_at_mut(high.len() / 2));
    [x_0, x_1, x_2, x_3]
}

#[inline(always)]
fn each(mut a: ComplexLanes, b: ComplexLanes, of: impl Fn(f64, f64) -> f64) -> ComplexLanes {
    for part in 0..2 {
        for lane in 0..LANES {
            a.0[part][lane] = of(a.0[part][lane], b.0[part][lane]);
        }
    }
    a
}

#[inline(always)]
fn plus(a: ComplexLanes, b: ComplexLanes) -> ComplexLanes {
    each(a, b, |a, b| a + b)
}

#[inline(always)]
fn minus(a: ComplexLanes, b: ComplexLanes) -> ComplexLanes {
    each(a, b, |a, b| a - b)
}

#[inline(always)]
fn times(ComplexLanes([re, im]): ComplexLanes, [c, s]: Complex) -> ComplexLanes {
    let mut product = ComplexLanes::ZERO;
    for lane in 0..LANES {
        product.0[0][lane] = re[lane] * c - im[lane] * s;
        product.0[1][lane] = re[lane] * s + im[lane] * c;
    }
    product
}

#[inline(always)]
fn times_i(ComplexLanes([re, mut im]): ComplexLanes) -> ComplexLanes {
    for x in &mut im {
        *x = -*x;
    }
    ComplexLanes([im, re])
}

#[inline(always)]
fn conjugate([c, s]: Complex) -> Complex {
    [c, -s]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks middle products of integers against their sums within the stated bound, also where blocks are split.
    #[test]
    fn middle_products_are_sums_of_products() {
        for s in (0..12).map(|power| 1_usize << power) {
            let kernel: Vec<f64> = (0..2 * s).map(|i| (i * i * 5 % 13) as f64 - 6.0).collect();
            let entry = |i: usize, lane: usize| (i * (i + lane) % 17) as f64 - 8.0;
            let mut x: Vec<ComplexLanes> =
                (0..s).map(|i| ComplexLanes([std::array::from_fn(|lane| entry(i, lane)), [f64::NAN; LANES]])).collect();
            let (product, mut plain) = (MiddleProduct::new(&kernel), x.clone());
            product.apply(&mut x);
            weigh(&product.weights, false, &mut plain);
            convolve_whole(&product.twiddles, &product.spectrum, &mut plain);
            weigh(&product.weights, true, &mut plain);
            assert!(x == plain, "{s}: blocks and lanes change no bit");
            let norm = |values: &mut dyn Iterator<Item = f64>| libm::sqrt(values.map(|x| x * x).sum::<f64>());
            for lane in 0..LANES {
                let norms = norm(&mut (0..s).map(|i| entry(i, lane))) * norm(&mut kernel.iter().copied());
                let bound = 12.0 * f64::EPSILON * (libm::log2(s as f64) + 2.0) * norms;
                for j in (0..s).step_by(1 + s / 64) {
                    let sum: f64 = (0..s).map(|i| entry(i, lane) * kernel[s + j - i]).sum();
                    let found = x[j].0[0][lane];
                    assert!((found - sum).abs() <= bound, "{s} {lane} {j}: {found} {sum}");
                }
            }
        }
    }

    /// Checks that a kernel of one unit shifts integers, which tells the order of entries and the scale.
    #[test]
    fn a_unit_shifts() {
        for (s, unit) in [(1, 0), (1, 1), (2, 3), (4, 3), (8, 0), (32, 31), (32, 33), (1024, 5), (2048, 4095)] {
            let mut kernel = vec![0.0; 2 * s];
            kernel[unit] = 1.0;
            let mut x: Vec<ComplexLanes> = (0..s).map(|i| ComplexLanes([[1.0 + i as f64; LANES], [0.0; LANES]])).collect();
            MiddleProduct::new(&kernel).apply(&mut x);
            for (j, x) in x.iter().enumerate() {
                let from = (s + j).checked_sub(unit).filter(|i| *i < s);
                assert_eq!(x.0[0].map(libm::rint), [from.map_or(0.0, |i| 1.0 + i as f64); LANES], "{s} {unit} {j}");
            }
        }
    }

    /// Checks that a sequence has the same bits whatever the others are, also if they are not finite.
    #[test]
    fn sequences_do_not_mix() {
        let (s, kernel) = (512, (0..1024).map(|i| libm::sin(i as f64)).collect::<Vec<f64>>());
        let product = MiddleProduct::new(&kernel);
        let with = |other: f64| {
            let lanes = |i: usize| std::array::from_fn(|lane| if lane == 3 { libm::cos(i as f64) } else { other });
            let mut x: Vec<ComplexLanes> = (0..s).map(|i| ComplexLanes([lanes(i), [0.0; LANES]])).collect();
            product.apply(&mut x);
            x.iter().map(|x| x.0[0][3].to_bits()).collect::<Vec<u64>>()
        };
        assert_eq!(with(0.0), with(1e300));
        assert_eq!(with(0.0), with(f64::NAN));
    }
}
