//! Cyclic convolutions of interleaved real sequences with one real kernel.
//!
//! They are computed by fast Fourier transforms of radix 4: decimation in frequency forward, decimation in time back, so that
//! frequencies stay in a permuted order between the two and no entry is moved.

use super::wide;
use crate::vectorised;
use std::f64::consts::PI;

const LANES: usize = 8;
/// Number of entries whose transform stays in the L1 cache.
const IN_CACHE: usize = 256;

/// Holds one entry of sixteen interleaved sequences.
///
/// Eight are the real parts of complex sequences, the other eight their imaginary parts: a real kernel keeps them apart.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct Sixteen(pub [[f64; LANES]; 2]);

impl Sixteen {
    /// The zero vector.
    pub const ZERO: Self = Self([[0.0; LANES]; 2]);
}

/// The real and imaginary part of a number.
type Complex = [f64; 2];
/// The powers 1, 2 and 3 of roots of unity: those of one pass of radix 4 over a block of four times as many entries.
type Turns = Vec<[Complex; 3]>;

/// A kernel, for cyclic convolutions of its length.
#[derive(Debug)]
pub struct CyclicConvolution {
    /// Roots of unity of the passes: those over all entries first.
    turns: Vec<Turns>,
    /// Transform of the kernel in permuted order, divided by the length.
    spectrum: Vec<Complex>,
}

impl CyclicConvolution {
    /// Transforms a kernel.
    ///
    /// # Panics
    /// If its length is not a power of two.
    #[must_use]
    pub fn new(kernel: &[f64]) -> Self {
        let n = kernel.len();
        assert!(n.is_power_of_two(), "the length of a kernel is a power of two");
        let blocks = std::iter::successors(Some(n), |m| Some(m / 4)).take_while(|m| 4 <= *m);
        let root = |power: usize, m: usize| {
            let angle = -2.0 * PI * (power as f64 / m as f64);
            [libm::cos(angle), libm::sin(angle)]
        };
        let turns: Vec<Turns> = blocks.map(|m| (0..m / 4).map(|k| [1, 2, 3].map(|r| root(r * k, m))).collect()).collect();
        let mut x = vec![Sixteen::ZERO; n];
        x.iter_mut().zip(kernel).for_each(|(x, c)| x.0[0][0] = c / n as f64);
        forward(&turns, &mut x);
        Self { turns, spectrum: x.iter().map(|x| [x.0[0][0], x.0[1][0]]).collect() }
    }

    /// Replaces sixteen sequences by `sum_i x_i c_(j - i)`, with indices modulo the length.
    ///
    /// The error of an entry is at most `12 eps (log2(length) + 2)` times the Euclidean norms of the kernel and of its complex
    /// sequence, to first order in eps.
    ///
    /// # Panics
    /// If they are not as long as the kernel.
    pub fn apply(&self, x: &mut [Sixteen]) {
        assert_eq!(x.len(), self.spectrum.len(), "sequences are as long as the kernel");
        convolve(&self.turns, &self.spectrum, x);
    }
}

/// Convolves a block of entries, each quarter on its own once the block is split.
fn convolve(turns: &[Turns], spectrum: &[Complex], x: &mut [Sixteen]) {
    match turns {
        [first, rest @ ..] if IN_CACHE < x.len() => {
            let quarter = x.len() / 4;
            wide(Pass { back: false, turns: first, x });
            let quarters = x.chunks_exact_mut(quarter).zip(spectrum.chunks_exact(quarter));
            quarters.for_each(|(x, spectrum)| convolve(rest, spectrum, x));
            wide(Pass { back: true, turns: first, x });
        }
        _ => wide(Convolve { turns, spectrum, x }),
    }
}

struct Convolve<'a> {
    turns: &'a [Turns],
    spectrum: &'a [Complex],
    x: &'a mut [Sixteen],
}

vectorised! {
    fn call(self: Convolve<'_>) {
        let Self { turns, spectrum, x } = self;
        forward(turns, x);
        for (x, factor) in x.iter_mut().zip(spectrum) {
            *x = times(*x, *factor);
        }
        add_pairs(x);
        for turns in turns.iter().rev() {
            for block in x.chunks_exact_mut(4 * turns.len()) {
                join(turns, block);
            }
        }
    }
}

struct Pass<'a> {
    back: bool,
    turns: &'a [[Complex; 3]],
    x: &'a mut [Sixteen],
}

vectorised! {
    fn call(self: Pass<'_>) {
        if self.back { join(self.turns, self.x) } else { split(self.turns, self.x) }
    }
}

/// Computes the transform, in permuted order.
#[inline(always)]
fn forward(turns: &[Turns], x: &mut [Sixteen]) {
    for turns in turns {
        for block in x.chunks_exact_mut(4 * turns.len()) {
            split(turns, block);
        }
    }
    add_pairs(x);
}

/// Transforms blocks of two entries, which passes of radix 4 leave of a length that is no power of four.
#[inline(always)]
fn add_pairs(x: &mut [Sixteen]) {
    if !x.len().trailing_zeros().is_multiple_of(2) {
        for [a, b] in x.as_chunks_mut::<2>().0 {
            (*a, *b) = (plus(*a, *b), minus(*a, *b));
        }
    }
}

/// Replaces a block by its quarters, whose transforms are frequencies 0, 2, 1 and 3 modulo 4 of that of the block.
#[inline(always)]
fn split(turns: &[[Complex; 3]], x: &mut [Sixteen]) {
    let [x_0, x_1, x_2, x_3] = quarters(x);
    for ((((w, a), b), c), d) in turns.iter().zip(x_0).zip(x_1).zip(x_2).zip(x_3) {
        let (sum_ac, minus_ac, sum_bd, minus_bd) = (plus(*a, *c), minus(*a, *c), plus(*b, *d), minus(*b, *d));
        let turned = times_i(minus_bd);
        *a = plus(sum_ac, sum_bd);
        *b = times(minus(sum_ac, sum_bd), w[1]);
        *c = times(minus(minus_ac, turned), w[0]);
        *d = times(plus(minus_ac, turned), w[2]);
    }
}

/// Reverses [`split`], times 4.
#[inline(always)]
fn join(turns: &[[Complex; 3]], x: &mut [Sixteen]) {
    let [x_0, x_1, x_2, x_3] = quarters(x);
    for ((((w, a), b), c), d) in turns.iter().zip(x_0).zip(x_1).zip(x_2).zip(x_3) {
        let (of_b, of_c, of_d) = (times(*b, conjugate(w[1])), times(*c, conjugate(w[0])), times(*d, conjugate(w[2])));
        let (sum_ac, sum_bd, minus_ac) = (plus(*a, of_b), plus(of_c, of_d), minus(*a, of_b));
        let turned = times_i(minus(of_c, of_d));
        (*a, *c) = (plus(sum_ac, sum_bd), minus(sum_ac, sum_bd));
        (*b, *d) = (plus(minus_ac, turned), minus(minus_ac, turned));
    }
}

#[inline(always)]
fn quarters(x: &mut [Sixteen]) -> [&mut [Sixteen]; 4] {
    let (low, high) = x.split_at_mut(x.len() / 2);
    let ((x_0, x_1), (x_2, x_3)) = (low.split_at_mut(low.len() / 2), high.split_at_mut(high.len() / 2));
    [x_0, x_1, x_2, x_3]
}

#[inline(always)]
fn plus(mut a: Sixteen, b: Sixteen) -> Sixteen {
    for part in 0..2 {
        for lane in 0..LANES {
            a.0[part][lane] += b.0[part][lane];
        }
    }
    a
}

#[inline(always)]
fn minus(mut a: Sixteen, b: Sixteen) -> Sixteen {
    for part in 0..2 {
        for lane in 0..LANES {
            a.0[part][lane] -= b.0[part][lane];
        }
    }
    a
}

#[inline(always)]
fn times(Sixteen([re, im]): Sixteen, [c, s]: Complex) -> Sixteen {
    let mut product = Sixteen::ZERO;
    for lane in 0..LANES {
        product.0[0][lane] = re[lane] * c - im[lane] * s;
        product.0[1][lane] = re[lane] * s + im[lane] * c;
    }
    product
}

#[inline(always)]
fn times_i(Sixteen([re, mut im]): Sixteen) -> Sixteen {
    for x in &mut im {
        *x = -*x;
    }
    Sixteen([im, re])
}

#[inline(always)]
fn conjugate([c, s]: Complex) -> Complex {
    [c, -s]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::NullaryFnOnce;

    /// Checks that convolutions of integers are their sums of products within the stated bound, also where blocks are split.
    ///
    /// A pass of radix 4 adds twice (2 u, with u = eps / 2), multiplies by a root (√5 u) and rounds the root (9 u: an angle
    /// below 5 with two roundings, and its cosine): less than 15 u of the Euclidean norm. Three transforms of at most
    /// (log2 n + 1)/2 passes and the product of spectra (√5 u) give 12 eps (log2 n + 2) in all. Within the transform back the
    /// bound is that of sums of magnitudes, and those of two spectra are at most the product of their norms.
    #[test]
    fn convolutions_are_sums_of_products() {
        for n in (0..12).map(|power| 1_usize << power) {
            let kernel: Vec<f64> = (0..n).map(|i| (i * i * 5 % 13) as f64 - 6.0).collect();
            let entry = |i: usize, sequence: usize| (i * (i + sequence) % 17) as f64 - 8.0;
            let mut x = vec![Sixteen::ZERO; n];
            for (i, x) in x.iter_mut().enumerate() {
                x.0.as_flattened_mut().iter_mut().enumerate().for_each(|(sequence, x)| *x = entry(i, sequence));
            }
            let (convolution, mut plain) = (CyclicConvolution::new(&kernel), x.clone());
            convolution.apply(&mut x);
            Convolve { turns: &convolution.turns, spectrum: &convolution.spectrum, x: &mut plain }.call();
            assert!(x == plain, "{n}: blocks and lanes change no bit");
            let square = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>();
            for sequence in [0, 7, 8, 13] {
                let of_x = square(&mut (0..n).flat_map(|i| [entry(i, sequence % 8), entry(i, sequence % 8 + 8)]));
                let norms = libm::sqrt(of_x * square(&mut kernel.iter().copied()));
                let bound = 12.0 * f64::EPSILON * (libm::log2(n as f64) + 2.0) * norms;
                for j in (0..n).step_by(1 + n / 64) {
                    let sum: f64 = (0..n).map(|i| entry(i, sequence) * kernel[(n + j - i) % n]).sum();
                    let found = x[j].0.as_flattened()[sequence];
                    assert!((found - sum).abs() <= bound, "{n} {sequence} {j}: {found} {sum}");
                }
            }
        }
    }

    /// Checks that a kernel of one unit shifts integers, which tells the order of entries and the scale.
    #[test]
    fn a_unit_shifts() {
        for (n, shift) in [(1, 0), (2, 1), (4, 3), (8, 0), (32, 31), (1024, 5), (2048, 2047)] {
            let mut kernel = vec![0.0; n];
            kernel[shift] = 1.0;
            let mut x: Vec<Sixteen> = (0..n).map(|i| Sixteen([[i as f64; LANES], [7.0; LANES]])).collect();
            CyclicConvolution::new(&kernel).apply(&mut x);
            for (j, x) in x.iter().enumerate() {
                assert_eq!(x.0.map(|lanes| lanes.map(libm::rint)), [[((n + j - shift) % n) as f64; LANES], [7.0; LANES]], "{n}");
            }
        }
    }
}
