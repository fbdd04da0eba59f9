//! Multiplies the columns of a Toeplitz matrix so that all have the norm of the first (Henzinger2025).
//!
//! A later round of a Toeplitz matrix has a shorter column: fewer rounds follow. Multiplied up to the first one's norm it costs no more,
//! and what the noise gains in that round is divided by the same factor. Buffered matrices are taken for users who take part once, bands
//! no longer than the separation for users who return: their columns share no row, so that k of them have sqrt(k) times the norm of one.

use super::banded::Banded;
use super::blt::Blt;
use super::{Factorisation, PrefixNoise, RowTransform, Shape};
use crate::accounting::sensitivity::Participation;
use crate::memo::Memo;
use std::sync::Arc;

/// A Toeplitz matrix with columns of one norm.
#[derive(Debug, Clone)]
pub struct Normalised {
    inner: Arc<dyn Factorisation>,
    /// Rounds from which on two columns share no row; that of the last round where all do.
    apart: u64,
    /// What the column of each round is multiplied by: from 1 on, rising.
    factors: Arc<[f64]>,
    /// Variances of the noise on the prefixes, and the largest of them.
    variances: Arc<[f64]>,
    largest: f64,
}

impl Normalised {
    /// Makes the matrix for `rounds >= 1` (0 counts as 1) and a participation, in memory of three numbers a round.
    #[must_use]
    pub fn fitted(rounds: u64, participation: Participation) -> Self {
        /// Fits by rounds, count and separation: all cells of a sweep ask for a few of them.
        static FITS: Memo<(u64, u64, u64), Normalised> = Memo::new(16);
        let rounds = rounds.max(1);
        let alone = participation.is_once() || participation.separation == 0;
        let participation = if alone { Participation::ONCE } else { participation };
        FITS.get((rounds, participation.count, participation.separation), || {
            if alone {
                let blt = Blt::fitted(rounds, Participation::ONCE);
                let factors = factors(blt.column());
                let variances = blt.variances_over(&factors);
                return Self::of(Arc::new(blt), rounds, factors, variances);
            }
            let band = Banded::within(rounds, participation);
            let factors = factors(band.column().into_iter());
            let variances = band.variances_over(&factors);
            let apart = band.length();
            Self::of(Arc::new(band), apart, factors, variances)
        })
    }

    fn of(inner: Arc<dyn Factorisation>, apart: u64, factors: Vec<f64>, variances: Vec<f64>) -> Self {
        let largest = variances.iter().copied().fold(0.0, f64::max);
        Self { inner, apart, factors: factors.into(), variances: variances.into(), largest }
    }
}

/// Returns the norm of the first column over that of each round's, which has as many entries as rounds are left.
fn factors(column: impl Iterator<Item = f64>) -> Vec<f64> {
    let squares = column.scan(0.0, |sum, c| {
        *sum += c * c;
        Some(*sum)
    });
    let squares: Vec<f64> = squares.collect();
    let whole = squares.last().copied().unwrap_or(1.0);
    squares.iter().rev().map(|part| libm::sqrt(whole / part)).collect()
}

impl Factorisation for Normalised {
    fn name(&self) -> &'static str {
        "normalised-toeplitz"
    }

    fn rounds(&self) -> u64 {
        self.inner.rounds()
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        let norm = self.inner.sensitivity(Participation::ONCE);
        let separation = participation.separation;
        let count = participation.covered().clamp(1, self.rounds().div_ceil(separation.max(1))) as f64;
        norm * if self.apart <= separation { libm::sqrt(count) } else { count }
    }

    fn variance(&self, round: u64) -> f64 {
        self.variances[round.clamp(1, self.rounds()) as usize - 1]
    }

    fn largest_variance(&self) -> f64 {
        self.largest
    }

    fn noise(&self, shape: Shape) -> Box<dyn PrefixNoise> {
        let zeros = || vec![0.0; shape.len()];
        let (inner, factors) = (self.inner.noise(shape), Arc::clone(&self.factors));
        Box::new(NormalisedNoise { inner, factors, round: 0, before: zeros(), prefix: zeros() })
    }

    fn transform(&self, length: usize) -> Option<Box<dyn RowTransform>> {
        let inner = self.inner.transform(length)?;
        Some(Box::new(NormalisedRows { inner, factors: Arc::clone(&self.factors), round: 0, row: Vec::new() }))
    }
}

/// Noise of a stream: what the prefix of the Toeplitz matrix gains in a round, over the factor of that round.
#[derive(Debug)]
struct NormalisedNoise {
    inner: Box<dyn PrefixNoise>,
    factors: Arc<[f64]>,
    round: usize,
    /// The prefix of the Toeplitz matrix after the round before.
    before: Vec<f64>,
    prefix: Vec<f64>,
}

impl PrefixNoise for NormalisedNoise {
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64] {
        let factor = self.factors.get(self.round).copied().unwrap_or(1.0);
        self.round += 1;
        let now = self.inner.next(draw);
        for ((prefix, before), now) in self.prefix.iter_mut().zip(&mut self.before).zip(now) {
            *prefix += (now - *before) / factor;
            *before = *now;
        }
        &self.prefix
    }

    fn state(&self) -> usize {
        self.inner.state() + 2 * self.prefix.len()
    }
}

/// Multiplies each row by its round's factor before the Toeplitz matrix takes it.
#[derive(Debug)]
struct NormalisedRows {
    inner: Box<dyn RowTransform>,
    factors: Arc<[f64]>,
    round: usize,
    row: Vec<f64>,
}

impl RowTransform for NormalisedRows {
    fn next(&mut self, row: &[f64], out: &mut dyn FnMut(&[f64])) {
        let factor = self.factors.get(self.round).copied().unwrap_or(1.0);
        self.round += 1;
        self.row.clear();
        self.row.extend(row.iter().map(|x| x * factor));
        self.inner.next(&self.row, out);
    }

    fn fractional(&self) -> u64 {
        self.inner.fractional()
    }

    /// Bounds that of the Toeplitz matrix over rows that are longer by the last factor, and of the products: no coefficient exceeds 1.
    fn rounding_error(&self, largest: f64) -> f64 {
        let largest = largest * self.factors.last().copied().unwrap_or(1.0);
        self.inner.rounding_error(largest) + 0.51 * f64::EPSILON * largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The noise is `A F^-1 C^-1 z`, its variances are those stated, and all columns of C F have the norm that is stated.
    #[test]
    fn columns_have_one_norm_and_variances_are_those_of_the_noise() {
        for participation in [Participation::ONCE, Participation { count: 3, separation: 9 }] {
            let (rounds, matrix) = (30, Normalised::fitted(30, participation));
            let mut squares = vec![0.0; rounds];
            let mut norms = Vec::new();
            for at in 0..rounds {
                let (mut noise, mut rows, mut drawn) = (matrix.noise(Shape::Vector(1)), matrix.transform(1).expect("exact"), 0);
                let mut norm = 0.0;
                for (round, square) in squares.iter_mut().enumerate() {
                    let prefix = noise.next(&mut |out| {
                        out[0] = f64::from(u8::from(drawn == at));
                        drawn += 1;
                    })[0];
                    *square += prefix * prefix;
                    rows.next(&[f64::from(u8::from(round == at))], &mut |row| norm += row[0] * row[0]);
                }
                norms.push(f64::sqrt(norm));
            }
            let stated = matrix.sensitivity(Participation::ONCE);
            assert!(norms.iter().all(|norm| (norm / stated - 1.0).abs() < 1e-12), "{norms:?} {stated}");
            assert!((matrix.sensitivity(participation) / stated - (participation.count as f64).sqrt()).abs() < 1e-12);
            for (square, variance) in squares.iter().zip(matrix.variances()) {
                assert!((square / variance - 1.0).abs() < 1e-11, "{square} {variance}");
            }
        }
    }

    /// Largest and root-mean-square error over the least of all matrices (`tests/answers/columns-of-one-norm/best.py`).
    #[test]
    fn errors_are_near_the_least_of_all_matrices() {
        for (rounds, largest, rms) in [(64, 2.111_38, 2.099_87), (128, 2.320_81, 2.311_02)] {
            let matrix = Normalised::fitted(rounds, Participation::ONCE);
            let norm = matrix.sensitivity(Participation::ONCE);
            let mean = matrix.variances().iter().sum::<f64>() / rounds as f64;
            let errors = [norm * matrix.largest_variance().sqrt() / largest, norm * mean.sqrt() / rms];
            assert!((1.0..1.06).contains(&errors[0]) && (1.0..1.03).contains(&errors[1]), "{rounds}: {errors:?}");
        }
    }
}
