//! Multiplies the columns of a Toeplitz matrix so that all have the norm of the longest (Henzinger2025).
//!
//! A later round of a Toeplitz matrix has a shorter column: fewer rounds follow. Multiplied up to the longest one's norm it costs no more,
//! and what the noise gains in that round is divided by the same factor. Buffered matrices are taken for users who take part once; their rows
//! are multiplied first, and draws divided, so that the middle of the stream has less noise and its ends more. Bands
//! no longer than the separation serve users who return: their columns share no row, so that k of them have sqrt(k) times the norm of one.

use super::banded::Banded;
use super::blt::Blt;
use super::vectors::scale;
use super::{Factorisation, PrefixNoise, RowTransform, Shape};
use crate::accounting::sensitivity::Participation;
use crate::memo::Memo;
use crate::planted::{self, PlantedFault};
use std::sync::Arc;

/// A Toeplitz matrix with columns of one norm.
#[derive(Debug, Clone)]
pub struct Normalised {
    inner: Arc<dyn Factorisation>,
    /// Rounds from which on two columns share no row; that of the last round where all do.
    apart: u64,
    scales: Scales,
    /// Norm of every column.
    norm: f64,
    /// Variances of the noise on the prefixes, and the largest of them.
    variances: Arc<[f64]>,
    largest: f64,
}

/// Factors of rows and columns, round by round.
#[derive(Debug, Clone)]
struct Scales {
    /// Of rows, at most 1; none where all are 1.
    rows: Arc<[f64]>,
    /// Of columns, at least 1.
    columns: Arc<[f64]>,
}

impl Scales {
    /// Returns the scales that give columns with these squares of norms the largest one's, and that norm.
    fn of(rows: Vec<f64>, squares: &[f64]) -> (Self, f64) {
        let largest = squares.iter().copied().fold(0.0, f64::max);
        let columns = squares.iter().map(|square| libm::sqrt(largest / square)).collect();
        (Self { rows: rows.into(), columns }, libm::sqrt(largest))
    }

    fn row(&self, round: usize) -> f64 {
        self.rows.get(round).copied().unwrap_or(1.0)
    }

    fn column(&self, round: usize) -> f64 {
        self.columns.get(round).copied().unwrap_or(1.0)
    }
}

/// Returns the factors of rows, at most 1: a power of the number of rounds up to each, times one of the number from it on.
///
/// The powers are within 0.3 % of the least largest error from 2 to 2^18 rounds.
fn row_scales(rounds: u64) -> Vec<f64> {
    let log = libm::log(rounds as f64);
    let (before, after) = (1.0 / (1.9 + 0.6 * log), (0.183 + 0.305 / log).min(0.246));
    let place = |t: u64| before * libm::log((t + 1) as f64) + after * libm::log((rounds - t) as f64);
    let most = (0..rounds).map(place).fold(0.0, f64::max);
    (0..rounds).map(|t| libm::exp(place(t) - most)).collect()
}

impl Normalised {
    /// Makes the matrix for `rounds >= 1` (0 counts as 1) and a participation, in memory of four numbers a round.
    pub fn fitted(rounds: u64, participation: Participation) -> Self {
        /// Fits by rounds, count and separation: all cells of a sweep ask for a few of them.
        static FITS: Memo<(u64, u64, u64), Normalised> = Memo::new(16);
        let rounds = rounds.max(1);
        let alone = participation.is_once() || participation.separation == 0;
        let participation = if alone { Participation::ONCE } else { participation };
        FITS.get((rounds, participation.count, participation.separation), || {
            if alone {
                let blt = Blt::fitted(rounds, Participation::ONCE);
                let rows = row_scales(rounds);
                let squares = blt.column_squares(&rows);
                let (scales, norm) = Scales::of(rows, &squares);
                let variances = blt.variances_over(&scales.rows, &scales.columns);
                return Self::of(Arc::new(blt), rounds, (scales, norm), variances);
            }
            let band = Banded::within(rounds, participation);
            let squares = band.column().into_iter().scan(0.0, |sum, c| {
                *sum += c * c;
                Some(*sum)
            });
            let mut squares: Vec<f64> = squares.collect();
            squares.reverse();
            let (scales, norm) = Scales::of(Vec::new(), &squares);
            let variances = band.variances_over(&scales.columns);
            let apart = band.length();
            Self::of(Arc::new(band), apart, (scales, norm), variances)
        })
    }

    fn of(inner: Arc<dyn Factorisation>, apart: u64, (scales, norm): (Scales, f64), variances: Vec<f64>) -> Self {
        let largest = variances.iter().copied().fold(0.0, f64::max);
        Self { inner, apart, scales, norm, variances: variances.into(), largest }
    }
}

impl Factorisation for Normalised {
    fn name(&self) -> &'static str {
        "normalised-toeplitz"
    }

    fn rounds(&self) -> u64 {
        self.inner.rounds()
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        let separation = participation.separation;
        let count = participation.covered().clamp(1, self.rounds().div_ceil(separation.max(1))) as f64;
        let norm = self.norm * planted::noise_share(PlantedFault::ColumnScale);
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
        let (inner, scales) = (self.inner.noise(shape), self.scales.clone());
        Box::new(NormalisedNoise { inner, scales, round: 0, before: zeros(), prefix: zeros() })
    }

    fn transform(&self, length: usize) -> Option<Box<dyn RowTransform>> {
        let inner = self.inner.transform(length)?;
        Some(Box::new(NormalisedRows { inner, scales: self.scales.clone(), round: 0, row: Vec::new() }))
    }
}

/// Noise of a stream: the changes of the Toeplitz matrix's prefix, each over the scale of its column, from draws over the scales of rows.
#[derive(Debug)]
struct NormalisedNoise {
    inner: Box<dyn PrefixNoise>,
    scales: Scales,
    round: usize,
    /// The prefix of the Toeplitz matrix after the round before.
    before: Vec<f64>,
    prefix: Vec<f64>,
}

impl PrefixNoise for NormalisedNoise {
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64] {
        let (row, column) = (self.scales.row(self.round), self.scales.column(self.round));
        self.round += 1;
        let now = self.inner.next(&mut |out| {
            draw(out);
            scale(out, 1.0 / row);
        });
        for ((prefix, before), now) in self.prefix.iter_mut().zip(&mut self.before).zip(now) {
            *prefix += (now - *before) / column;
            *before = *now;
        }
        &self.prefix
    }

    fn state(&self) -> usize {
        self.inner.state() + 2 * self.prefix.len()
    }
}

/// Multiplies each row by the scale of its column, then by the Toeplitz matrix, and the product by the scale of the row.
#[derive(Debug)]
struct NormalisedRows {
    inner: Box<dyn RowTransform>,
    scales: Scales,
    round: usize,
    row: Vec<f64>,
}

impl RowTransform for NormalisedRows {
    fn next(&mut self, row: &[f64], out: &mut dyn FnMut(&[f64])) {
        let (of_row, of_column) = (self.scales.row(self.round), self.scales.column(self.round));
        self.round += 1;
        self.row.clear();
        self.row.extend(row.iter().map(|x| x * of_column));
        self.inner.next(&self.row, &mut |sum| out(&sum.iter().map(|x| x * of_row).collect::<Vec<_>>()));
    }

    fn fractional(&self) -> u64 {
        self.inner.fractional()
    }

    /// Bounds that of the Toeplitz matrix over rows that are longer by the largest scale of a column, and of both products: no coefficient
    /// and no scale of a row exceeds 1.
    fn rounding_error(&self, largest: f64) -> f64 {
        let largest = largest * self.scales.columns.iter().copied().fold(1.0, f64::max);
        self.inner.rounding_error(largest) + 1.02 * f64::EPSILON * largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The noise is `A F^-1 C^-1 R^-1 z`, its variances are those stated, and all columns of R C F have the norm that is stated.
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
            assert!((1.0..1.02).contains(&errors[0]) && (1.0..1.02).contains(&errors[1]), "{rounds}: {errors:?}");
        }
    }
}
