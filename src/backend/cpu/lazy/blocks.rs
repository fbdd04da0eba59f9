//! What all trials over a table share: blocks of neighbouring points, their centres and radii.

use super::source::Source;
use crate::backend::scale::Scale;
use crate::score::FeatureTable;
use std::sync::Arc;

/// Points in a block of a small and of a large domain, measured as the fastest of 16, 32 and 64.
const SMALL_SIZE: usize = 32;
pub const MOST_SIZE: usize = 64;

/// Domains from this size on have large blocks.
const LARGE_DOMAIN: usize = 4096;

/// Fewer blocks are not worth their bounds.
const FEWEST_BLOCKS: usize = 8;

/// Points by block: the last block repeats its last point.
#[derive(Debug)]
pub struct Order {
    /// Points in a block.
    pub size: usize,
    /// `n_blocks x size`: indices of points, ascending within a block.
    pub points: Vec<u32>,
    /// Of every point, its block and its place there.
    pub places: Vec<(u32, u32)>,
}

impl Order {
    /// By halving the longest side of the box of a set of points until a block is left.
    fn of(table: &FeatureTable) -> Self {
        let n = table.n_points;
        let size = if n < LARGE_DOMAIN { SMALL_SIZE } else { MOST_SIZE };
        let mut points = in_blocks(table, size);
        points.chunks_mut(size).for_each(<[u32]>::sort_unstable);
        let mut places = vec![(0, 0); n];
        for (at, &point) in points.iter().enumerate() {
            places[point as usize] = ((at / size) as u32, (at % size) as u32);
        }
        let last = points.last().copied().unwrap_or(0);
        points.resize(n.next_multiple_of(size), last);
        Self { size, points, places }
    }

    /// Number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.points.len() / self.size
    }
}

/// All points, those of a block of this size together; the last block may be smaller.
pub fn in_blocks(table: &FeatureTable, size: usize) -> Vec<u32> {
    let n = table.n_points;
    let (coordinates, dimension) = match &table.form {
        Some(form) if form.points.len() == n * form.dimension => (&form.points[..], form.dimension),
        _ => (&table.values[..], table.n_features),
    };
    let mut points: Vec<u32> = (0..n as u32).collect();
    split(&mut points, Coordinates { values: coordinates, stride: dimension, axes: dimension.min(MOST_AXES) }, size);
    points
}

/// Axes that are looked at: of features, the first ones, which say most where they are ordered at all.
const MOST_AXES: usize = 16;

#[derive(Clone, Copy)]
struct Coordinates<'a> {
    values: &'a [f64],
    stride: usize,
    axes: usize,
}

fn split(points: &mut [u32], coordinates: Coordinates<'_>, size: usize) {
    let Coordinates { values, stride, axes } = coordinates;
    if points.len() <= size {
        return;
    }
    let (mut low, mut high) = (vec![f64::INFINITY; axes], vec![f64::NEG_INFINITY; axes]);
    for &point in &*points {
        for (axis, &x) in values[point as usize * stride..][..axes].iter().enumerate() {
            low[axis] = low[axis].min(x);
            high[axis] = high[axis].max(x);
        }
    }
    let side = |axis: usize| high[axis] - low[axis];
    let axis = (0..axes).max_by(|&a, &b| side(a).total_cmp(&side(b))).unwrap_or(0);
    let middle = points.len().div_ceil(size) / 2 * size;
    let along = |point: u32| values[point as usize * stride + axis];
    points.select_nth_unstable_by(middle, |&a, &b| along(a).total_cmp(&along(b)).then(a.cmp(&b)));
    let (left, right) = points.split_at_mut(middle);
    split(left, coordinates, size);
    split(right, coordinates, size);
}

/// The shared part of the lazy road.
#[derive(Debug)]
pub struct Blocks {
    pub order: Order,
    pub source: Source,
    /// Of each block, the point whose mean is kept exactly.
    pub centres: Vec<u32>,
    /// Of each block, a bound on `|phi(x) - phi(centre)|`.
    pub radii: Vec<f64>,
    /// `n_blocks x size`: prior spread².
    pub prior: Vec<f64>,
    /// Of each block, its root's largest.
    pub widest: Vec<f64>,
    /// Largest `|phi|`.
    pub norm: f64,
}

impl Blocks {
    /// Whether a domain of so many points is worth blocks.
    pub fn suit(n_points: usize) -> bool {
        FEWEST_BLOCKS * SMALL_SIZE <= n_points
    }

    /// The blocks of a table; `None` where the domain is too small for them.
    pub fn of(table: &Arc<FeatureTable>, scale: &Scale) -> Option<Self> {
        if !Self::suit(table.n_points) {
            return None;
        }
        let order = Order::of(table);
        let m = table.n_features;
        let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let (mut centres, mut radii) = (Vec::new(), Vec::new());
        for block in order.points.chunks_exact(order.size) {
            let mut middle = vec![0.0; m];
            for &point in block {
                middle.iter_mut().zip(table.row(point as usize)).for_each(|(sum, x)| *sum += x / order.size as f64);
            }
            let from_middle = |&point: &u32| square(&middle, table.row(point as usize));
            let centre = block.iter().copied().min_by(|a, b| from_middle(a).total_cmp(&from_middle(b))).unwrap_or(0);
            let of_centre = table.row(centre as usize);
            let most = block.iter().map(|&point| square(of_centre, table.row(point as usize))).fold(0.0, f64::max);
            centres.push(centre);
            // Differences and squares round by some shares of themselves, and of m terms.
            radii.push(most.sqrt() * (1.0 + 4.0 * (m as f64 + 4.0) * f64::EPSILON));
        }
        let source = Source::of(table, &order, &centres, scale.norm);
        let prior: Vec<f64> = order.points.iter().map(|&point| scale.prior[point as usize]).collect();
        let widest = prior.chunks_exact(order.size).map(|block| block.iter().copied().fold(0.0, f64::max).sqrt()).collect();
        Some(Self { order, source, centres, radii, prior, widest, norm: scale.norm })
    }
}
