//! Factorises prefix sums by a banded square root, for users who return after a known number of rounds (Kalinin2024).
//!
//! The coefficients of the square root are cut off after a band. Columns that are further apart share no row, so that several
//! participations of a user add up less; the noise on a prefix grows a little. A stream holds one vector for each entry of the band.

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
    #[must_use]
    pub fn new(rounds: u64, band: u64) -> Self {
        let rounds = rounds.max(1);
        let band: Arc<[f64]> = coefficients().take(band.clamp(1, rounds) as usize).collect();
        // The inverse of C as a power series; its sums are the first column of B.
        let (mut inverse, mut sum, mut variance) = (VecDeque::with_capacity(band.len()), 0.0, 0.0);
        let variances = (0..rounds).map(|round| {
            let past: f64 = band[1..].iter().zip(&inverse).map(|(c, d)| c * d).sum();
            let next = if round == 0 { 1.0 } else { 0.0 } - past;
            inverse.truncate(band.len().saturating_sub(2));
            inverse.push_front(next);
            sum += next;
            variance += sum * sum;
            variance
        });
        let variances = variances.collect();
        Self { rounds, band, variances }
    }

    /// Makes the matrix with the least error at a participation, of those with bands b and 2 b - 1, where b is the separation, up to
    /// 1024, and that band itself.
    #[must_use]
    pub fn fitted(rounds: u64, participation: Participation) -> Self {
        /// Fits by rounds, count and separation: all cells of a sweep ask for a few of them.
        static FITS: Memo<(u64, u64, u64), Banded> = Memo::new(16);
        let (rounds, Participation { count, separation }) = (rounds.max(1), participation);
        FITS.get((rounds, count, separation), || Self::best(rounds, participation))
    }

    fn best(rounds: u64, participation: Participation) -> Self {
        let separation = participation.separation;
        let most = (MOST_PRODUCTS / rounds).min(LONGEST_BAND).clamp(1, rounds);
        let mut bands =
            [separation, separation.saturating_mul(2).saturating_sub(1), most].map(|band| band.clamp(1, most)).to_vec();
        bands.dedup();
        let made = bands.into_iter().map(|band| Self::new(rounds, band));
        let error = |fit: &Self| super::columns(fit, participation) * libm::sqrt(fit.largest_variance());
        made.min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or_else(|| Self::new(rounds, 1))
    }

    /// Returns the first column of C, with its zeros.
    fn column(&self) -> Vec<f64> {
        let mut column = self.band.to_vec();
        column.resize(self.rounds as usize, 0.0);
        column
    }
}

impl Factorisation for Banded {
    fn name(&self) -> &'static str {
        "banded-toeplitz"
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        toeplitz::column_norm(&self.column(), participation)
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
        let matrix = Banded::new(rounds, band);
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

    /// Figures by an independent program on dense matrices; 7.9377, 25.147 and 11.392 without a band.
    #[test]
    fn bands_lower_the_error_of_users_who_return() {
        for (rounds, count, separation, expected) in [(1024, 4, 256, 7.744_394_927), (1024, 1, 1, 3.272_554_150)] {
            let participation = Participation { count, separation };
            let fit = Banded::fitted(rounds, participation);
            let error = fit.sensitivity(participation) * libm::sqrt(fit.largest_variance());
            assert!((error - expected).abs() < 1e-8, "{rounds} {count}: {error}");
        }
    }
}
