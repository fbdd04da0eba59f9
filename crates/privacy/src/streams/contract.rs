//! What every factorisation can do.

use super::{NoiseState, RowTransform};
use crate::accounting::sensitivity::Participation;
use crate::planted::{self, PlantedFault};
use privateer_numerics::rng::Stream;
use std::fmt;

/// The shape of what is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A vector of so many entries.
    Vector(usize),
    /// A symmetric matrix with so many rows, as its packed upper triangle, row by row.
    Symmetric(usize),
    /// Such a matrix, then a vector of as many entries: a matrix with one more row, without its corner.
    Bordered(usize),
}

impl Shape {
    /// Stored numbers.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Vector(n) => n,
            Self::Symmetric(n) => n * (n + 1) / 2,
            Self::Bordered(n) => n * (n + 1) / 2 + n,
        }
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Fills one draw: entries of standard deviation `sigma`, on the diagonal of a symmetric matrix `sqrt(2) sigma`. One word of
    /// the stream an entry.
    pub fn draw(self, sigma: f64, stream: &mut Stream, out: &mut [f64]) {
        stream.normals(out);
        if planted::is(PlantedFault::SharedDraw) {
            out.fill(out[0]);
        }
        let sigma = sigma * planted::noise_share(PlantedFault::StreamNoise);
        out.iter_mut().for_each(|entry| *entry *= sigma);
        if let Self::Symmetric(n) | Self::Bordered(n) = self {
            let mut at = 0;
            for row in 0..n {
                out[at] *= std::f64::consts::SQRT_2;
                at += n - row;
            }
        }
    }
}

/// A factorisation of the prefix sums of up to `rounds` rounds. All figures are for draws of variance 1 and rows that move by
/// at most 1.
pub trait Factorisation: fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Rounds that it is made for; using fewer is free.
    fn rounds(&self) -> u64;

    /// How far the transformed data moves: the largest norm of a sum of columns of C over one user's rounds. Exact for one
    /// participation; at least the truth for more.
    fn sensitivity(&self, participation: Participation) -> f64;

    /// Variance of the noise on prefix `round`, 1-based, `1 ..= rounds`.
    fn variance(&self, round: u64) -> f64;

    /// Variances of the noise on prefixes `1 ..= rounds`, in order.
    fn variances(&self) -> Vec<f64> {
        (1..=self.rounds()).map(|round| self.variance(round)).collect()
    }

    /// Noise of one stream from its first round on.
    fn noise(&self, shape: Shape) -> Box<dyn PrefixNoise>;

    /// `C x` of one stream of rows of this length; none where no exact release is made of it.
    fn transform(&self, length: usize) -> Option<Box<dyn RowTransform>> {
        let _ = length;
        None
    }
}

/// The noise of one stream.
pub trait PrefixNoise: fmt::Debug + Send {
    /// The noise on the next prefix. `draw` fills a fresh draw; every draw is used up at once or kept inside.
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64];

    /// Numbers held between rounds.
    fn state(&self) -> usize;

    /// What is held, for [`PrefixNoise::load`].
    fn save(&self) -> NoiseState;

    /// Takes up what a noise of the same factorisation and shape had saved; false, changing nothing, where it is not of its form.
    fn load(&mut self, state: NoiseState) -> bool;
}
