//! Orders points into blocks of neighbours.

use crate::cpu::path;
use privateer_gp::score::FeatureTable;

/// Points per block of a small and of a large domain, measured as the fastest of 16, 32 and 64.
pub const SMALL_SIZE: usize = 32;
pub const MOST_SIZE: usize = 64;

/// Number of axes used to order points; of features the first ones, which are the most informative.
const MOST_AXES: usize = 16;

/// Blocks whose bounds are computed together by SIMD.
pub const LANES: usize = 8;

/// Counters of a counting sort, per part that the sorted points are cut into.
const COUNTERS: usize = 16;

/// Points by block; the last block repeats its last point.
#[derive(Debug)]
pub struct BlockOrder {
    pub size: usize,
    /// `n_blocks x size`: indices of points.
    pub points: Vec<u32>,
    /// Block of every point, and its position in the block.
    pub places: Vec<(u32, u32)>,
    pub strips: Option<Strips>,
}

/// Strips of blocks across a plane.
#[derive(Debug, PartialEq)]
pub struct Strips {
    /// First block of every strip, then the number of blocks.
    pub starts: Vec<usize>,
    /// Axis along which strips follow each other; blocks of a strip follow along the other axis.
    pub axis: usize,
}

/// Coordinates of points, row-major; only the first `axes` of them are used.
#[derive(Clone, Copy)]
pub struct BlockCoordinates<'a> {
    pub values: &'a [f64],
    pub stride: usize,
    pub axes: usize,
}

impl<'a> BlockCoordinates<'a> {
    /// Returns the coordinates of a table's points if the table has them, otherwise their features.
    pub fn of(table: &'a FeatureTable) -> Self {
        let (values, stride) = match &table.form {
            Some(form) if form.points.len() == table.n_points * form.dimension => (&form.points[..], form.dimension),
            _ => (&table.values[..], table.n_features),
        };
        Self { values, stride, axes: stride.min(MOST_AXES) }
    }

    fn along(&self, axis: usize, point: u32) -> f64 {
        self.values[point as usize * self.stride + axis]
    }

    /// Returns the smallest and largest coordinate of each axis.
    pub fn range(&self, points: &[u32]) -> Vec<(f64, f64)> {
        let mut range = vec![(f64::INFINITY, f64::NEG_INFINITY); self.axes];
        if let ([first, second], 2) = (range.as_mut_slice(), self.stride) {
            // The plane, without a loop over axes.
            for &point in points {
                if let Some(&[x, y]) = self.values[point as usize * 2..].first_chunk::<2>() {
                    *first = (first.0.min(x), first.1.max(x));
                    *second = (second.0.min(y), second.1.max(y));
                }
            }
            return range;
        }
        for &point in points {
            for ((low, high), &x) in range.iter_mut().zip(&self.values[point as usize * self.stride..]) {
                (*low, *high) = (low.min(x), high.max(x));
            }
        }
        range
    }
}

impl BlockOrder {
    /// Returns whether a domain of `n` points gets a lattice, or larger blocks without one.
    pub fn is_large(n: usize) -> bool {
        path::LARGE_DOMAIN <= n
    }

    /// Returns the block size for a domain of `n` points without a lattice.
    pub fn size_for(n: usize) -> usize {
        if Self::is_large(n) { MOST_SIZE } else { SMALL_SIZE }
    }

    /// Orders points by halving the longest side of their bounding box down to blocks.
    ///
    /// Indices ascend within a block.
    pub fn halved(n: usize, size: usize, coordinates: BlockCoordinates<'_>) -> Self {
        let mut points: Vec<u32> = (0..n as u32).collect();
        halve(&mut points, coordinates, size);
        points.chunks_mut(size).for_each(<[u32]>::sort_unstable);
        Self::of(points, size)
    }

    /// Orders points in strips along the longer side of the plane, and in blocks along each strip.
    ///
    /// Two counting sorts are cheap enough for a domain that belongs to one trial alone. Falls back to [`BlockOrder::halved`]
    /// unless there are two axes, or where most points crowd in a corner of the bounding box.
    pub fn in_strips(all: Vec<u32>, size: usize, coordinates: BlockCoordinates<'_>, range: &[(f64, f64)]) -> Self {
        match strips(&all, size, coordinates, range) {
            Some((points, strips)) => Self { strips: Some(strips), ..Self::of(points, size) },
            None => Self::halved(all.len(), size, coordinates),
        }
    }

    /// Makes blocks of the points in their given order.
    pub fn as_given(n: usize, size: usize) -> Self {
        Self::of((0..n as u32).collect(), size)
    }

    fn of(mut points: Vec<u32>, size: usize) -> Self {
        let n = points.len();
        let mut places = vec![(0, 0); n];
        for (block, of_block) in points.chunks(size).enumerate() {
            for (at, &point) in of_block.iter().enumerate() {
                places[point as usize] = (block as u32, at as u32);
            }
        }
        let last = points.last().copied().unwrap_or(0);
        points.resize(n.next_multiple_of(size), last);
        Self { size, points, places, strips: None }
    }

    pub fn n_blocks(&self) -> usize {
        self.points.len() / self.size
    }
}

/// Sorts points so that each block of this size is contiguous; the last block may be smaller.
pub fn in_blocks(table: &FeatureTable, size: usize) -> Vec<u32> {
    let mut points: Vec<u32> = (0..table.n_points as u32).collect();
    halve(&mut points, BlockCoordinates::of(table), size);
    points
}

fn halve(points: &mut [u32], coordinates: BlockCoordinates<'_>, size: usize) {
    if points.len() <= size {
        return;
    }
    let range = coordinates.range(points);
    let side = |axis: usize| range[axis].1 - range[axis].0;
    let axis = (0..coordinates.axes).max_by(|&a, &b| side(a).total_cmp(&side(b))).unwrap_or(0);
    let middle = points.len().div_ceil(size) / 2 * size;
    let along = |point: u32| coordinates.along(axis, point);
    points.select_nth_unstable_by(middle, |&a, &b| along(a).total_cmp(&along(b)).then(a.cmp(&b)));
    let (left, right) = points.split_at_mut(middle);
    halve(left, coordinates, size);
    halve(right, coordinates, size);
}

fn strips(all: &[u32], size: usize, coordinates: BlockCoordinates<'_>, range: &[(f64, f64)]) -> Option<(Vec<u32>, Strips)> {
    let &[first, second] = range else { return None };
    let n = all.len();
    let side = |(low, high): (f64, f64)| high - low;
    let (long, short) = if side(second) <= side(first) { (0, 1) } else { (1, 0) };
    let ratio = side(range[long]) / side(range[short]).max(f64::MIN_POSITIVE);
    let n_blocks = n.div_ceil(size);
    // Blocks about as wide as they are long.
    let even = ((n_blocks as f64 * ratio).sqrt().round() as usize).clamp(1, n_blocks);
    // The number of blocks per strip fills whole SIMD lanes, except in small domains.
    let of_strip = n_blocks.div_ceil(even);
    let of_strip = if of_strip < LANES / 2 { of_strip } else { (of_strip + LANES / 2) / LANES * LANES };
    let n_strips = n_blocks.div_ceil(of_strip);
    let bucket = |axis: usize, buckets: usize| {
        let (low, high) = range[axis];
        let per_length = buckets as f64 / (high - low).max(f64::MIN_POSITIVE);
        // The cast clamps values beyond the range, and maps NaN to 0.
        move |point: u32| (((coordinates.along(axis, point) - low) * per_length) as usize).min(buckets - 1)
    };
    let along = COUNTERS * n_strips;
    let (by_strip, fullest) = counted(all, along, bucket(long, along));
    // A strip that is one crowded bucket would be cut at random.
    if n < fullest * n_strips {
        return None;
    }
    let across = COUNTERS * of_strip;
    let of_short = bucket(short, across);
    let mut points = Vec::with_capacity(n);
    let mut from = 0;
    let starts: Vec<usize> = (0..=n_strips).map(|strip| (strip * of_strip).min(n_blocks)).collect();
    for &end in &starts[1..] {
        let to = (end * size).min(n);
        points.extend(counted(&by_strip[from..to], across, of_short).0);
        from = to;
    }
    Some((points, Strips { starts, axis: long }))
}

/// Returns the points sorted by bucket (a stable sort), and the size of the fullest bucket.
fn counted(points: &[u32], buckets: usize, of: impl Fn(u32) -> usize) -> (Vec<u32>, usize) {
    let mut starts = vec![0u32; buckets + 1];
    let of_points: Vec<u32> = points.iter().map(|&point| of(point) as u32).collect();
    of_points.iter().for_each(|&bucket| starts[bucket as usize + 1] += 1);
    let fullest = starts.iter().copied().max().unwrap_or(0);
    for bucket in 0..buckets {
        starts[bucket + 1] += starts[bucket];
    }
    let mut sorted = vec![0; points.len()];
    for (&point, &bucket) in points.iter().zip(&of_points) {
        let place = &mut starts[bucket as usize];
        sorted[*place as usize] = point;
        *place += 1;
    }
    (sorted, fullest as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_strips(n: usize, coordinates: BlockCoordinates<'_>) -> BlockOrder {
        let all: Vec<u32> = (0..n as u32).collect();
        let range = coordinates.range(&all);
        BlockOrder::in_strips(all, 32, coordinates, &range)
    }

    /// Every point has one position; blocks of strips are at most about twice as wide as even ones.
    #[test]
    fn orders_hold_every_point_once() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for n in [1, 31, 256, 1000, 4096, 5003] {
            for long in [1.0, 7.0] {
                let values: Vec<f64> = (0..2 * n).map(|i| next() * if i % 2 == 0 { long } else { 1.0 }).collect();
                let plane = BlockCoordinates { values: &values, stride: 2, axes: 2 };
                let line = BlockCoordinates { values: &values, stride: 2, axes: 1 };
                for order in
                    [BlockOrder::halved(n, 32, plane), in_strips(n, plane), in_strips(n, line), BlockOrder::as_given(n, 32)]
                {
                    assert_eq!(order.points.len(), n.next_multiple_of(32));
                    for (point, &(block, at)) in order.places.iter().enumerate() {
                        assert_eq!(order.points[block as usize * 32 + at as usize] as usize, point);
                    }
                }
                if 1000 <= n {
                    let order = in_strips(n, plane);
                    let even = (long * 32.0 / n as f64).sqrt();
                    let wide = order
                        .points
                        .chunks_exact(32)
                        .filter(|block| plane.range(block).iter().any(|(low, high)| 2.5 * even < high - low));
                    assert!(wide.count() * 20 < order.n_blocks(), "n {n}, long {long}");
                }
            }
        }
        // All points but one in a corner: no strips.
        let mut crowded = vec![0.0; 2000];
        (crowded[0], crowded[1]) = (1e9, 1e9);
        let crowded = BlockCoordinates { values: &crowded, stride: 2, axes: 2 };
        let all: Vec<u32> = (0..1000).collect();
        assert!(strips(&all, 32, crowded, &crowded.range(&all)).is_none());
    }
}
