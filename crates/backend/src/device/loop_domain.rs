//! Sorts a table of features into tiles of neighbours, for lanes that play whole rounds on a device.

use super::tables::TILE;
use super::types::Precision;
use crate::cpu::order::{BlockCoordinates, BlockOrder};
use crate::scale::Scale;
use privateer_gp::features::exact::closest;
use privateer_gp::features::largest_error;
use privateer_gp::score::{Basis, FeatureTable, GramSource};
use std::sync::Arc;

/// Most visited points of a trial; a workgroup holds their factor.
pub const MOST_VISITED: usize = 128;

/// Most features of a covariance, the largest share of a prior variance that they leave, and the most multiply-adds that compare them
/// with all its entries, of which each costs as much as some features: 8 GMAC, one to two seconds.
const MOST_FEATURES: usize = 256;
const MOST_LEFT: f64 = 1e-11;
const MOST_COMPARED: usize = 1 << 34;
const ENTRY_FEATURES: usize = 24;

/// Roundings of the host's sums over visited points that count as errors of covariances.
pub const SUM_DEPTH: f64 = 24.0;

/// Points a feature, of the form of the posterior over a feature table that is followed.
const POINTS_A_FEATURE: usize = 2;

/// A table of features that all trials share, in tiles.
#[derive(Debug)]
pub struct LoopDomain {
    pub(crate) order: BlockOrder,
    /// The features that are sorted.
    pub table: Arc<FeatureTable>,
    pub(crate) scale: Scale,
    /// Largest prior variance.
    pub(crate) prior: f64,
    /// Largest part of a prior variance that no feature carries.
    pub(crate) residual: f64,
    /// Each tile's point near its middle, and a bound on the distance of the tile's points to it.
    pub(crate) centres: Vec<u32>,
    pub(crate) radii: Vec<f64>,
    /// What the host's covariances and its sums over visited points add to the errors; zeros where it has the features.
    pub(crate) apart: LoopCovariances,
}

/// Distance of the model over features from one over covariances.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoopCovariances {
    /// Bound on the error of a covariance, with the roundings of a sum over visited points.
    pub error: f64,
    /// Rounding of a weight of a visited point, relatively.
    pub rounding: f64,
}

impl LoopDomain {
    /// Sorts the points of a basis into tiles; `None` if it has no table of features, and few features do not give its covariance.
    pub fn new(basis: &Basis) -> Option<Self> {
        match basis {
            Basis::Table(table) => Some(Self::over(Arc::clone(table))),
            Basis::Gram(gram) => Self::of_covariance(gram.as_ref()),
            Basis::Own(_) => None,
        }
    }

    /// Computes features of a covariance, as many as may be compared with all its entries.
    fn of_covariance(gram: &dyn GramSource) -> Option<Self> {
        let n_pairs = gram.n_points().saturating_mul(gram.n_points()).max(1);
        let most = (MOST_COMPARED / n_pairs).saturating_sub(ENTRY_FEATURES).min(MOST_FEATURES);
        // A covariance of zeros has no features.
        let table = closest(gram, MOST_LEFT, most).filter(|table| 0 < table.n_features)?;
        let error = largest_error(&table, gram);
        Some(Self::of_features(table, error))
    }

    /// Sorts features of a covariance that are off by `error` at most.
    pub fn of_features(table: FeatureTable, error: f64) -> Self {
        // What the features leave is an error of both variances and covariances.
        let table = Arc::new(FeatureTable { residual: vec![0.0; table.n_points], ..table });
        let mut domain = Self::over(table);
        let rounding = Precision::F64.unit();
        domain.apart = LoopCovariances { error: error + SUM_DEPTH * rounding * domain.prior, rounding };
        domain
    }

    fn over(table: Arc<FeatureTable>) -> Self {
        let scale = Scale::of(&Basis::Table(Arc::clone(&table)));
        let order = BlockOrder::halved(table.n_points, TILE, BlockCoordinates::of(&table));
        let prior = scale.prior.iter().copied().fold(0.0, f64::max) * (1.0 + scale.prior_error);
        let residual = scale.residual.iter().copied().fold(0.0, f64::max);
        let apart = LoopCovariances::default();
        let mut domain = Self { order, table, scale, prior, residual, centres: Vec::new(), radii: Vec::new(), apart };
        for tile in 0..domain.order.n_blocks() {
            let (centre, radius) = domain.centre(tile);
            domain.centres.push(centre);
            domain.radii.push(radius);
        }
        domain
    }

    /// Returns the most visited points of a trial whose model is followed.
    pub fn most_points(&self) -> usize {
        if 0.0 < self.apart.rounding { MOST_VISITED } else { POINTS_A_FEATURE * self.table.n_features }
    }

    /// Returns the point of a tile in whose neighbourhood the others lie, among a few, and their largest distance.
    fn centre(&self, tile: usize) -> (u32, f64) {
        let points = self.points(tile);
        let radius = |centre: u32| {
            let own = self.inside(centre);
            let square = |(&point, shared): (&u32, f64)| {
                let other = self.inside(point);
                // Three values, each with a rounding error relative to the two largest.
                (own + other - 2.0 * shared).max(0.0) + 4.0 * self.depth() * f64::EPSILON * (own + other)
            };
            points.iter().zip(self.covariances(points, centre)).map(square).fold(0.0, f64::max).sqrt()
        };
        let tried = points.iter().step_by(8).map(|&centre| (centre, radius(centre)));
        tried.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::INFINITY))
    }

    /// Returns the points of a tile, in the order of their indices.
    pub(crate) fn points(&self, tile: usize) -> &[u32] {
        &self.order.points[tile * TILE..][..TILE]
    }

    /// Returns the prior variance of a point that features carry.
    pub(crate) fn inside(&self, point: u32) -> f64 {
        self.scale.prior[point as usize] - self.scale.residual(point as usize)
    }

    /// Returns how many roundings a term of a product of features goes through.
    pub(crate) fn depth(&self) -> f64 {
        (self.table.n_features / 4 + 4) as f64
    }

    /// Returns the prior covariances of a point with others.
    pub(crate) fn covariances(&self, others: &[u32], point: u32) -> Vec<f64> {
        let own = &*self.table.row(point as usize);
        others.iter().map(|&other| product(&self.table.row(other as usize), own)).collect()
    }
}

/// What a graphics card holds of a domain.
impl LoopDomain {
    /// Returns the number of points.
    pub fn n_points(&self) -> usize {
        self.scale.prior.len()
    }

    /// Returns the number of tiles.
    pub fn n_tiles(&self) -> usize {
        self.centres.len()
    }

    /// Returns the place of a point in the order of the tiles.
    pub fn position(&self, point: u32) -> u32 {
        self.order.places.get(point as usize).map_or(0, |&(tile, at)| tile * TILE as u32 + at)
    }

    /// Returns the point at a place in the order of the tiles.
    pub fn point(&self, position: u32) -> Option<u32> {
        self.order.points.get(position as usize).copied()
    }

    /// Returns values of the points in the order of the tiles; the last tile repeats its last point.
    pub fn tiled(&self, values: &[f64]) -> Vec<f64> {
        self.order.points.iter().map(|&point| values[point as usize]).collect()
    }

    /// Returns the features, tile by tile: features x [`TILE`] points; zeros fill up to a multiple of four features.
    pub fn tiled_features(&self) -> Vec<f64> {
        let table = &self.table;
        let mut tiled = Vec::with_capacity(self.order.points.len() * table.n_features);
        for points in self.order.points.chunks_exact(TILE) {
            let rows: Vec<_> = points.iter().map(|&point| table.row(point as usize)).collect();
            let columns = 0..table.n_features.next_multiple_of(4);
            columns.for_each(|j| tiled.extend(rows.iter().map(|row| row.get(j).copied().unwrap_or(0.0))));
        }
        tiled
    }

    /// Returns what a device holds besides features: eight constants; radius, position of the centre and largest prior
    /// deviation of each tile; prior, residual and index of each position.
    pub fn constants(&self) -> Vec<f64> {
        let LoopCovariances { error, rounding } = self.apart;
        let mut constants = vec![self.prior, self.residual, self.depth(), self.scale.prior_error, error, rounding, 0.0, 0.0];
        constants.extend(&self.radii);
        constants.extend(self.centres.iter().map(|&centre| f64::from(self.position(centre))));
        let prior = self.tiled(&self.scale.prior);
        constants.extend(prior.chunks_exact(TILE).map(|tile| tile.iter().copied().fold(0.0, f64::max).sqrt()));
        constants.extend(prior);
        constants.extend(self.order.points.iter().map(|&point| self.scale.residual(point as usize)));
        constants.extend(self.order.points.iter().map(|&point| f64::from(point)));
        constants
    }
}

/// Returns the sum of products of two slices, in four partial sums as a shader has them; the shorter one counts.
pub fn product(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let mut sums = [0.0; 4];
    for (i, (a, b)) in a[..n].iter().zip(&b[..n]).enumerate() {
        sums[i % 4] += a * b;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
