//! Factorises prefix sums by a banded matrix, for users who return after a known number of rounds (Kalinin2024).
//!
//! The coefficients of the square root are cut off after a band, and those that remain fall less fast. Columns that are further
//! apart share no row, so that several participations of a user add up less; the noise on a prefix grows a little. A stream holds
//! one vector for each entry of the band.

use super::minimise::minimise;
use super::online::coefficients;
use super::transform::Kept;
use super::{Factorisation, PrefixNoise, RowTransform, Shape, toeplitz};
use crate::accounting::sensitivity::Participation;
use crate::memo::Memo;
use privateer_numerics::linalg::add_rows_wide;
use std::collections::VecDeque;
use std::sync::Arc;

/// Longest band beside those of the separation; a stream keeps as many draws of each entry.
const LONGEST_BAND: u64 = 1024;
/// Most products that the variances of a band may cost.
const MOST_PRODUCTS: u64 = 1 << 31;
/// Longest band whose coefficients are fitted as they are.
const LONGEST_FIT: u64 = 512;

/// Power and rate of the square root.
const SQUARE_ROOT: [f64; 2] = [0.0; 2];

/// A banded matrix over a number of rounds.
#[derive(Debug, Clone)]
pub struct Banded {
    rounds: u64,
    /// The first column of C, without its zeros.
    band: Arc<[f64]>,
    /// Variances of the noise on the prefixes.
    variances: Arc<[f64]>,
}

impl Banded {
    /// Makes the matrix of this band, at least 1 and at most `rounds` (0 counts as 1).
    ///
    /// Coefficient j is that of the square root times `(1 + j)^power e^(rate j/band)`, and never above the one before: any power
    /// and rate give privacy, because the sensitivity is computed from the coefficients. Power and rate 0 are the square root's.
    pub fn new(rounds: u64, band: u64, [power, rate]: [f64; 2]) -> Self {
        let rounds = rounds.max(1);
        let band: Arc<[f64]> = shaped(band.clamp(1, rounds), [power, rate]).into();
        let variances = response(&band).take(rounds as usize).scan(0.0, |variance, sum| {
            *variance += sum * sum;
            Some(*variance)
        });
        let variances = variances.collect();
        Self { rounds, band, variances }
    }

    /// Makes the matrix with the least largest error at a participation, of those with bands b and 2 b - 1, where b is the
    /// separation, up to 1024, and that band itself; each with fitted coefficients where a user takes part more than once.
    pub fn fitted(rounds: u64, participation: Participation) -> Self {
        /// Fits by rounds, count and separation: all cells of a sweep ask for a few of them.
        static FITS: Memo<(u64, u64, u64), Banded> = Memo::new(16);
        let (rounds, Participation { count, separation }) = (rounds.max(1), participation);
        FITS.get((rounds, count, separation), || Self::best(rounds, participation))
    }

    fn best(rounds: u64, participation: Participation) -> Self {
        let separation = participation.separation;
        let most = longest(rounds);
        let mut bands =
            [separation, separation.saturating_mul(2).saturating_sub(1), most].map(|band| band.clamp(1, most)).to_vec();
        bands.dedup();
        let made = bands.into_iter().map(|band| Self::new(rounds, band, Self::shape(rounds, band, participation)));
        made.min_by(|a, b| a.error(participation).total_cmp(&b.error(participation)))
            .unwrap_or_else(|| Self::new(rounds, 1, SQUARE_ROOT))
    }

    /// Makes the matrix whose band is the separation, or the longest one.
    pub(super) fn within(rounds: u64, participation: Participation) -> Self {
        let band = participation.separation.clamp(1, longest(rounds));
        Self::new(rounds, band, Self::shape(rounds, band, participation))
    }

    /// Returns the length of the band.
    pub(super) fn length(&self) -> u64 {
        self.band.len() as u64
    }

    /// Returns the variances on the prefixes where what the noise gains in each round is divided by a factor.
    pub(super) fn variances_over(&self, factors: &[f64]) -> Vec<f64> {
        let rounds = factors.len();
        // The columns of all but the last rounds are whole.
        let whole = factors.iter().position(|factor| *factor != 1.0).unwrap_or(rounds);
        let sums: Vec<f64> = response(&self.band).take(rounds).collect();
        let mut variances = self.variances.to_vec();
        variances[whole..].fill(0.0);
        for first in 0..rounds {
            let start = first.max(whole);
            let mut before = if first < start { sums[start - first - 1] } else { 0.0 };
            let mut sum = before;
            for ((variance, factor), of_first) in variances[start..].iter_mut().zip(&factors[start..]).zip(&sums[start - first..])
            {
                sum += (of_first - before) / factor;
                before = *of_first;
                *variance += sum * sum;
            }
        }
        variances
    }

    /// Returns sensitivity times largest standard deviation.
    fn error(&self, participation: Participation) -> f64 {
        super::columns(self, participation) * libm::sqrt(self.largest_variance())
    }

    /// Returns power and rate with the least largest error that is found, for bands below twice the separation.
    ///
    /// The first column of B is taken as constant from four bands on, as it nearly is, and lengths beyond `LONGEST_FIT` are
    /// shortened in proportion.
    fn shape(rounds: u64, band: u64, participation: Participation) -> [f64; 2] {
        let Participation { count, separation } = participation;
        if participation.is_once() || 2 * separation <= band || band < 3 {
            return SQUARE_ROOT;
        }
        let by = band.div_ceil(LONGEST_FIT);
        let [rounds, band, separation] = [rounds, band, separation].map(|length| length.div_ceil(by));
        let error = |shape: &[f64]| {
            let column = shaped(band, [shape[0], shape[1]]);
            let n_summed = rounds.min(4 * band);
            let settled = (rounds - n_summed) as f64 / libm::pow(column.iter().sum(), 2.0);
            let variance = settled + response(&column).take(n_summed as usize).map(|sum| sum * sum).sum::<f64>();
            let norm = toeplitz::column_norm(&column, rounds, Participation { count, separation });
            libm::log(norm) + 0.5 * libm::log(variance)
        };
        match minimise(SQUARE_ROOT.to_vec(), error)[..] {
            [power, rate] => [power, rate],
            _ => SQUARE_ROOT,
        }
    }

    /// Returns the first column of C, with its zeros.
    pub(super) fn column(&self) -> Vec<f64> {
        let mut column = self.band.to_vec();
        column.resize(self.rounds as usize, 0.0);
        column
    }
}

/// Returns the first `length` coefficients of the square root times `(1 + j)^power e^(rate j/length)`, none above the one before.
fn shaped(length: u64, [power, rate]: [f64; 2]) -> Vec<f64> {
    let each = coefficients().take(length as usize).enumerate().scan(1.0_f64, |before, (j, c)| {
        let j = j as f64;
        *before = before.min(c * libm::exp(power * libm::log1p(j) + rate * j / length as f64));
        Some(*before)
    });
    each.collect()
}

/// Returns the longest band of that many rounds.
fn longest(rounds: u64) -> u64 {
    (MOST_PRODUCTS / rounds).min(LONGEST_BAND).clamp(1, rounds)
}

/// Returns the first column of `B = A C^-1`, without end: the sums of the inverse of C as a power series.
fn response(band: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let (mut inverse, mut sum) = (VecDeque::with_capacity(band.len()), 0.0);
    (0_u64..).map(move |round| {
        let past: f64 = band[1..].iter().zip(&inverse).map(|(c, d)| c * d).sum();
        let next = if round == 0 { 1.0 } else { 0.0 } - past;
        inverse.truncate(band.len().saturating_sub(2));
        inverse.push_front(next);
        sum += next;
        sum
    })
}

impl Factorisation for Banded {
    fn name(&self) -> &'static str {
        "banded-toeplitz"
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        toeplitz::column_norm(&self.band, self.rounds, participation)
    }

    fn variance(&self, round: u64) -> f64 {
        self.variances[round.clamp(1, self.rounds) as usize - 1]
    }

    fn noise(&self, shape: Shape) -> Box<dyn PrefixNoise> {
        let backward = self.band[1..].iter().rev().map(|c| -c).collect();
        Box::new(BandedNoise { backward, past: VecDeque::new(), prefix: vec![0.0; shape.len()] })
    }

    fn transform(&self, length: usize) -> Option<Box<dyn RowTransform>> {
        Some(Box::new(Kept::new(self.column(), length)))
    }
}

/// Noise of a stream: `y_t = z_t - sum_(j < band) c_j y_(t - j)`, and the prefix is the sum of y.
#[derive(Debug)]
struct BandedNoise {
    /// The coefficients from `c_1` on, negative and last one first.
    backward: Vec<f64>,
    past: VecDeque<Vec<f64>>,
    prefix: Vec<f64>,
}

impl PrefixNoise for BandedNoise {
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64] {
        // The vector that leaves the band takes the draw.
        let full = self.past.len() == self.backward.len();
        let mut gain = vec![0.0; self.prefix.len()];
        draw(&mut gain);
        let weights = &self.backward[self.backward.len() - self.past.len()..];
        add_rows_wide(weights, |at| &self.past[at], &mut gain);
        self.prefix.iter_mut().zip(&gain).for_each(|(prefix, gain)| *prefix += gain);
        if full {
            self.past.pop_front();
        }
        if !self.backward.is_empty() {
            self.past.push_back(gain);
        }
        &self.prefix
    }

    fn state(&self) -> usize {
        (self.backward.len() + 1) * self.prefix.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The noise is `A C^-1 z`: the prefix sums of what C maps to z.
    #[test]
    fn noise_is_the_inverse_of_the_band() {
        let (rounds, band) = (30, 7);
        let matrix = Banded::new(rounds, band, [0.1, 0.2]);
        let (mut noise, mut gains, mut before) = (matrix.noise(Shape::Vector(1)), Vec::new(), 0.0);
        let z = |t: usize| libm::sin(3.0 * t as f64);
        for t in 0..rounds as usize {
            let prefix = noise.next(&mut |out| out.fill(z(t)))[0];
            gains.push(prefix - before);
            before = prefix;
            let back: f64 = gains.iter().rev().zip(&*matrix.band).map(|(gain, c)| gain * c).sum();
            assert!((back - z(t)).abs() < 1e-12, "{t}");
        }
    }

    /// The least errors of all Toeplitz matrices with falling coefficients, by an independent program that moves each coefficient
    /// (L-BFGS), largest and root mean square; 7.937, 25.147 and 11.392, and 7.543, 23.896 and 10.862, for the square root.
    #[test]
    fn bands_are_near_the_best_toeplitz_matrix_for_users_who_return() {
        for (rounds, count, separation, largest, rms) in
            [(1024, 4, 256, 7.491_162, 6.444_237), (1024, 16, 64, 20.683_904, 16.263_692), (2048, 6, 342, 10.397_221, 8.799_197)]
        {
            let participation = Participation { count, separation };
            let fit = Banded::fitted(rounds, participation);
            let mean = fit.variances.iter().sum::<f64>() / rounds as f64;
            let errors = [fit.error(participation) / largest, fit.sensitivity(participation) * libm::sqrt(mean) / rms];
            assert!((1.0..1.002).contains(&errors[0]) && (1.0..1.012).contains(&errors[1]), "{rounds} {count}: {errors:?}");
        }
        let once = Banded::fitted(1024, Participation::ONCE);
        assert!((once.error(Participation::ONCE) - 3.272_554_150).abs() < 1e-8);
    }

    /// Coefficients that are fitted at shorter lengths are near the best for those that are stated.
    #[test]
    fn long_bands_are_fitted_at_shorter_lengths() {
        let (rounds, band, participation) = (1 << 14, 1024, Participation { count: 16, separation: 1024 });
        let shape = Banded::shape(rounds, band, participation);
        let error = |shape| Banded::new(rounds, band, shape).error(participation);
        let found = error(shape);
        assert!(found < 0.99 * error(SQUARE_ROOT), "{shape:?}");
        for step in [[0.05, 0.0], [-0.05, 0.0], [0.0, 0.05], [0.0, -0.05]] {
            let moved = error([shape[0] + step[0], shape[1] + step[1]]);
            assert!(found <= 1.002 * moved, "{shape:?} {step:?}: {found} and {moved}");
        }
    }
}
