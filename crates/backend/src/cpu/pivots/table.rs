//! Lays out the interpolation for interleaved trials, with a second interpolation within blocks.
//!
//! Blocks are used where they save work.

use super::factors::ROWS;
use super::interpolation::{Interpolation, up};
use super::kernels::{PIVOTS, POINTS, TileBounds};
use crate::cpu::pruning::in_blocks;
use crate::cpu::vector::U;
use privateer_gp::score::FeatureTable;
use privateer_numerics::linalg::dot;
use std::ops::Range;

/// Points in a block.
const SIZE: usize = 16 * POINTS;
const MOST_CHOSEN: usize = 3 * POINTS;
/// Residual at which the choice in a block ends, as a share of `max |phi|²`.
///
/// It is about the rounding error in the bound on `rho`.
const FINE: f64 = 2e-6;

/// Data of a round of interleaved trials.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PivotTable {
    /// `m`, the number of features, and `r`, the number of pivots.
    pub n_features: usize,
    pub rank: usize,
    /// `m`, padded to whole rows of tiles.
    pub columns: usize,
    /// Features of pivots, three pivots at a time, feature by feature.
    pub pivots: Vec<f32>,
    /// For each tile of chosen points `r x 12`: their rows of `C`; and `m x 12`: their features.
    pub outer: Vec<f32>,
    pub features: Vec<f32>,
    /// For each tile of scored points of a block `K x 12`: their rows `u`.
    pub inner: Vec<f32>,
    pub blocks: Vec<LaneBlock>,
    /// Points, residuals and bounds of each tile of scored points.
    pub points: Vec<[u32; POINTS]>,
    pub residual: Vec<[f32; POINTS]>,
    pub bounds: Vec<TileBounds>,
    /// The largest `size` of all tiles.
    pub largest_size: f64,
}

/// Points that are scored together.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneBlock {
    /// Tiles of chosen points.
    pub outer: Range<usize>,
    /// Tiles of scored points; the same points where `chosen` is 0.
    pub scored: Range<usize>,
    /// `K`, the number of chosen points; 0 if the points are scored directly.
    pub chosen: usize,
    /// Index at which its rows `u` begin.
    pub inner: usize,
}

/// Chosen points of a block, from which the block is interpolated.
struct BlockPivots {
    /// Positions in the block.
    chosen: Vec<usize>,
    /// `block x K`: rows `u` of the block's points.
    u: Vec<f64>,
    /// Error bounds of the block's points.
    rho: Vec<f64>,
    trace: Vec<f64>,
    delta: Vec<f64>,
}

impl PivotTable {
    pub fn new(by: &Interpolation, table: &FeatureTable) -> Self {
        Self::with_blocks_below(0.7, by, table)
    }

    /// Builds the table with blocks where they cost at most this share of the work without.
    pub fn with_blocks_below(share: f64, by: &Interpolation, table: &FeatureTable) -> Self {
        let (n, m, rank) = (table.n_points, table.n_features, by.rank);
        let columns = m.next_multiple_of(ROWS);
        let mut pivots = vec![0.0; rank.next_multiple_of(PIVOTS) * columns];
        for (j, &pivot) in by.pivots.iter().enumerate() {
            for (i, &value) in table.row(pivot).iter().enumerate() {
                pivots[(j / PIVOTS * columns + i) * PIVOTS + j % PIVOTS] = value as f32;
            }
        }
        let mut made = Self { n_features: m, rank, columns, pivots, ..Self::default() };
        let largest = (0..n).map(|point| table.square(point)).fold(0.0, f64::max);
        let order = in_blocks(table, SIZE);
        // A block of rows that are all nearly zero needs no chosen point, and is scored directly.
        let of_block = |block| BlockPivots::of(table, block, largest).filter(|nested: &BlockPivots| !nested.chosen.is_empty());
        let nested: Vec<_> = order.chunks(SIZE).map(of_block).collect();
        // Multiply-adds of a round.
        let tiles = |points: usize| points.next_multiple_of(POINTS) as f64;
        let direct = |points: usize| tiles(points) * (rank + m) as f64;
        let work = |block: &[u32], nested: &Option<BlockPivots>| match nested {
            Some(nested) => direct(nested.chosen.len()) + 2.0 * tiles(block.len()) * nested.chosen.len() as f64,
            None => direct(block.len()),
        };
        let by_blocks: f64 = order.chunks(SIZE).zip(&nested).map(|(block, nested)| work(block, nested)).sum();
        if by_blocks < share * direct(n) {
            for (block, nested) in order.chunks(SIZE).zip(&nested) {
                match nested {
                    Some(nested) => made.add(by, table, block, nested),
                    None => made.add_direct(by, table, block),
                }
            }
        } else {
            made.add_direct(by, table, &in_blocks(table, POINTS));
        }
        made.largest_size = made.bounds.iter().fold(0.0, |most, bounds| most.max(f64::from(bounds.size)));
        made
    }

    /// Adds twelve points of the outer level, padded with the last one.
    fn add_outer(&mut self, by: &Interpolation, table: &FeatureTable, points: &[u32]) {
        let at = |x: usize| points[x.min(points.len() - 1)] as usize;
        for j in 0..by.rank {
            self.outer.extend((0..POINTS).map(|x| by.row(at(x))[j]));
        }
        let rows: Vec<_> = (0..POINTS).map(|x| table.row(at(x))).collect();
        for i in 0..table.n_features {
            self.features.extend(rows.iter().map(|row| row[i] as f32));
        }
    }

    /// Adds twelve scored points, with the largest of their bounds.
    fn add_scored(&mut self, table: &FeatureTable, points: &[u32], bounds: TileBounds) {
        let points: [u32; POINTS] = std::array::from_fn(|x| points[x.min(points.len() - 1)]);
        self.points.push(points);
        self.residual.push(points.map(|point| table.residual[point as usize] as f32));
        self.bounds.push(bounds);
    }

    fn add_direct(&mut self, by: &Interpolation, table: &FeatureTable, points: &[u32]) {
        for points in points.chunks(POINTS) {
            let (outer, tile) = (self.outer.len() / (by.rank * POINTS), self.points.len());
            self.add_outer(by, table, points);
            let mut bounds = TileBounds { inner: 1.0, ..TileBounds::default() };
            for &point in points {
                bounds.size = bounds.size.max(by.size[point as usize]);
                bounds.rho = bounds.rho.max(by.rho[point as usize]);
                bounds.trace = bounds.trace.max(by.trace[point as usize]);
            }
            self.add_scored(table, points, bounds);
            self.blocks.push(LaneBlock { outer: outer..outer + 1, scored: tile..tile + 1, chosen: 0, inner: 0 });
        }
    }

    fn add(&mut self, by: &Interpolation, table: &FeatureTable, block: &[u32], nested: &BlockPivots) {
        let k = nested.chosen.len();
        let chosen: Vec<u32> = nested.chosen.iter().map(|&at| block[at]).collect();
        let (outer, tile, inner) = (self.outer.len() / (by.rank * POINTS), self.points.len(), self.inner.len());
        chosen.chunks(POINTS).for_each(|points| self.add_outer(by, table, points));
        for (number, points) in block.chunks(POINTS).enumerate() {
            let at = |x: usize| number * POINTS + x.min(points.len() - 1);
            for j in 0..k {
                self.inner.extend((0..POINTS).map(|x| nested.u[at(x) * k + j] as f32));
            }
            let mut bounds = TileBounds::default();
            for x in 0..points.len() {
                let (mut size, mut rho, mut trace, mut sum) = (0.0, nested.rho[at(x)], nested.trace[at(x)], 0.0);
                for (u, &point) in nested.u[at(x) * k..][..k].iter().zip(&chosen) {
                    size += u.abs() * f64::from(by.size[point as usize]);
                    rho += u.abs() * f64::from(by.rho[point as usize]);
                    trace += u.abs() * f64::from(by.trace[point as usize]);
                    sum += u.abs();
                }
                bounds.size = bounds.size.max(up(size));
                bounds.rho = bounds.rho.max(up(rho));
                bounds.trace = bounds.trace.max(up(trace));
                bounds.delta = bounds.delta.max(up(nested.delta[at(x)]));
                bounds.inner = bounds.inner.max(up(sum));
            }
            self.add_scored(table, points, bounds);
        }
        let tiles = k.div_ceil(POINTS);
        self.blocks.push(LaneBlock { outer: outer..outer + tiles, scored: tile..self.points.len(), chosen: k, inner });
    }
}

impl BlockPivots {
    /// Chooses points of a block in the way of pivots; `None` if more than the maximum are needed.
    ///
    /// `largest` is `max |phi|²`.
    fn of(table: &FeatureTable, block: &[u32], largest: f64) -> Option<Self> {
        let (n, m) = (block.len(), table.n_features);
        let rows: Vec<_> = block.iter().map(|&point| table.row(point as usize)).collect();
        let row = |at: usize| &*rows[at];
        let mut residual: Vec<f64> = (0..n).map(|at| dot(row(at), row(at))).map(|square| square * square).collect();
        let mut chosen: Vec<usize> = Vec::new();
        // Coordinates of each point.
        let mut coordinates = vec![0.0; n * MOST_CHOSEN];
        // A product of `dot` has n / 8 + 4 roundings, a sum over the chosen points one per point.
        let entry = |k: usize| 1.25 * (2.0 * (m as f64 / 8.0 + 5.0) + k as f64 + 16.0) * U * largest * largest;
        loop {
            let k = chosen.len();
            let worst = |best: (usize, f64), (at, &d): (usize, &f64)| if best.1 < d { (at, d) } else { best };
            let (next, deepest) = residual.iter().enumerate().fold((0, f64::NEG_INFINITY), worst);
            let fine = FINE * largest;
            if deepest <= 16.0 * entry(k) || (k.is_multiple_of(POINTS) && deepest <= fine * fine) {
                break;
            }
            if k == MOST_CHOSEN || n <= 2 * k {
                return None;
            }
            let root = deepest.sqrt();
            let of_next: [f64; MOST_CHOSEN] = std::array::from_fn(|j| coordinates[next * MOST_CHOSEN + j]);
            for at in 0..n {
                let product = dot(row(at), row(next));
                let known = &mut coordinates[at * MOST_CHOSEN..][..=k];
                let new = (product * product - dot(&known[..k], &of_next[..k])) / root;
                known[k] = new;
                residual[at] -= new * new;
            }
            coordinates[next * MOST_CHOSEN + k] = root;
            residual[next] = 0.0;
            chosen.push(next);
        }
        let k = chosen.len();
        let (mut u, mut rho, mut delta) = (vec![0.0; n * k], Vec::with_capacity(n), Vec::with_capacity(n));
        let squares: Vec<f64> = (0..n).map(|at| dot(row(at), row(at))).collect();
        let mut trace = Vec::with_capacity(n);
        for at in 0..n {
            let solved = &mut u[at * k..][..k];
            for j in (0..k).rev() {
                let below: f64 = (j + 1..k).map(|i| coordinates[chosen[i] * MOST_CHOSEN + j] * solved[i]).sum();
                solved[j] = (coordinates[at * MOST_CHOSEN + j] - below) / coordinates[chosen[j] * MOST_CHOSEN + j];
            }
            let (size, square) = solved.iter().fold((0.0, 0.0), |(size, square), u| (size + u.abs(), square + u * u));
            // As for the whole domain: see `docs/derivations/pivot-interpolation.md`.
            let substitution = (k as f64 + 8.0) * U * size * largest;
            let diagonal = 1.25 * (k as f64 + 8.0) * U * largest * largest;
            let rho2 = substitution * substitution
                + residual[at].max(0.0)
                + (1.0 + size) * (1.0 + size) * entry(k)
                + (1.0 + square) * diagonal;
            rho.push(rho2.sqrt());
            let carried: f64 = solved.iter().zip(&chosen).map(|(u, &chosen)| u * squares[chosen]).sum();
            trace.push((squares[at] - carried).abs() + (m as f64 + k as f64 + 8.0) * f64::EPSILON * (1.0 + size) * largest);
            let mut left = row(at).to_vec();
            for (&u, &chosen) in solved.iter().zip(&chosen) {
                left.iter_mut().zip(row(chosen)).for_each(|(left, phi)| *left -= u * phi);
            }
            let rounded = (k as f64 + 8.0) * f64::EPSILON * (1.0 + size) * largest.sqrt();
            delta.push(dot(&left, &left).sqrt() * (1.0 + 1e-6) + rounded);
        }
        Some(Self { chosen, u, rho, trace, delta })
    }
}
