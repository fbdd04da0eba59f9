//! Defines the interface of every factorisation of prefix sums.

use super::RowTransform;
use super::vectors::scale;
use crate::accounting::sensitivity::Participation;
use crate::planted::{self, PlantedFault};
use privateer_numerics::rng::Stream;
use std::fmt;

/// Says what is summed, and how its entries are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A vector with this number of entries.
    Vector(usize),
    /// A symmetric matrix with this number of rows, as its packed upper triangle, row by row.
    Symmetric(usize),
    /// A symmetric matrix with this number of rows, then a vector of equal length.
    /// Together they are a matrix with one more row, without its corner.
    Bordered(usize),
    /// Several bordered matrices of one size, one after another.
    Blocks {
        /// Number of matrices.
        count: usize,
        /// Number of rows of each.
        rows: usize,
    },
}

impl Shape {
    /// Returns the number of stored entries.
    pub fn len(self) -> usize {
        match self {
            Self::Vector(n) => n,
            Self::Symmetric(n) => n * (n + 1) / 2,
            Self::Bordered(n) => n * (n + 1) / 2 + n,
            Self::Blocks { count, rows } => count * Self::Bordered(rows).len(),
        }
    }

    /// Returns whether no entry is stored.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Fills `out` with one draw, using one random-stream word per entry.
    /// Entries have standard deviation `sigma`; those on the diagonal of a symmetric matrix `sqrt(2) sigma`.
    pub fn draw(self, sigma: f64, stream: &mut Stream, out: &mut [f64]) {
        if let Self::Blocks { rows, .. } = self {
            let block = Self::Bordered(rows);
            return out.chunks_exact_mut(block.len().max(1)).for_each(|out| block.draw(sigma, stream, out));
        }
        stream.normals(out);
        as_planted(out);
        let sigma = sigma * planted::noise_share(PlantedFault::StreamNoise);
        scale(out, sigma);
        self.scale_diagonal(out, std::f64::consts::SQRT_2);
    }

    /// Adds a number to the diagonal of every symmetric matrix.
    pub(crate) fn shift_diagonal(self, entries: &mut [f64], by: f64) {
        self.each_diagonal(entries, |entry| *entry += by);
    }

    /// Multiplies the diagonal of a symmetric matrix, by `1/sqrt(2)` for coordinates in which the noise is isotropic.
    /// See erratum E7, `docs/privacy.md`.
    pub(crate) fn scale_diagonal(self, entries: &mut [f64], by: f64) {
        self.each_diagonal(entries, |entry| *entry *= by);
    }

    fn each_diagonal(self, entries: &mut [f64], change: impl Fn(&mut f64) + Copy) {
        match self {
            Self::Vector(_) => {}
            Self::Symmetric(n) | Self::Bordered(n) => {
                let mut at = 0;
                for row in 0..n {
                    change(&mut entries[at]);
                    at += n - row;
                }
            }
            Self::Blocks { rows, .. } => {
                let block = Self::Bordered(rows);
                entries.chunks_exact_mut(block.len().max(1)).for_each(|entries| block.each_diagonal(entries, change));
            }
        }
    }
}

/// Leaves draws as they are; with the planted fault all entries share one.
pub(super) fn as_planted(draws: &mut [f64]) {
    if planted::is(PlantedFault::SharedDraw) {
        draws.fill(draws[0]);
    }
}

/// Factorises the matrix of prefix sums of up to `rounds` rounds.
/// All figures are for draws of variance 1 and rows that change by at most 1.
pub trait Factorisation: fmt::Debug + Send + Sync {
    /// Returns the name.
    fn name(&self) -> &'static str;

    /// Returns the number of rounds that it is made for; a shorter stream costs nothing.
    fn rounds(&self) -> u64;

    /// Returns the largest norm of a sum of columns of C over one user's rounds.
    /// This is how much the transformed data changes: exact for one participation, an upper bound for more.
    fn sensitivity(&self, participation: Participation) -> f64;

    /// Returns the variance of the noise on prefix `round`, 1-based, `1 ..= rounds`.
    fn variance(&self, round: u64) -> f64;

    /// Returns the variances of the noise on prefixes `1 ..= rounds`, in order.
    fn variances(&self) -> Vec<f64> {
        (1..=self.rounds()).map(|round| self.variance(round)).collect()
    }

    /// Returns the largest variance on a prefix; that on the last one, unless overridden.
    fn largest_variance(&self) -> f64 {
        self.variance(self.rounds())
    }

    /// Returns the noise of one stream, from its first round on.
    fn noise(&self, shape: Shape) -> Box<dyn PrefixNoise>;

    /// Returns the transform `C x` of a stream of rows of this length.
    /// `None` if the factorisation has no exact release.
    fn transform(&self, length: usize) -> Option<Box<dyn RowTransform>> {
        let _ = length;
        None
    }
}

/// Returns the largest norm of a sum of columns, also of participations that may share a row.
pub(crate) fn columns(factorisation: &dyn Factorisation, participation: Participation) -> f64 {
    if participation.separation == 0 {
        return participation.covered() as f64 * factorisation.sensitivity(Participation::ONCE);
    }
    factorisation.sensitivity(participation)
}

/// Generates the noise of one stream.
pub trait PrefixNoise: fmt::Debug + Send {
    /// Returns the noise on the next prefix.
    /// `draw` fills a fresh draw; every draw is used at once or stored inside.
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64];

    /// Returns how many numbers are held between rounds.
    fn state(&self) -> usize;
}
