//! Factorises prefix sums by the square root of their matrix (Fichtenberger2023).
//!
//! The coefficients are `c_k = binom(2k, k)/4^k`. Its largest variance is the least of all Toeplitz factorisations
//! (Dvijotham2024). Every draw is stored: it serves short streams, and is the reference for the other factorisations.

use super::transform::Kept;
use super::{Factorisation, NoiseState, PrefixNoise, RowTransform, Shape};
use crate::accounting::sensitivity::Participation;
use crate::planted::{self, PlantedFault};

/// The square-root matrix over a number of rounds.
#[derive(Debug, Clone)]
pub struct SquareRoot {
    coefficients: Vec<f64>,
}

impl SquareRoot {
    /// Makes the matrix for `rounds >= 1` (0 counts as 1).
    /// Memory and time per round grow with `rounds`.
    #[must_use]
    pub fn new(rounds: u64) -> Self {
        Self { coefficients: coefficients().take(rounds.max(1) as usize).collect() }
    }
}

/// Returns `binom(2k, k)/4^k` for k = 0, 1, ….
fn coefficients() -> impl Iterator<Item = f64> {
    (1..).scan(1.0, |c, k| {
        let now = *c;
        *c *= 1.0 - 0.5 / f64::from(k);
        Some(now)
    })
}

/// Returns the least sensitivity times largest standard deviation of a Toeplitz factorisation.
/// This is the sum of `c_k²` over `rounds`.
#[must_use]
pub fn optimum(rounds: u64) -> f64 {
    coefficients().take(rounds.max(1) as usize).map(|c| c * c).sum()
}

/// Returns the norm of a sum of columns of a Toeplitz matrix.
/// The first column must be non-negative and non-increasing. Columns at the least separation, from the first on, are the worst
/// [arXiv 2405.13763, theorem 2].
pub(super) fn column_norm(first: &[f64], participation: Participation) -> f64 {
    let separation = participation.separation.max(1) as usize;
    let mut sums = vec![0.0; first.len()];
    let count = if planted::is(PlantedFault::Participations) { 1 } else { participation.count.max(1) };
    for start in (0..first.len()).step_by(separation).take(count as usize) {
        sums[start..].iter_mut().zip(first).for_each(|(sum, c)| *sum += c);
    }
    libm::sqrt(sums.iter().map(|sum| sum * sum).sum())
}

impl Factorisation for SquareRoot {
    fn name(&self) -> &'static str {
        "sqrt-toeplitz"
    }

    fn rounds(&self) -> u64 {
        self.coefficients.len() as u64
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        column_norm(&self.coefficients, participation)
    }

    fn variance(&self, round: u64) -> f64 {
        // Both factors are the same matrix.
        self.coefficients[..round as usize].iter().map(|c| c * c).sum()
    }

    fn variances(&self) -> Vec<f64> {
        let growing = self.coefficients.iter().scan(0.0, |sum, c| {
            *sum += c * c;
            Some(*sum)
        });
        growing.collect()
    }

    fn noise(&self, shape: Shape) -> Box<dyn PrefixNoise> {
        Box::new(SquareRootNoise { coefficients: self.coefficients.clone(), draws: Vec::new(), sum: vec![0.0; shape.len()] })
    }

    fn transform(&self, length: usize) -> Option<Box<dyn RowTransform>> {
        Some(Box::new(Kept::new(&self.coefficients, length)))
    }
}

#[derive(Debug)]
struct SquareRootNoise {
    coefficients: Vec<f64>,
    draws: Vec<Vec<f64>>,
    sum: Vec<f64>,
}

impl PrefixNoise for SquareRootNoise {
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64] {
        let mut fresh = vec![0.0; self.sum.len()];
        draw(&mut fresh);
        self.draws.push(fresh);
        if self.coefficients.len() < self.draws.len() {
            self.coefficients = coefficients().take(2 * self.draws.len()).collect();
        }
        self.sum.fill(0.0);
        for (past, c) in self.draws.iter().zip(self.coefficients[..self.draws.len()].iter().rev()) {
            self.sum.iter_mut().zip(past).for_each(|(sum, z)| *sum += c * z);
        }
        &self.sum
    }

    fn state(&self) -> usize {
        self.draws.len() * self.sum.len()
    }

    fn save(&self) -> NoiseState {
        NoiseState { round: self.draws.len() as u64, vectors: self.draws.clone() }
    }

    fn load(&mut self, state: NoiseState) -> bool {
        let fits = state.is_of(state.vectors.len(), self.sum.len()) && state.vectors.len() as u64 == state.round;
        if fits {
            self.draws = state.vectors;
        }
        fits
    }
}
