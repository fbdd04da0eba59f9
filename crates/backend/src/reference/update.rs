//! Implements `update.wgsl` and `list.wgsl`: reset, observation, intervals, maxima per tile.

use super::buffers::{Buffers, MEAN, P, VARIANCE, VARIANCE_ERROR};
use crate::device::Real;
use crate::device::answer::MAXIMA;
use crate::device::pack::{Numbers, START_KEEP, START_PRIOR, VISIT_NONE, VISIT_WEIGHTS};
use crate::device::tables::TILE;

/// A point's interval, its moments, and whether they are finite.
#[derive(Debug, Clone, Copy)]
pub struct ScoredPoint<R> {
    /// Lower end; the smallest number if the point does not count.
    pub lower: R,
    /// Upper end; the smallest number if the point does not count.
    pub upper: R,
    pub variance: R,
    /// Magnitude of the mean.
    pub mean: R,
    /// Whether lower end and posterior variance are finite.
    pub counts: bool,
}

impl<R: Real> ScoredPoint<R> {
    /// Returns the value that stands for no point.
    pub fn nothing() -> Self {
        Self { lower: -R::LARGEST, upper: -R::LARGEST, variance: -R::LARGEST, mean: R::default(), counts: false }
    }

    /// Computes the interval of a point, from the error `e` of its variance.
    pub fn of(numbers: &Numbers<R>, mean: R, variance: R, e: R) -> Self {
        let lower = mean - numbers.c + numbers.low * (variance - e).larger(R::default()).sqrt();
        let upper = mean + numbers.c + numbers.high * (variance + e).larger(R::default()).sqrt();
        if lower.is_in_range() && variance.is_in_range() {
            Self { lower, upper, variance, mean: mean.magnitude(), counts: true }
        } else {
            Self::nothing()
        }
    }
}

/// Computes the interval of a slot's point, from its planes.
pub fn scored<R: Real>(buffers: &Buffers<R>, w: usize, x: usize) -> ScoredPoint<R> {
    let slot = buffers.round.works[w].slot;
    let plane = |plane| buffers.planes[buffers.plane(slot, plane) + x];
    ScoredPoint::of(&buffers.round.numbers[w], plane(MEAN), plane(VARIANCE), plane(VARIANCE_ERROR))
}

/// `update.wgsl`: steps 1 and 2 for every point of every work; step 3 for works without a subset.
pub fn update<R: Real>(buffers: &mut Buffers<R>) {
    for w in 0..buffers.round.works.len() {
        let (work, numbers) = (buffers.round.works[w], buffers.round.numbers[w]);
        for tile in 0..buffers.extent.n_tiles() - buffers.skipped_tiles {
            let mut tile_scored = [ScoredPoint::nothing(); TILE];
            for (thread, place_scored) in tile_scored.iter_mut().enumerate() {
                let x = tile * TILE + thread;
                if buffers.extent.n_points <= x {
                    continue;
                }
                let [p_at, mean_at, variance_at, error_at] =
                    [P, MEAN, VARIANCE, VARIANCE_ERROR].map(|i| buffers.plane(work.slot, i) + x);
                let (mut mean, mut variance) = (buffers.planes[mean_at], buffers.planes[variance_at]);
                if work.start == START_PRIOR {
                    mean = if work.visit == VISIT_WEIGHTS { mean } else { R::default() };
                    variance = buffers.base[work.prior_at as usize + x];
                }
                let positive = variance.larger(R::default());
                let error = if work.start == START_KEEP { buffers.planes[error_at] * R::GROWTH } else { R::default() };
                let mut added = numbers.c0 + numbers.c2 * positive;
                if R::default() < numbers.c3 {
                    added += numbers.c3 * (positive + error).sqrt();
                }
                if work.visit != VISIT_NONE {
                    let p = buffers.planes[p_at];
                    let fall = numbers.scale * p;
                    added += numbers.c1 * fall.magnitude();
                    variance = variance - fall * fall;
                    mean += numbers.mean_step * p;
                }
                if buffers.not_a_number && x == 0 {
                    mean = R::of(f64::NAN);
                }
                let error = error + added * R::GROWTH;
                buffers.planes[mean_at] = mean;
                buffers.planes[variance_at] = variance;
                buffers.planes[error_at] = error;
                *place_scored = ScoredPoint::of(&numbers, mean, variance, error);
            }
            if work.listed == 0 {
                reduce(buffers, w, tile, &tile_scored);
            }
        }
    }
}

/// `list.wgsl`: step 3 for the points of a subset; tiles are ranges of the list.
pub fn list<R: Real>(buffers: &mut Buffers<R>) {
    for w in buffers.list(2, buffers.round.listed.len()) {
        let work = buffers.round.works[w];
        let tiles = (work.n_scored as usize).div_ceil(TILE);
        for tile in 0..tiles - buffers.skipped_tiles.min(tiles) {
            let mut tile_scored = [ScoredPoint::nothing(); TILE];
            for (thread, place_scored) in tile_scored.iter_mut().enumerate() {
                let place = tile * TILE + thread;
                if place < work.n_scored as usize {
                    *place_scored = scored(buffers, w, buffers.round.indices[work.subset_at as usize + place] as usize);
                }
            }
            reduce(buffers, w, tile, &tile_scored);
        }
    }
}

/// Computes maxima and count of a tile.
fn reduce<R: Real>(buffers: &mut Buffers<R>, w: usize, tile: usize, tile_scored: &[ScoredPoint<R>; TILE]) {
    let mut most = ScoredPoint::<R>::nothing();
    let mut count = 0;
    for one in tile_scored {
        most.lower = most.lower.larger(one.lower);
        most.upper = most.upper.larger(one.upper);
        most.variance = most.variance.larger(one.variance);
        most.mean = most.mean.larger(one.mean);
        count += u32::from(one.counts);
    }
    let n_tiles = buffers.extent.n_tiles();
    for (place, value) in [most.lower, most.upper, most.variance, most.mean].into_iter().enumerate() {
        buffers.partials[(w * MAXIMA + place) * n_tiles + tile] = value;
    }
    buffers.counts[w * n_tiles + tile] = count;
}
