//! Holds the blocks of neighbouring points, their reference points and their radii.
//!
//! Trials over a common basis share them; a trial over inputs of its own has its own.

use super::covariance::{Covariance, Entries};
use super::formula::Formula;
use super::interpolation::InterpolationGrid;
use super::lattice::{Lattice, ReferenceBounds};
use super::order::{BlockCoordinates, BlockOrder, SMALL_SIZE};
use super::source::Source;
use crate::scale::Scale;
use privateer_gp::score::{FeatureTable, GramSource};
use privateer_numerics::linalg::{add_scaled, dot};
use std::sync::Arc;

/// Data of block pruning that trials share.
#[derive(Debug)]
pub struct Blocks {
    pub order: BlockOrder,
    pub source: Covariance,
    /// Term added to the covariance of a point with itself.
    pub row_term: f64,
    /// Points where means are kept exactly, and posterior variances too where they are corners.
    pub by_reference: ReferenceBounds,
    /// Bounds to ask for before a block is scored; for features over a plane.
    pub checks: Option<Arc<InterpolationGrid>>,
    /// `n_blocks x size`: prior variances.
    pub prior: Vec<f64>,
    /// Relative rounding error of `prior`.
    pub prior_error: f64,
    /// Largest prior standard deviation of each block.
    pub widest: Vec<f64>,
    /// Largest norm `|phi|` of a feature vector.
    pub norm: f64,
}

/// Returns each block's point nearest to its mean, and a bound on the distance of its points to it.
fn centres(table: &FeatureTable, order: &BlockOrder) -> (Vec<u32>, Vec<f64>) {
    let m = table.n_features;
    let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let (mut centres, mut radii) = (Vec::new(), Vec::new());
    for block in order.points.chunks_exact(order.size) {
        let rows: Vec<_> = block.iter().map(|&point| table.row(point as usize)).collect();
        let mut middle = vec![0.0; m];
        for row in &rows {
            middle.iter_mut().zip(&**row).for_each(|(sum, x)| *sum += x / order.size as f64);
        }
        let from_middle = |&at: &usize| square(&middle, &rows[at]);
        let at = (0..rows.len()).min_by(|a, b| from_middle(a).total_cmp(&from_middle(b))).unwrap_or(0);
        let most = rows.iter().map(|row| square(&rows[at], row)).fold(0.0, f64::max);
        let centre = block[at];
        centres.push(centre);
        // Relative rounding of the differences and squares, and of a sum of m terms.
        radii.push(most.sqrt() * (1.0 + 4.0 * (m as f64 + 4.0) * f64::EPSILON));
    }
    (centres, radii)
}

impl Blocks {
    pub fn of(table: &Arc<FeatureTable>, scale: &Scale) -> Self {
        let n = table.n_points;
        let coordinates = BlockCoordinates::of(table);
        let (order, source, by_reference, checks) = match Self::by_lattice(table, coordinates, scale) {
            Some((order, source, by_reference)) => {
                let checks = InterpolationGrid::of_table(table, &order, &source);
                (order, source, by_reference, checks.map(Arc::new))
            }
            None => {
                let order = BlockOrder::halved(n, BlockOrder::size_for(n), coordinates);
                let (centres, radii) = centres(table, &order);
                let mut source = Source::of(table, &order, scale.norm);
                source.reference_point_at_points(&centres);
                (order, source, ReferenceBounds::centres(radii), None)
            }
        };
        let prior: Vec<f64> = order.points.iter().map(|&point| scale.prior[point as usize]).collect();
        let source = Covariance::Features(source);
        Self { checks, ..Self::made(order, source, by_reference, 0.0, prior, scale.prior_error, scale.norm) }
    }

    /// Cuts strips of blocks with corners; `None` unless features are a product over two axes.
    ///
    /// The features must also carry all of the prior variance (no residual).
    fn by_lattice(
        table: &Arc<FeatureTable>,
        plane: BlockCoordinates<'_>,
        scale: &Scale,
    ) -> Option<(BlockOrder, Source, ReferenceBounds)> {
        let form = table.form.as_ref().filter(|form| form.dimension == 2)?;
        if !BlockOrder::is_large(table.n_points) || scale.residual.iter().any(|residual| *residual != 0.0) {
            return None;
        }
        let m = table.n_features;
        let all: Vec<u32> = (0..table.n_points as u32).collect();
        let range = plane.range(&all);
        let order = BlockOrder::in_strips(all, SMALL_SIZE, plane, &range);
        let lattice = Lattice::of(&order, &form.points)?;
        let mut source = Source::of(table, &order, scale.norm);
        let features = source.reference_point_at(&lattice)?;
        let of = |reference_point: usize| &features[reference_point * m..][..m];
        let prior: Vec<f64> =
            (0..lattice.reference_points.n).map(|reference_point| dot(of(reference_point), of(reference_point))).collect();
        if prior.iter().any(|prior| scale.norm * scale.norm * (1.0 + 1e-9) < *prior) {
            return None;
        }
        let mut radii = vec![0.0; order.n_blocks()];
        let mut rest = vec![0.0; m];
        lattice.each(&order, &form.points, |block, corners| {
            let points = &order.points[block * order.size..];
            for (&point, weights) in points.iter().zip(&corners.weights) {
                rest.copy_from_slice(&table.row(point as usize));
                for (&reference_point, &weight) in corners.reference_points.iter().zip(weights) {
                    add_scaled(&mut rest, -weight, of(reference_point));
                }
                radii[block] = dot(&rest, &rest).max(radii[block]);
            }
        });
        // Relative rounding of the sums, over the features of four reference points and of a point.
        let rounded = 16.0 * (m as f64 + 8.0) * f64::EPSILON * scale.norm;
        radii.iter_mut().for_each(|radius| *radius = radius.sqrt() * (1.0 + 1e-9) + rounded);
        Some((order, source, ReferenceBounds { reference_points: lattice.reference_points, radii, prior }))
    }

    /// Builds the blocks of a covariance over a domain.
    ///
    /// With `own`, one trial alone uses the blocks and no lattice is built, because a lattice's radii cost four kernel
    /// values a point.
    pub fn of_gram(gram: &Arc<dyn GramSource>, own: bool) -> Self {
        let n = gram.n_points();
        let size = BlockOrder::size_for(n);
        let form = gram.form().filter(|form| 0 < form.dimension && form.points.len() == n * form.dimension);
        let (order, source, by_reference, row_term, prior) = match form {
            Some(form) => {
                let coordinates = BlockCoordinates { values: &form.points, stride: form.dimension, axes: form.dimension };
                let all: Vec<u32> = (0..n as u32).collect();
                let range = coordinates.range(&all);
                let order = if own {
                    BlockOrder { strips: None, ..BlockOrder::in_strips(all, size, coordinates, &range) }
                } else if form.dimension == 2 && BlockOrder::is_large(n) {
                    BlockOrder::in_strips(all, SMALL_SIZE, coordinates, &range)
                } else {
                    BlockOrder::halved(n, size, coordinates)
                };
                let (formula, by_reference) = Formula::of(&form, &order, &range);
                let mut prior = formula.diagonals(&order.points);
                prior.iter_mut().for_each(|prior| *prior += form.row_term);
                (order, Covariance::Formula(formula), by_reference, form.row_term, prior)
            }
            None => {
                let order = BlockOrder::as_given(n, size);
                let prior: Vec<f64> = order.points.iter().map(|&point| gram.diagonal(point as usize)).collect();
                let centres: Vec<u32> = order.points.chunks_exact(order.size).map(|block| block[block.len() / 2]).collect();
                let radius = |(block, centre): (&[u32], &u32)| {
                    let own = gram.diagonal(*centre as usize);
                    let square = |&x: &u32| {
                        let shared = gram.entry(*centre as usize, x as usize);
                        let diagonal = gram.diagonal(x as usize);
                        // Three values, each with a rounding error relative to the two largest.
                        (diagonal + own - 2.0 * shared).max(0.0) + 16.0 * f64::EPSILON * (diagonal + own)
                    };
                    block.iter().map(square).fold(0.0, f64::max).sqrt()
                };
                let radii = order.points.chunks_exact(order.size).zip(&centres).map(radius).collect();
                let source = Covariance::Entries(Entries { gram: Arc::clone(gram), reference_points: centres });
                (order, source, ReferenceBounds::centres(radii), 0.0, prior)
            }
        };
        let norm = prior.iter().copied().fold(0.0, f64::max).sqrt() * (1.0 + 1e-9);
        // Relative to the largest prior variance: values of two formulas differ by at most `source.error()`.
        let prior_error = 4.0 * f64::EPSILON + 2.0 * source.error() / (norm * norm).max(f64::MIN_POSITIVE);
        Self::made(order, source, by_reference, row_term, prior, prior_error, norm)
    }

    fn made(
        order: BlockOrder,
        source: Covariance,
        by_reference: ReferenceBounds,
        row_term: f64,
        prior: Vec<f64>,
        prior_error: f64,
        norm: f64,
    ) -> Self {
        let largest = |block: &[f64]| block.iter().copied().fold(0.0, f64::max).sqrt();
        let widest = prior.chunks_exact(order.size).map(largest).collect();
        Self { order, source, row_term, by_reference, checks: None, prior, prior_error, widest, norm }
    }

    /// Writes a visited point's basis function (covariance and row term) at a block's points.
    #[inline(always)]
    pub fn column<const FUSED: bool>(&self, point: usize, block: usize, out: &mut [f64]) {
        self.source.column::<FUSED>(point, block, &self.order, out);
        if self.row_term != 0.0 && self.order.places[point].0 as usize == block {
            let points = &self.order.points[block * out.len()..];
            // The last block repeats its last point.
            out.iter_mut().zip(points).filter(|(_, x)| **x as usize == point).for_each(|(out, _)| *out += self.row_term);
        }
    }
}
