//! Keeps a trial's mean and posterior variance at the nodes of an interpolation grid, and checks blocks by them.
//!
//! From the nodes the largest score of any block is bounded closely, at a cost that does not depend on how long ago the
//! block was last bounded.

use super::grid::InterpolationGrid;
use super::stencil::{Interpolate, Nodes};
use super::stencil::{STENCIL, WEIGHT_ROUNDINGS};
use crate::cpu::pruning::products::at_nodes;
use privateer_numerics::vectorised;
use pulp::Arch;
use std::sync::Arc;

/// Error bounds of a kept mean and posterior variance, and the exploration factor.
#[derive(Debug, Clone, Copy)]
pub struct Slack {
    pub beta: f64,
    /// The largest prior variance.
    pub prior: f64,
    /// Bounds on the norms of theta and of the form N that reduces the posterior variance.
    pub theta: f64,
    pub n: f64,
    /// Errors of the kept mean and posterior variance.
    pub mean: f64,
    pub variance: f64,
}

/// Moments of one trial at the nodes, and the checks of its blocks from them.
///
/// Values are row-major, with the nodes of the second axis contiguous.
pub struct Checks {
    grid: Arc<InterpolationGrid>,
    /// Scratch: a row as a matrix, and that matrix times the components of the second axis.
    matrix: Vec<f64>,
    half: Vec<f64>,
    /// `p` of the open streak, mean and posterior variance, and the two rounded to f32.
    p: Vec<f64>,
    mean: Vec<f64>,
    variance: Vec<f64>,
    rounded_mean: Vec<f32>,
    rounded_variance: Vec<f32>,
    /// Sums of `scale²` and `mean_step` of the open streak that are not yet applied to the nodes.
    ///
    /// They are applied only before an interpolated bound check.
    squares: f64,
    steps: f64,
    /// The last round in which each block was checked.
    pub checked: Vec<u32>,
    /// Block that held the best point of the last round.
    pub leader: Option<usize>,
    pub round: u32,
    /// Blocks that were bounded and are not yet counted.
    pub bounded: u64,
}

impl Checks {
    pub fn new(grid: Arc<InterpolationGrid>, prior: f64) -> Self {
        let n = grid.counts[0] * grid.counts[1];
        Self {
            checked: vec![0; grid.places.len()],
            leader: None,
            round: 0,
            bounded: 0,
            grid,
            matrix: Vec::new(),
            half: Vec::new(),
            p: vec![0.0; n],
            mean: vec![0.0; n],
            variance: vec![prior; n],
            rounded_mean: vec![0.0; n],
            rounded_variance: vec![prior as f32; n],
            squares: 0.0,
            steps: 0.0,
        }
    }

    /// Opens a streak with this row over the features.
    pub fn start_streak(&mut self, row: &[f64]) {
        self.update();
        let grid = &*self.grid;
        grid.products.of_row(row, &mut self.matrix);
        at_nodes(&grid.products, &self.matrix, grid.components(), &mut self.half, &mut self.p);
    }

    /// Adds an observation to the open streak.
    pub fn observe(&mut self, scale: f64, mean_step: f64) {
        self.squares += scale * scale;
        self.steps += mean_step;
    }

    /// Applies the pending observations; call it before [`Checks::bound`].
    pub fn update(&mut self) {
        if self.squares != 0.0 || self.steps != 0.0 {
            let (square, step) = (std::mem::take(&mut self.squares), std::mem::take(&mut self.steps));
            apply_grid(self, square, step);
        }
    }

    /// Returns the multiply-adds of [`Checks::bound`] per point of the block.
    pub fn work(&self) -> usize {
        2 * STENCIL * (STENCIL + 1)
    }

    /// Returns upper bounds on the scores and on the posterior variances of a block, as of the last update.
    ///
    /// `None` where they do not suit the block. The weights of a point sum to 1, so its posterior variance is interpolated from those of the nodes.
    pub fn bound(&self, block: usize, slack: Slack) -> Option<(f64, f64)> {
        let grid = &*self.grid;
        if !grid.suits(block) {
            return None;
        }
        let size = grid.size;
        let mean = grid.radii[block] * slack.theta + (1.0 + grid.amplification) * slack.mean;
        let variance = grid.squared[block] * slack.n + (1.0 + grid.amplification) * slack.variance;
        let share = ROUNDING * grid.amplification;
        let [row, lane] = grid.places[block].map(|place| place as usize);
        let (down, across) = grid.offsets[block * 2 * size..][..2 * size].split_at(size);
        let stride = grid.counts[1];
        let found = Arch::new().dispatch(Interpolate {
            means: Nodes { values: &self.mean, rounded: &self.rounded_mean, stride },
            variances: Nodes { values: &self.variance, rounded: &self.rounded_variance, stride },
            first: row * stride + lane,
            offsets: [down, across],
            beta: slack.beta as f32,
            added: variance,
            share,
        });
        let variance = found.variance * (1.0 + ROUNDING);
        let rounded = share * found.mean_size + ROUNDING * (found.mean_size + slack.beta * variance.sqrt());
        let score = found.score + mean + rounded;
        // Values outside the range of f32 give no bound.
        Some(if score.is_finite() && variance.is_finite() { (score, variance) } else { (f64::INFINITY, slack.prior) })
    }
}

/// Relative rounding error of an interpolation in f32, per unit of its terms' magnitudes.
///
/// Counted at half an epsilon each: two weights, a node, the sums of products over both axes (fused or not), then a square
/// root and a score.
const ROUNDING: f64 = (2 * WEIGHT_ROUNDINGS + 4 * STENCIL + 8) as f64 * 0.5 * f32::EPSILON as f64;

vectorised! {
    /// `mean += step p`, `variance -= square p²`.
    fn apply_grid(values: &mut Checks, square: f64, step: f64) {
        let Checks { p, mean, variance, rounded_mean, rounded_variance, .. } = values;
        for ((mean, rounded), &p) in mean.iter_mut().zip(rounded_mean.iter_mut()).zip(p.iter()) {
            *mean += step * p;
            *rounded = *mean as f32;
        }
        for ((variance, rounded), &p) in variance.iter_mut().zip(rounded_variance.iter_mut()).zip(p.iter()) {
            *variance -= square * (p * p);
            *rounded = *variance as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::pruning::blocks::Blocks;
    use crate::cpu::pruning::covariance::Covariance;
    use crate::scale::Scale;
    use privateer_gp::Points;
    use privateer_gp::features::quadrature_fourier::{QuadratureFourier, QuadratureMap, extents};
    use privateer_gp::kernel::{Lengthscales, squared_exponential::SquaredExponential};
    use privateer_gp::score::{Basis, FeatureTable};
    use privateer_numerics::linalg::dot;
    use privateer_numerics::rng::{Purpose, Stream, Streams};
    use std::sync::Arc;

    fn table(lengthscale: f64, nodes: usize, stream: &mut Stream) -> Arc<FeatureTable> {
        let points = Points::random_in(&[(-0.3, 1.1); 2], 4800, stream);
        let kernel = SquaredExponential::new(Lengthscales::Isotropic(lengthscale), 1.0);
        let form = QuadratureFourier { nodes, max_error: 2.0 };
        Arc::new(QuadratureMap::new(&kernel, &extents(&points), form).expect("a map").table(&points, None))
    }

    fn grid(blocks: &Blocks, table: &FeatureTable) -> InterpolationGrid {
        let Covariance::Features(source) = &blocks.source else { panic!("the blocks are of features") };
        assert!(blocks.checks.is_some());
        InterpolationGrid::of_table(table, &blocks.order, source).expect("there is an interpolation grid")
    }

    /// Returns the largest excess of a block's bounds over its exact largest mean and variance.
    ///
    /// Panics if a bound is below the exact value.
    fn furthest(blocks: &Blocks, grid: InterpolationGrid, table: &FeatureTable, stream: &mut Stream) -> [f64; 2] {
        let prior = blocks.norm * blocks.norm;
        let mut values = Checks::new(Arc::new(grid), prior);
        // Orthogonal rows, each the remainder of its direction, give an N with eigenvalues up to 1.
        let mut rows: Vec<Vec<f64>> = Vec::new();
        let mut theta = vec![0.0; table.n_features];
        for _ in 0..12 {
            let point = stream.index(table.n_points);
            let mut row = table.row(point).to_vec();
            for other in &rows {
                let along = dot(other, &row);
                row.iter_mut().zip(other).for_each(|(row, other)| *row -= along * other);
            }
            let norm = dot(&row, &row).sqrt();
            row.iter_mut().for_each(|row| *row /= norm);
            values.start_streak(&row);
            let (scale, step) = (0.999, stream.normal());
            values.observe(scale, step);
            values.update();
            theta.iter_mut().zip(&row).for_each(|(theta, row)| *theta += step * row);
            rows.push(row);
        }
        let size = blocks.order.size;
        let slack = Slack { beta: 0.0, prior, theta: dot(&theta, &theta).sqrt(), n: 12.0f64.sqrt(), mean: 0.0, variance: 0.0 };
        let mut furthest = [0.0f64; 2];
        for block in 0..blocks.order.n_blocks() {
            let Some(upper) = values.bound(block, slack) else { continue };
            let points = &blocks.order.points[block * size..][..size];
            let means = points.iter().map(|&x| dot(&theta, &table.row(x as usize)));
            let variance = |x: u32| {
                let phi = &*table.row(x as usize);
                let fallen: f64 = rows.iter().map(|row| dot(row, phi)).map(|p| 0.999 * 0.999 * p * p).sum();
                dot(phi, phi) - fallen
            };
            let exact = [means.fold(f64::NEG_INFINITY, f64::max), points.iter().map(|&x| variance(x)).fold(0.0, f64::max)];
            for (i, upper) in [upper.0, upper.1].into_iter().enumerate() {
                assert!(exact[i] <= upper, "block {block}: {} above {upper}", exact[i]);
                furthest[i] = furthest[i].max(upper - exact[i]);
            }
        }
        furthest
    }

    /// Interpolated bounds are close to a block's exact largest mean and variance, and never below.
    #[test]
    fn bounds_from_a_grid_hold_and_are_close() {
        let mut stream = Streams::new(5, "mesh").shared(Purpose::Domain);
        for (lengthscale, nodes, close) in [(0.6, 8, [1e-4, 1e-4]), (0.35, 12, [5e-3, 5e-3])] {
            let table = table(lengthscale, nodes, &mut stream);
            let blocks = Blocks::of(&table, &Scale::of(&Basis::Table(Arc::clone(&table))));
            let bounds = furthest(&blocks, grid(&blocks, &table), &table, &mut stream);
            assert!(bounds[0] < close[0] && bounds[1] < close[1], "length-scale {lengthscale}: {bounds:?} above the exact ones");
        }
    }

    /// An interpolation grid with misplaced nodes gives bounds that are too low.
    #[test]
    #[should_panic(expected = "above")]
    fn a_misplaced_grid_is_detected() {
        let mut stream = Streams::new(6, "mesh").shared(Purpose::Domain);
        let table = table(0.6, 8, &mut stream);
        let blocks = Blocks::of(&table, &Scale::of(&Basis::Table(Arc::clone(&table))));
        let mut grid = grid(&blocks, &table);
        grid.offsets.iter_mut().for_each(|offset| *offset += 0.02);
        furthest(&blocks, grid, &table, &mut stream);
    }
}
