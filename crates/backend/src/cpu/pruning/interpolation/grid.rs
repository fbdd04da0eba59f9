//! Builds the regular grid from which every point's mean and posterior variance are interpolated.
//!
//! Some nodes lie outside the domain. A kernel over the plane that is a product of two even sums, `c_i cos(w_i d)` along
//! each axis, is smooth. With `psi(x)` the vector of one axis (`sqrt(c_i)` times the cosines and sines of `w_i x`),
//! interpolation from n nodes a_j by polynomials has the error
//!
//! `|psi(x) - sum L_j psi(a_j)| <= |prod (x - a_j)| / n! · sqrt(sum c_i w_i^(2n))`,
//!
//! because the divided difference of a vector is an average of its n-th derivative (Hermite-Genocchi), whose norm is that
//! square root everywhere. For features `psi_1 ⊗ psi_2` the weights multiply. With errors `e_1, e_2` and norms `s_1, s_2`
//! of the axes the distance is at most `e_1 s_2 + (s_1 + e_1) e_2`; times `|theta|` this bounds the error of a mean.
//!
//! The reduction of the posterior variance by observations is `phi^T N phi`, linear in `phi ⊗ phi`. The kernel of
//! `phi ⊗ phi` is the squared kernel: by the product of cosines, a sum over `w_i ± w_j`. N has eigenvalues from 0 to 1,
//! so its Frobenius norm is at most the square root of its trace. The trace is the sum of `scale² |u|²` over the
//! observations, and at most the number of visited points.

use super::stencil::{PAIRS, STENCIL, weights};
use crate::cpu::pruning::order::{BlockCoordinates, BlockOrder};
use crate::cpu::pruning::products::{AxisProducts, Components, LANES, ROWS};
use crate::cpu::pruning::source::{Cosines, Source};
use crate::cpu::vector::U;
use privateer_gp::score::FeatureTable;
use pulp::Scalar;

/// Target and largest useful error of an interpolated `phi ⊗ phi`, relative to the prior variance.
const AIM: f64 = 1e-6;
const MOST: f64 = 1e-3;

/// Smallest power of a frequency (largest: its inverse), and smallest prior variance along an axis.
///
/// Axes beyond these limits get no grid, because posterior variances are rounded to f32.
const SMALLEST: f64 = 1e-200;
const LEAST_PRIOR: f64 = 1e-15;

/// Smallest number of domain points per node of an interpolation grid.
const POINTS_A_NODE: usize = 4;

/// An interpolation grid and, for each block, its stencil and error bounds; shared by trials.
#[derive(Debug)]
pub struct InterpolationGrid {
    /// Number of nodes along each axis, multiples of [`ROWS`] and [`LANES`].
    pub counts: [usize; 2],
    /// Coordinates of the nodes of each axis.
    pub nodes: [Vec<f64>; 2],
    /// The features as products, and their components at the nodes along each axis, each as a list over the nodes.
    pub products: AxisProducts,
    vectors: [Vec<f64>; 2],
    /// Number of points of a block.
    pub size: usize,
    /// First node of each block's stencil, along each axis.
    pub places: Vec<[u32; 2]>,
    /// `2 x size` for each block: distances of its points from the stencil's middle, in grid steps.
    ///
    /// Those along the first axis come before those along the second.
    pub offsets: Vec<f32>,
    /// Bounds, for each block, on the interpolation errors of `phi` and of `phi ⊗ phi`.
    pub radii: Vec<f64>,
    pub squared: Vec<f64>,
    /// Largest sum of the magnitudes of a point's weights, over the blocks that suit the grid.
    pub amplification: f64,
    /// Largest error in `squared` for which a block suits; see [`InterpolationGrid::suits`].
    most: f64,
}

/// One axis of a grid under construction.
struct GridAxis {
    low: f64,
    step: f64,
    count: usize,
    /// `sqrt(sum c w^(2n)) / n!` of the kernel and of its square, and the roots of their sums of c.
    remainder: [f64; 2],
    norm: [f64; 2],
    /// Bound on the rounding error of a node's vector, relative to its norm; and the largest w.
    rounded: f64,
    widest: f64,
}

impl GridAxis {
    fn of(cosines: &[(f64, f64)], (low, high): (f64, f64), tile: usize, most: usize) -> Option<Self> {
        let power = |w: f64| (0..STENCIL).map(|_| w * w).product::<f64>();
        let factorial: f64 = (1..=STENCIL).map(|i| i as f64).product();
        let total: f64 = cosines.iter().map(|(_, c)| c).sum();
        let plain: f64 = cosines.iter().map(|(w, c)| c * power(*w)).sum();
        let square: f64 =
            cosines.iter().flat_map(|(v, b)| cosines.iter().map(move |(w, c)| 0.5 * b * c * (power(v - w) + power(v + w)))).sum();
        let remainder = [plain.sqrt() / factorial, square.sqrt() / factorial];
        // Next to the middle of a stencil the product of the distances is (1·3·5·7/16)² steps^8, and a block reaches beyond
        // the middle.
        let middle: f64 = (0..STENCIL / 2).map(|i| i as f64 + 0.5).product();
        let step = libm::pow(AIM * total / (4.0 * middle * middle * remainder[1]), 1.0 / STENCIL as f64);
        let width = high - low;
        // Powers outside the range of f64 give no error bound.
        let known = [plain, square].iter().all(|power| (SMALLEST..1.0 / SMALLEST).contains(power));
        if !(known && 0.0 < width && width.is_finite() && step.is_normal() && LEAST_PRIOR < total) {
            return None;
        }
        // Cells of the range, with nodes beyond it so that every stencil is complete.
        let beyond = STENCIL - 1;
        let wanted = (width / step).ceil().min(most as f64) as usize + beyond;
        let count = wanted.next_multiple_of(tile).max(2 * STENCIL).min(most / tile * tile);
        let cells = count.checked_sub(beyond).filter(|cells| 0 < *cells)?;
        let step = width / cells as f64;
        if !step.is_normal() {
            return None;
        }
        let low = low - (STENCIL / 2 - 1) as f64 * step;
        let widest = cosines.iter().map(|(w, _)| w.abs()).fold(0.0, f64::max);
        let farthest = low.abs().max((low + count as f64 * step).abs());
        // Rounding: nodes and points by a few units of the farthest coordinate, the argument of a cosine relative to
        // itself, the cosine's value and its factor by a few units.
        let rounded = 16.0 * U * (widest * farthest + 4.0);
        Some(Self { low, step, count, remainder, norm: [total.sqrt(), total], rounded, widest })
    }

    fn node(&self, at: usize) -> f64 {
        self.low + at as f64 * self.step
    }
}

impl InterpolationGrid {
    /// Builds a grid over points in the plane; `None` if it suits fewer than half of the blocks.
    ///
    /// The grid is as fine as `AIM` requires, or as fine as the number of points allows.
    /// * `kernels` — along each axis
    /// * `range` — least and largest coordinate of each axis
    pub fn of(order: &BlockOrder, plane: &[f64], kernels: &[Cosines; 2], range: &[(f64, f64)]) -> Option<Self> {
        let &[first, second] = range else { return None };
        let nodes = plane.len() / 2 / POINTS_A_NODE;
        let most = nodes.isqrt();
        let axes = [GridAxis::of(&kernels[0], first, ROWS, most)?, GridAxis::of(&kernels[1], second, LANES, most)?];
        let size = order.size;
        let n = order.n_blocks();
        let mut made = Self {
            counts: [axes[0].count, axes[1].count],
            nodes: [0, 1].map(|axis: usize| (0..axes[axis].count).map(|at| axes[axis].node(at)).collect()),
            products: AxisProducts::default(),
            vectors: [Vec::new(), Vec::new()],
            size,
            places: Vec::with_capacity(n),
            offsets: vec![0.0; n * 2 * size],
            radii: vec![0.0; n],
            squared: vec![0.0; n],
            amplification: 1.0,
            most: MOST * axes[0].norm[1] * axes[1].norm[1],
        };
        for (block, points) in order.points.chunks_exact(size).enumerate() {
            let place = [0, 1].map(|axis: usize| made.first_node(axis, points, plane, axes[axis].step));
            made.places.push(place.map(|first| first as u32));
            let mut largest = 1.0f64;
            let offsets = &mut made.offsets[block * 2 * size..][..2 * size];
            for (at, &point) in points.iter().enumerate() {
                let (mut plain, mut square, mut magnitude, mut rounded) = ([0.0; 2], [0.0; 2], [0.0f64; 2], 0.0);
                for (axis, of) in axes.iter().enumerate() {
                    let first = made.nodes[axis][place[axis]];
                    let exact = (plane[2 * point as usize + axis] - first) / of.step - (STENCIL - 1) as f64 / 2.0;
                    let offset = exact as f32;
                    offsets[axis * size + at] = offset;
                    magnitude[axis] = weights(Scalar, offset).iter().map(|weight| f64::from(weight.abs())).sum();
                    let offset = f64::from(offset);
                    let inside = if offset.abs() <= f64::from(PAIRS[3]) { 1.0 } else { f64::INFINITY };
                    let distance: f64 = PAIRS.iter().map(|pair| (offset * offset - f64::from(pair * pair)).abs()).product();
                    let distance = (0..STENCIL).fold(distance * inside * (1.0 + 1e-9), |distance, _| distance * of.step);
                    plain[axis] = distance * of.remainder[0];
                    square[axis] = distance * of.remainder[1];
                    // A point at this distance from its rounded position has a vector that differs by at most the distance
                    // times the slope.
                    rounded += of.rounded + of.widest * of.step * (exact - offset).abs();
                }
                let amplification = magnitude[0] * magnitude[1];
                largest = largest.max(amplification);
                let of = |e: [f64; 2], power: usize| {
                    let (one, other) = (axes[0].norm[power], axes[1].norm[power]);
                    // Rounding errors of the vectors of the nodes and of the point.
                    let rounded = (1.0 + amplification) * rounded * (1.0 + power as f64) * one * other;
                    let distance = (e[0] * other + (one + e[0]) * e[1]) * (1.0 + 1e-9) + rounded;
                    // NaN: the point is outside the stencil along one axis and on a node of the other.
                    if distance.is_nan() { f64::INFINITY } else { distance }
                };
                made.radii[block] = made.radii[block].max(of(plain, 0));
                made.squared[block] = made.squared[block].max(of(square, 1));
            }
            if made.squared[block] <= made.most {
                made.amplification = made.amplification.max(largest);
            }
        }
        let of_use = (0..n).filter(|block| made.suits(*block)).count();
        (n <= 2 * of_use).then_some(made)
    }

    /// Builds a grid over the plane of a table, whose kernel is this source; `None` where it is of no use.
    pub fn of_table(table: &FeatureTable, order: &BlockOrder, source: &Source) -> Option<Self> {
        let form = table.form.as_ref()?;
        let all: Vec<u32> = (0..table.n_points as u32).collect();
        let range = BlockCoordinates::of(table).range(&all);
        let mut grid = Self::of(order, &form.points, &source.cosines()?, &range)?;
        (grid.vectors, grid.products) = (source.components_at(&grid.nodes)?, source.products()?);
        Some(grid)
    }

    /// Returns the nodes' components along both axes.
    pub(super) fn components(&self) -> [Components<'_>; 2] {
        [0, 1].map(|axis: usize| Components { values: &self.vectors[axis], n: self.counts[axis] })
    }

    /// Returns whether the interpolation error of a block is small enough to be useful.
    pub fn suits(&self, block: usize) -> bool {
        self.squared[block] <= self.most
    }

    /// Returns the first node of the stencil around a block.
    fn first_node(&self, axis: usize, points: &[u32], plane: &[f64], step: f64) -> usize {
        let along = points.iter().map(|&point| plane[2 * point as usize + axis]);
        let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let nodes = &self.nodes[axis];
        let middle = (f64::midpoint(low, high) - nodes[0]) / step;
        let first = (middle - (STENCIL - 1) as f64 / 2.0).round();
        (first.max(0.0) as usize).min(nodes.len() - STENCIL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_gp::Points;
    use privateer_numerics::rng::{Purpose, Streams};

    /// A block does not suit if a point is outside its stencil on one axis, on a node of the other.
    #[test]
    fn blocks_that_leave_their_stencil_do_not_suit() {
        let mut stream = Streams::new(7, "mesh").shared(Purpose::Domain);
        let mut plane: Vec<f64> = (0..4799).flat_map(|_| [0.6 * stream.uniform(), 0.9 * stream.uniform()]).collect();
        // Enough points for whole blocks, so that the far point shares its block.
        plane.extend([9.0, 1.0]);
        let points = Points::new(2, plane.clone());
        let given = plane.clone();
        let coordinates = BlockCoordinates { values: &given, stride: 2, axes: 2 };
        let order = BlockOrder::halved(points.n_points(), 32, coordinates);
        let all: Vec<u32> = (0..points.n_points() as u32).collect();
        let range = coordinates.range(&all);
        let cosines = || vec![(0.4, 0.6), (1.1, 0.4)];
        let grid = InterpolationGrid::of(&order, &plane, &[cosines(), cosines()], &range).expect("most blocks suit");
        let far = order.places[4799].0 as usize;
        assert!(!grid.suits(far));
        // The point alone is outside its stencil along one axis, where the product of distances is infinite, and on a node
        // of the other, where the product is zero.
        let mut points = order.points.clone();
        points[..32].fill(0);
        points[31] = 1;
        let alone = BlockOrder { points, ..order };
        let node = |axis: usize, at: f64| {
            let nodes = &grid.nodes[axis];
            nodes[8] + at * (nodes[9] - nodes[8])
        };
        plane[..4].copy_from_slice(&[node(0, 0.05), node(1, 3.0), node(0, 7.35), node(1, 3.0)]);
        let grid = InterpolationGrid::of(&alone, &plane, &[cosines(), cosines()], &range).expect("most blocks suit");
        let [near, beyond] = [grid.offsets[0], grid.offsets[31]];
        assert!(near.abs() < PAIRS[3] && PAIRS[3] < beyond.abs() && PAIRS.contains(&grid.offsets[63].abs()));
        assert!(!grid.suits(0));
        // Length units in which powers of frequencies leave the range of f64.
        for unit in [1e30, 1e-30] {
            let kernel = || vec![(0.4 * unit, 0.6), (1.1 * unit, 0.4)];
            assert!(InterpolationGrid::of(&alone, &plane, &[kernel(), kernel()], &range).is_none());
        }
    }
}
