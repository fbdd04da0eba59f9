//! The l_p norms, `1 <= p <= infinity`.

use super::cbrt::cbrts_inlined;
use super::dot::{LANES, sum_of_squares_inlined};
use super::pow::pow_of_block;
use crate::vectorised;
use std::{array, fmt};

/// An l_p norm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Norm {
    exponent: f64,
    power: Power,
}

/// The power `x^e` for `x >= 0`, by products where possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Power {
    /// `x^n` for a small integer n.
    Whole(u8),
    /// Any other exponent.
    General(f64),
}

impl Power {
    /// Creates the power for an exponent `>= 0`.
    pub fn of(exponent: f64) -> Self {
        let nearest = exponent.round();
        // For example, 1.5/(1.5 - 1) rounds to 3.0000000000000004, for which the product is as accurate.
        if nearest <= 8.0 && (exponent - nearest).abs() <= 4.0 * f64::EPSILON * nearest.max(1.0) {
            Self::Whole(nearest as u8)
        } else {
            Self::General(exponent)
        }
    }

    /// Returns `x^e`, for `x >= 0`.
    #[inline]
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Self::Whole(0) => 1.0,
            Self::Whole(1) => x,
            Self::Whole(2) => x * x,
            Self::Whole(3) => x * x * x,
            Self::Whole(n) => (1..n).fold(x, |power, _| power * x),
            Self::General(exponent) => libm::pow(x, exponent),
        }
    }
}

impl Norm {
    /// The max norm.
    pub const MAX: Self = Self { exponent: f64::INFINITY, power: Power::Whole(1) };

    /// Returns the norm with this exponent; `None` below 1 and for NaN.
    pub fn of(exponent: f64) -> Option<Self> {
        (1.0 <= exponent).then(|| Self { exponent, power: Power::of(exponent) })
    }

    /// Returns the exponent, possibly infinite.
    pub fn exponent(self) -> f64 {
        self.exponent
    }

    /// Returns the dual norm: exponent `p/(p - 1)`, infinite for 1, 1 for infinity.
    #[must_use]
    pub fn dual(self) -> Self {
        let exponent = if self.exponent.is_infinite() { 1.0 } else { self.exponent / (self.exponent - 1.0) };
        Self { exponent, power: Power::of(exponent) }
    }

    /// Returns the norm of a vector.
    ///
    /// Entries are first divided by the largest, so that no power overflows or underflows.
    pub fn size(self, vector: &[f64]) -> f64 {
        self.sizes([vector])[0]
    }

    /// Returns the norms of equally long vectors; together, their sums and roots do not wait for each other.
    pub fn sizes<const R: usize>(self, vectors: [&[f64]; R]) -> [f64; R] {
        sizes(self, vectors)
    }

    #[inline(always)]
    fn sizes_inlined<const R: usize>(self, vectors: &[&[f64]; R]) -> [f64; R] {
        let mut sizes = [0.0; R];
        if self.exponent == 1.0 {
            for (size, vector) in sizes.iter_mut().zip(vectors) {
                *size = vector.iter().map(|x| x.abs()).sum();
            }
            return sizes;
        }
        let largest = largest_inlined(vectors);
        if self.exponent.is_infinite() {
            return largest;
        }
        let (d, mut powers) = (vectors[0].len(), [[0.0; R]; BLOCK]);
        for start in (0..d).step_by(BLOCK) {
            let powers = &mut powers[..BLOCK.min(d - start)];
            quotients(vectors, start, &largest, powers);
            apply_inlined(self.power, powers.as_flattened_mut());
            add_in_order(powers, &mut sizes);
        }
        self.roots(&mut sizes);
        for (size, largest) in sizes.iter_mut().zip(largest) {
            *size = if largest == 0.0 || !largest.is_finite() { largest } else { largest * *size };
        }
        sizes
    }

    /// Replaces every x by `x^(1/p)`.
    #[inline(always)]
    fn roots<const R: usize>(self, x: &mut [f64; R]) {
        match self.power {
            Power::Whole(1) => {}
            Power::Whole(2) => x.iter_mut().for_each(|x| *x = libm::sqrt(*x)),
            Power::Whole(3) => cbrts_inlined(x),
            _ => x.iter_mut().for_each(|x| *x = libm::pow(*x, 1.0 / self.exponent)),
        }
    }

    /// Scales a vector down to norm `most` if its norm is larger; entries must be finite.
    ///
    /// A vector whose norm overflows f64 becomes zero.
    pub fn clip(self, vector: &mut [f64], most: f64) {
        clip(self, vector, vector.len(), most);
    }

    /// Clips every row of a row-major matrix with `d` columns, as [`Norm::clip`].
    pub fn clip_rows(self, rows: &mut [f64], d: usize, most: f64) {
        clip(self, rows, d, most);
    }

    /// Returns whether Euclidean norms show, without quotients and roots, that all norms are at most `most`.
    ///
    /// For p >= 2 it is the larger of the two. Rounding of a sum of n squares is below `n 2^-52`, and [`SURE`] leaves room for
    /// n = 10^6; squares that underflow add less than `n 2^-1022`, which is below the room if `most >= LEAST`. Where
    /// squares overflow, infinity is not below infinity.
    #[inline(always)]
    fn are_surely_within<const R: usize>(self, vectors: &[&[f64]; R], most: f64) -> bool {
        const SURE: f64 = 1.0 - 1e-9;
        const LEAST: f64 = 1e-100;
        const MANY: usize = 1_000_000;
        if self.exponent < 2.0 || most < LEAST || MANY < vectors[0].len() {
            return false;
        }
        let mut is_within = true;
        for vector in vectors {
            is_within &= sum_of_squares_inlined(vector) < most * most * SURE;
        }
        is_within
    }

    /// Writes the minimizer of the product with `g` over vectors of this norm `<= 1`.
    ///
    /// It is `-sign(g_i)(|g_i|/|g|_q)^(q - 1)` with q dual. For p = 1 it is one signed coordinate, at the lowest index of
    /// the largest `|g_i|`; for infinity the signs. `sign(0) = 0`.
    pub fn steepest(self, g: &[f64], out: &mut [f64]) {
        steepest(self, [g], out);
    }

    /// Writes [`Norm::steepest`] of every row of a row-major matrix with `d` columns.
    pub fn steepest_rows(self, g: &[f64], d: usize, out: &mut [f64]) {
        for (g, out) in g.chunks(TOGETHER * d).zip(out.chunks_mut(TOGETHER * d)) {
            if g.len() == TOGETHER * d {
                steepest::<TOGETHER>(self, array::from_fn(|r| &g[r * d..(r + 1) * d]), out);
            } else {
                g.chunks_exact(d).zip(out.chunks_exact_mut(d)).for_each(|(g, out)| self.steepest(g, out));
            }
        }
    }
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.exponent.is_infinite() { f.write_str("l_inf") } else { write!(f, "l_{}", self.exponent) }
    }
}

fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { 1.0_f64.copysign(x) }
}

/// Number of rows that are computed together.
pub const TOGETHER: usize = 8;
/// Number of entries of a vector that are raised together.
const BLOCK: usize = 32;

/// Finds the largest magnitude of each vector; NaN if an entry is NaN.
#[inline(always)]
fn largest_inlined<const R: usize>(vectors: &[&[f64]; R]) -> [f64; R] {
    let mut results = [0.0; R];
    for (result, vector) in results.iter_mut().zip(vectors) {
        let (mut maxima, mut has_nan) = ([0.0; LANES], false);
        let (whole, rest) = vector.as_chunks::<LANES>();
        for entries in whole {
            for (most, x) in maxima.iter_mut().zip(entries) {
                let size = x.abs();
                *most = if *most < size { size } else { *most };
                has_nan |= x.is_nan();
            }
        }
        for (most, x) in maxima.iter_mut().zip(rest) {
            let size = x.abs();
            *most = if *most < size { size } else { *most };
            has_nan |= x.is_nan();
        }
        for half in [4, 2, 1] {
            for lane in 0..half {
                maxima[lane] = if maxima[lane] < maxima[lane + half] { maxima[lane + half] } else { maxima[lane] };
            }
        }
        *result = if has_nan { f64::NAN } else { maxima[0] };
    }
    results
}

/// Writes a block of magnitudes divided by the largest of their vector, transposed: vectors fill SIMD lanes.
#[inline(always)]
fn quotients<const R: usize>(vectors: &[&[f64]; R], start: usize, largest: &[f64; R], out: &mut [[f64; R]]) {
    let mut blocks = *vectors;
    for block in &mut blocks {
        *block = &block[start..start + out.len()];
    }
    for (at, out) in out.iter_mut().enumerate() {
        let mut column = [0.0; R];
        for (x, block) in column.iter_mut().zip(&blocks) {
            *x = block[at];
        }
        for (x, largest) in column.iter_mut().zip(largest) {
            *x = x.abs() / largest;
        }
        *out = column;
    }
}

/// Adds the entries of each vector to its sum, in order.
#[inline(always)]
fn add_in_order<const R: usize>(columns: &[[f64; R]], sums: &mut [f64; R]) {
    for column in columns {
        for (sum, x) in sums.iter_mut().zip(column) {
            *sum += x;
        }
    }
}

vectorised! {
    fn sizes[const R: usize](norm: Norm, vectors: [&[f64]; R]) -> [f64; R] {
        norm.sizes_inlined(&vectors)
    }
}

vectorised! {
    fn clip(norm: Norm, rows: &mut [f64], d: usize, most: f64) {
        for rows in rows.chunks_mut((TOGETHER * d).max(1)) {
            if rows.len() == TOGETHER * d {
                clip_inlined::<TOGETHER>(norm, rows, d, most);
            } else {
                for row in rows.chunks_exact_mut(d) {
                    clip_inlined::<1>(norm, row, d, most);
                }
            }
        }
    }
}

#[inline(always)]
fn clip_inlined<const R: usize>(norm: Norm, rows: &mut [f64], d: usize, most: f64) {
    let vectors: [&[f64]; R] = array::from_fn(|r| &rows[r * d..(r + 1) * d]);
    if norm.are_surely_within(&vectors, most) {
        return;
    }
    let sizes = norm.sizes_inlined(&vectors);
    for (row, size) in rows.chunks_exact_mut(d.max(1)).zip(sizes) {
        if most < size {
            let scale = most / size;
            row.iter_mut().for_each(|x| *x *= scale);
        }
    }
}

vectorised! {
    /// Writes [`Norm::steepest`] of R vectors, row-major.
    fn steepest[const R: usize](norm: Norm, g: [&[f64]; R], out: &mut [f64]) {
        let (d, largest) = (g[0].len().max(1), largest_inlined(&g));
        if norm.exponent == 1.0 {
            out.fill(0.0);
            for ((g, largest), out) in g.iter().zip(largest).zip(out.chunks_exact_mut(d)) {
                if let Some(at) = g.iter().position(|x| x.abs() == largest).filter(|_| largest != 0.0) {
                    out[at] = -sign(g[at]);
                }
            }
            return;
        }
        if norm.exponent.is_infinite() {
            for ((g, largest), out) in g.iter().zip(largest).zip(out.chunks_exact_mut(d)) {
                out.iter_mut().zip(*g).for_each(|(out, g)| *out = if largest == 0.0 { 0.0 } else { -sign(*g) });
            }
            return;
        }
        let (q, mut sums) = (norm.dual(), [0.0; R]);
        let power = Power::of(q.exponent - 1.0);
        let (mut sizes, mut raised) = ([[0.0; R]; BLOCK], [[0.0; R]; BLOCK]);
        for start in (0..d).step_by(BLOCK) {
            let n = BLOCK.min(d - start);
            let (sizes, raised) = (&mut sizes[..n], &mut raised[..n]);
            quotients(&g, start, &largest, sizes);
            raised.copy_from_slice(sizes);
            apply_inlined(power, raised.as_flattened_mut());
            for ((r, out), g) in out.chunks_exact_mut(d).enumerate().zip(&g) {
                for ((out, g), raised) in out[start..].iter_mut().zip(&g[start..]).zip(&*raised) {
                    *out = -raised[r].copysign(*g);
                }
            }
            raised.as_flattened_mut().iter_mut().zip(sizes.as_flattened()).for_each(|(raised, size)| *raised *= size);
            add_in_order(raised, &mut sums);
        }
        // |g|_q^(q - 1) with the largest entry factored out: sum^((q - 1)/q).
        let mut roots = sums;
        q.roots(&mut roots);
        for (r, out) in out.chunks_exact_mut(d).enumerate() {
            let scale = roots[r] / sums[r];
            for out in out {
                *out = if largest[r] == 0.0 { 0.0 } else { *out * scale };
            }
        }
    }
}

/// Replaces every number by its power, inside a SIMD dispatch.
#[inline(always)]
fn apply_inlined(power: Power, values: &mut [f64]) {
    match power {
        Power::Whole(2) => values.iter_mut().for_each(|x| *x *= *x),
        Power::Whole(3) => values.iter_mut().for_each(|x| *x = *x * *x * *x),
        Power::Whole(_) => values.iter_mut().for_each(|x| *x = power.apply(*x)),
        Power::General(exponent) => pow_of_block(values, exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    const EXPONENTS: [f64; 9] = [1.0, 1.001, 1.1, 1.5, 2.0, 3.0, 7.3, 40.0, f64::INFINITY];

    fn vectors() -> Vec<Vec<f64>> {
        vec![vec![1.5, -0.25, 0.0, 3.0], vec![1e-200, 3e-200], vec![-1e200, 2e200, 1e199], vec![-2.0], vec![1.0, -1.0, 1.0]]
    }

    #[test]
    fn the_steepest_vector_attains_the_dual_norm() {
        for exponent in EXPONENTS {
            let norm = Norm::of(exponent).expect("a norm");
            for g in vectors() {
                let mut v = vec![0.0; g.len()];
                norm.steepest(&g, &mut v);
                let product: f64 = g.iter().zip(&v).map(|(a, b)| a * b).sum();
                let dual = norm.dual().size(&g);
                assert!((norm.size(&v) - 1.0).abs() < 1e-12, "{exponent} {g:?}: {}", norm.size(&v));
                assert!((product + dual).abs() <= 1e-12 * dual, "{exponent} {g:?}: {product} {dual}");
            }
        }
    }

    fn root(norm: Norm, x: f64) -> f64 {
        let mut roots = [x];
        norm.roots(&mut roots);
        roots[0]
    }

    /// Norms and steepest vectors have the bits of their formulas, evaluated one entry after another.
    #[test]
    fn the_bits_of_one_entry_at_a_time() {
        let mut stream = Streams::new(4, "norms").of(0, Purpose::Function);
        for (exponent, n) in EXPONENTS.into_iter().flat_map(|exponent| [1, 3, 8, 20, 33, 100].map(|n| (exponent, n))) {
            let norm = Norm::of(exponent).expect("a norm");
            let mut g: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
            g[n / 2] = 0.0;
            let largest = g.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            if exponent == 1.0 || exponent.is_infinite() || largest == 0.0 {
                continue;
            }
            let sum: f64 = g.iter().map(|x| norm.power.apply(x.abs() / largest)).sum();
            assert_eq!(norm.size(&g).to_bits(), (largest * root(norm, sum)).to_bits(), "{exponent} {n}");
            let q = norm.dual();
            let power = Power::of(q.exponent - 1.0);
            let raised: Vec<f64> = g.iter().map(|g| power.apply(g.abs() / largest)).collect();
            let sum = g.iter().zip(&raised).fold(0.0, |sum, (g, raised)| sum + raised * (g.abs() / largest));
            let mut found = vec![0.0; n];
            norm.steepest(&g, &mut found);
            for ((found, raised), g) in found.iter().zip(&raised).zip(&g) {
                assert_eq!(found.to_bits(), (-raised.copysign(*g) * (root(q, sum) / sum)).to_bits(), "{exponent} {n}");
            }
        }
        let nan = [0.0, f64::NAN, 1.0];
        assert!(Norm::MAX.size(&nan).is_nan() && Norm::of(1.5).expect("a norm").size(&nan).is_nan());
    }

    /// Rows that are computed together have the bits of each alone.
    #[test]
    fn rows_have_the_bits_of_vectors() {
        let mut stream = Streams::new(5, "norms").of(0, Purpose::Function);
        let bits = |of: &[f64]| of.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
        for (exponent, d) in EXPONENTS.into_iter().flat_map(|exponent| [1, 3, 20, 33, 70].map(|d| (exponent, d))) {
            let norm = Norm::of(exponent).expect("a norm");
            let mut rows: Vec<f64> = (0..(2 * TOGETHER + 3) * d).map(|_| stream.normal()).collect();
            rows[d..2 * d].fill(0.0);
            rows[3 * d..4 * d].iter_mut().for_each(|x| *x *= 1e-3);
            let (mut clipped, mut steepest) = (rows.clone(), vec![0.0; rows.len()]);
            norm.clip_rows(&mut clipped, d, 0.5);
            norm.steepest_rows(&rows, d, &mut steepest);
            for ((row, clipped), steepest) in rows.chunks(d).zip(clipped.chunks(d)).zip(steepest.chunks(d)) {
                let (mut alone, mut direction) = (row.to_vec(), vec![0.0; d]);
                norm.clip(&mut alone, 0.5);
                norm.steepest(row, &mut direction);
                assert_eq!((bits(&alone), bits(&direction)), (bits(clipped), bits(steepest)), "{exponent} {d}");
            }
        }
    }

    #[test]
    fn duals_of_duals_and_ends() {
        for exponent in EXPONENTS {
            let back = Norm::of(exponent).expect("a norm").dual().dual().exponent();
            assert!(back == exponent || (back - exponent).abs() < 1e-9 * exponent, "{exponent} {back}");
        }
        assert!(Norm::of(0.99).is_none() && Norm::of(f64::NAN).is_none());
        let mut v = [1.0, 1.0];
        Norm::of(1.0).expect("a norm").steepest(&[0.0, 0.0], &mut v);
        assert_eq!(v, [0.0, 0.0]);
        Norm::of(1.0).expect("a norm").steepest(&[-2.0, 2.0], &mut v);
        assert_eq!(v, [1.0, 0.0]);
    }

    #[test]
    fn clipping_keeps_directions() {
        let mut v = vec![3.0, -4.0];
        Norm::of(2.0).expect("a norm").clip(&mut v, 1.0);
        assert!((v[0] - 0.6).abs() < 1e-15 && (v[1] + 0.8).abs() < 1e-15);
        let mut short = vec![0.3, 0.4];
        Norm::MAX.clip(&mut short, 1.0);
        assert_eq!(short, [0.3, 0.4]);
        // The shortcut by the Euclidean norm decides as the norm itself, also close to it.
        for exponent in EXPONENTS {
            let norm = Norm::of(exponent).expect("a norm");
            for vector in vectors() {
                let size = norm.size(&vector);
                for share in [0.5, 1.0 - 1e-15, 1.0, 1.0 + 1e-15, 1.0 + 1e-9, 2.0, 1e3] {
                    let (most, mut clipped) = (size * share, vector.clone());
                    norm.clip(&mut clipped, most);
                    let scale = if most < size { most / size } else { 1.0 };
                    assert!(clipped.iter().zip(&vector).all(|(new, old)| *new == old * scale), "{exponent} {share} {vector:?}");
                }
            }
        }
        let mut huge = vec![f64::MAX, f64::MAX];
        Norm::of(1.0).expect("a norm").clip(&mut huge, 1.0);
        assert!(huge.iter().all(|x| x.is_finite()));
    }
}
