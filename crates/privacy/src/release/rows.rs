//! Adds Gaussian noise to every row of a data set, after an optional public projection.
//!
//! The projection reduces the number of columns. The result is what a curator releases of real inputs. Proof:
//! `docs/proofs/rows.md`.

use super::{Release, ReleaseError, ReleaseLedger};
use crate::accounting::{Composition, Loss};
use crate::curator::{largest_singular_value, product, public_projection};
use crate::noise::{Entropy, GREATEST_SIGMA, Grid, SamplerLaw};
use crate::planted::{self, PlantedFault};
use crate::{Delta, Epsilon, Provenance, RadiusUnits, Raw, ThreatModel, gdp_mu};
use serde::{Deserialize, Serialize};

/// Largest bound in units of the radius, at which f64 still holds the radius to eight digits.
pub const MOST_BOUND: f64 = 1e8;

/// Holds a calibrated release of rows; the release consumes it, so that a budget is spent once.
#[derive(Debug)]
pub struct RowsRelease {
    grid: Grid,
    bound: f64,
    dimension: usize,
    projection: Option<PublicProjection>,
    ledger: ReleaseLedger,
}

/// Holds a public projection matrix: orthogonal columns of length `sqrt(dimension/columns)`.
/// Squared distances are kept on average.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublicProjection {
    /// Numbers per row.
    pub dimension: usize,
    /// Numbers per released row.
    pub columns: usize,
    /// Seed of the columns; it is public, and must be chosen independently of the data.
    pub seed: u64,
    /// `dimension x columns`, row-major.
    pub matrix: Vec<f64>,
    /// Bound on the largest singular value, the most by which a difference of rows is stretched.
    pub stretch: f64,
}

impl PublicProjection {
    /// Draws a projection from `dimension` to `columns` numbers, `1 <= columns <= dimension`.
    /// A seed gives the same matrix on every machine.
    pub fn new(dimension: usize, columns: usize, seed: u64) -> Self {
        let matrix = public_projection(dimension, columns, seed);
        let stretch = largest_singular_value(&matrix, dimension, columns);
        Self { dimension, columns, seed, matrix, stretch }
    }
}

/// Holds released rows, and how many rows exceeded the bound.
/// That number depends on the raw data and is for the curator only.
#[derive(Debug)]
pub struct ReleasedRows {
    /// `n_rows x dimension` (or the projection's columns), row-major, in the order of the rows.
    pub rows: Release<Vec<f64>>,
    /// Rows that were moved to the bound; must not be published.
    pub moved: usize,
}

impl RowsRelease {
    /// Calibrates for rows of `dimension >= 1` numbers and neighbours within `radius > 0`.
    ///
    /// Rows longer than `bound > 0` are moved to that L2 norm. Neighbours differ in one row, by at most `radius`; a radius
    /// beyond twice the bound covers any change of a row.
    ///
    /// # Errors
    /// Sizes beyond exact arithmetic.
    pub fn calibrated(epsilon: Epsilon, delta: Delta, radius: f64, bound: f64, dimension: usize) -> Result<Self, ReleaseError> {
        Self::made((epsilon, delta), radius, bound, dimension, None)
    }

    /// Calibrates for rows that a public projection maps to `columns <= dimension` numbers.
    ///
    /// Rows are moved to the bound, then projected by the matrix of the seed. Radius and bound refer to the rows before the
    /// projection.
    ///
    /// # Errors
    /// Those of [`RowsRelease::calibrated`]; zero columns, or more columns than a row has numbers.
    pub fn projected(
        budget: (Epsilon, Delta),
        radius: f64,
        bound: f64,
        dimension: usize,
        (columns, seed): (usize, u64),
    ) -> Result<Self, ReleaseError> {
        if columns == 0 || dimension < columns || 1e6 < dimension as f64 * columns as f64 {
            return Err(ReleaseError::Range(format!("a projection of {dimension} numbers to {columns}")));
        }
        Self::made(budget, radius, bound, dimension, Some(PublicProjection::new(dimension, columns, seed)))
    }

    fn made(
        (epsilon, delta): (Epsilon, Delta),
        radius: f64,
        bound: f64,
        dimension: usize,
        projection: Option<PublicProjection>,
    ) -> Result<Self, ReleaseError> {
        let positive = |x: f64| x.is_finite() && 0.0 < x;
        if !positive(radius) || !positive(bound) || dimension == 0 || 1e6 < dimension as f64 {
            return Err(ReleaseError::Range(format!("radius {radius}, bound {bound} and {dimension} numbers a row")));
        }
        if MOST_BOUND * radius < bound {
            return Err(ReleaseError::Range(format!(
                "a bound of {:e} times the radius (at most {MOST_BOUND:e})",
                bound / radius
            )));
        }
        let mu = gdp_mu(epsilon, delta);
        let (stretch, columns) = projection.as_ref().map_or((1.0, dimension), |map| (map.stretch, map.columns));
        // Moving rows to the bound increases no distance between rows, and leaves no two rows more than two bounds apart.
        let share = if planted::is(PlantedFault::HalfRadius) { 0.5 } else { 1.0 };
        let distance = radius.min(2.0 * bound) * stretch * share;
        // Shortening and projecting rows in f64 moves each of two neighbours by at most this share of the distance.
        let products = if projection.is_some() { libm::sqrt(columns as f64) } else { 1.0 };
        let off = f64::EPSILON * (dimension as f64 + 8.0) * products * (bound / radius).max(1.0);
        // The grid's margin covers a tenth of a millionth.
        let distance = if off < 1e-7 { distance } else { distance * (1.0 + 2.0 * off) };
        // sigma = (D + g sqrt(columns)) sigma_AG: rounding moves the row in either of two neighbours by at most g/2 in every
        // entry.
        let grid = Grid::new(distance, 1.0 / mu, libm::sqrt(columns as f64), 19)?;
        if GREATEST_SIGMA < grid.noise || (1u64 << 62) as f64 * grid.step < 4.0 * bound * stretch {
            return Err(ReleaseError::Range(format!("noise of {} steps on rows of norm {bound}", grid.noise)));
        }
        let behind = if projection.is_some() { ", behind a public projection" } else { "" };
        let ledger = ReleaseLedger {
            mechanism: "discrete-gaussian-rows".to_owned(),
            threat_model: ThreatModel::row(radius, RadiusUnits::Released),
            epsilon: epsilon.get(),
            delta: delta.get(),
            noise: format!("discrete Gaussian of {} steps on rows moved to L2 norm {bound}{behind}", grid.noise),
            grid: Some(grid.step),
            composition: Composition::of(Loss::Gaussian { mu }),
            provenance: Provenance::Released,
        };
        Ok(Self { grid, bound, dimension, projection, ledger })
    }

    /// Returns the standard deviation of the noise in each number of a row; public.
    pub fn sigma(&self) -> f64 {
        self.grid.noise as f64 * self.grid.step
    }

    /// Returns the ledger that the release will carry.
    pub fn ledger(&self) -> &ReleaseLedger {
        &self.ledger
    }

    /// Returns the projection applied to the rows; public.
    pub fn projection(&self) -> Option<&PublicProjection> {
        self.projection.as_ref()
    }

    /// Returns what the exact sampler is given.
    pub fn laws(&self) -> Vec<SamplerLaw> {
        vec![self.grid.gaussian_law()]
    }

    /// Moves rows to the bound, projects and rounds them, and adds exact noise.
    ///
    /// # Errors
    /// A length that is not a multiple of the dimension, numbers that are not finite; no entropy.
    pub fn release(self, rows: Raw<Vec<f64>>) -> Result<ReleasedRows, ReleaseError> {
        let (value, moved) = self.noised(rows.open(), &mut Entropy::fresh()?)?;
        Ok(ReleasedRows { rows: Release::new(value, self.ledger), moved })
    }

    pub(super) fn noised(&self, mut rows: Vec<f64>, entropy: &mut Entropy) -> Result<(Vec<f64>, usize), ReleaseError> {
        if rows.is_empty() || !rows.len().is_multiple_of(self.dimension) {
            return Err(ReleaseError::Length { expected: self.dimension });
        }
        // Checked before any row is moved, because a clip would pass NaN on.
        if rows.iter().any(|entry| !entry.is_finite()) {
            return Err(ReleaseError::NotFinite);
        }
        let moved = rows.chunks_exact_mut(self.dimension).map(|row| usize::from(shorten(row, self.bound))).sum();
        if let Some(PublicProjection { dimension, columns, matrix, .. }) = &self.projection {
            rows = product(&rows, matrix, *dimension, *columns);
        }
        for entry in &mut rows {
            *entry = self.grid.add_gaussian(*entry, entropy);
        }
        Ok((rows, moved))
    }
}

/// Moves a row to norm `bound` if it is longer, and returns whether it was longer.
fn shorten(row: &mut [f64], bound: f64) -> bool {
    // Divides by the largest entry first, so that no square overflows.
    let largest = row.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    if largest == 0.0 {
        return false;
    }
    let shape: f64 = row.iter().map(|entry| (entry / largest) * (entry / largest)).sum();
    let shrink = bound / largest / libm::sqrt(shape);
    if shrink < 1.0 && !planted::is(PlantedFault::RowClip) {
        row.iter_mut().for_each(|entry| *entry *= shrink);
    }
    shrink < 1.0
}
