//! Gaussian noise on every row of a data set: images that a curator gives out for real. Proof: `docs/proofs/discrete.md`, with one row
//! in the place of the vector.

use super::discrete;
use super::entropy::{Entropy, Words};
use super::grid::Grid;
use super::outcome::{Release, ReleaseError, ReleaseLedger};
use crate::privacy::accounting::{Composition, Loss};
use crate::privacy::{Delta, Epsilon, Provenance, Raw, gdp_mu};

/// A calibrated release of rows. Used up by the release: a budget is spent once.
#[derive(Debug)]
pub struct RowsRelease {
    grid: Grid,
    bound: f64,
    dimension: usize,
    ledger: ReleaseLedger,
}

/// Released rows, and how many of the rows behind them lay beyond the bound: that number is about the raw data, for the curator
/// alone.
#[derive(Debug)]
pub struct ReleasedRows {
    /// `n_rows x dimension`, row-major, in the order of the rows.
    pub rows: Release<Vec<f64>>,
    /// Rows that were moved to the bound. Not to be published.
    pub moved: usize,
}

impl RowsRelease {
    /// For rows of `dimension >= 1` numbers, moved to L2 norm `bound > 0` where they are longer; neighbours differ in one row, by at most
    /// `radius > 0` (beyond twice the bound all of it is covered).
    ///
    /// # Errors
    /// Sizes that exact arithmetic does not hold.
    pub fn calibrated(epsilon: Epsilon, delta: Delta, radius: f64, bound: f64, dimension: usize) -> Result<Self, ReleaseError> {
        let positive = |x: f64| x.is_finite() && 0.0 < x;
        if !positive(radius) || !positive(bound) || dimension == 0 || 1e6 < dimension as f64 {
            return Err(ReleaseError::Range(format!("radius {radius}, bound {bound} and {dimension} numbers a row")));
        }
        let mu = gdp_mu(epsilon, delta);
        // Moving rows to the bound moves no two of them apart, and leaves none further than two bounds from another.
        let distance = radius.min(2.0 * bound);
        // sigma = (D + g sqrt(dimension)) sigma_AG: rounding moves the one row by at most g/2 in every entry on either side.
        let grid = Grid::new(distance, 1.0 / mu, libm::sqrt(dimension as f64), 19)?;
        if discrete::GREATEST_SIGMA < grid.noise || (1u64 << 62) as f64 * grid.step < 4.0 * bound {
            return Err(ReleaseError::Range(format!("noise of {} steps on rows of norm {bound}", grid.noise)));
        }
        let ledger = ReleaseLedger {
            mechanism: "discrete-gaussian-rows",
            protects: "one row of the inputs; not outputs, and not which rows are asked for".to_owned(),
            neighbours: format!(
                "data sets that differ in one row, by at most {radius} (L2); rows moved to L2 norm {bound}; number and order public"
            ),
            participations: 1,
            epsilon: epsilon.get(),
            delta: delta.get(),
            noise: format!("discrete Gaussian of {} steps", grid.noise),
            grid: Some(grid.step),
            composition: Composition::of(Loss::Gaussian { mu }),
            provenance: Provenance::Released,
        };
        Ok(Self { grid, bound, dimension, ledger })
    }

    /// Standard deviation of the noise in each number of a row; public.
    #[must_use]
    pub fn sigma(&self) -> f64 {
        self.grid.noise as f64 * self.grid.step
    }

    /// What it will promise.
    #[must_use]
    pub fn ledger(&self) -> &ReleaseLedger {
        &self.ledger
    }

    /// Moves rows to the bound, rounds, adds exact noise.
    ///
    /// # Errors
    /// Numbers that do not fill rows or are not finite; no entropy.
    pub fn release(self, rows: Raw<Vec<f64>>) -> Result<ReleasedRows, ReleaseError> {
        let (value, moved) = self.noised(rows.open(), &mut Entropy::fresh()?)?;
        Ok(ReleasedRows { rows: Release::new(value, self.ledger), moved })
    }

    pub(super) fn noised(&self, mut rows: Vec<f64>, words: &mut impl Words) -> Result<(Vec<f64>, usize), ReleaseError> {
        if rows.is_empty() || !rows.len().is_multiple_of(self.dimension) {
            return Err(ReleaseError::Length { expected: self.dimension });
        }
        // Refused before any row is moved: a clip passes NaN on.
        if rows.iter().any(|entry| !entry.is_finite()) {
            return Err(ReleaseError::NotFinite);
        }
        let mut moved = 0;
        for row in rows.chunks_exact_mut(self.dimension) {
            moved += usize::from(shorten(row, self.bound));
            for entry in row {
                *entry = self.grid.value(self.grid.steps(*entry) + discrete::gaussian(self.grid.noise, words));
            }
        }
        Ok((rows, moved))
    }
}

/// Moves a row to norm `bound` if it is longer; whether it was.
fn shorten(row: &mut [f64], bound: f64) -> bool {
    // The largest entry first, so that no square overflows.
    let largest = row.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    if largest == 0.0 {
        return false;
    }
    let shape: f64 = row.iter().map(|entry| (entry / largest) * (entry / largest)).sum();
    let shrink = bound / largest / libm::sqrt(shape);
    if shrink < 1.0 {
        row.iter_mut().for_each(|entry| *entry *= shrink);
    }
    shrink < 1.0
}
