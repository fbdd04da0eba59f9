//! Implements `factor.wgsl`: mean and posterior variance from a factor and weights.
//!
//! The factor is lower triangular.

use super::buffers::{Buffers, MEAN, VARIANCE};
use super::project::column;
use crate::device::Real;
use crate::device::pack::START_ADDED;

/// Groups of threads that share a point, and rows that one thread processes together.
const GROUPS: usize = 16;
const MICRO: usize = 4;

/// Entries `from_table` and `from_kernel`: computes `|R h|²` and `weights · h` at every point.
pub fn factor<R: Real>(buffers: &mut Buffers<R>, from_kernel: bool) {
    for w in buffers.list(1, buffers.round.factored.len()) {
        let work = buffers.round.works[w];
        let n = work.factor_len as usize;
        let used = n.saturating_sub(buffers.dropped);
        for x in 0..buffers.extent.n_points {
            let h: Vec<R> = (0..used).map(|k| column(buffers, w, k, x, from_kernel)).collect();
            // One sum for each of the 16 groups of threads over a point's rows, and over its columns; then over the groups.
            let mut squares = [R::default(); GROUPS];
            let mut means = [R::default(); GROUPS];
            for first in (0..n).step_by(MICRO) {
                // Four rows of a thread are squared together.
                let mut together = R::default();
                for row in first..(first + MICRO).min(n) {
                    let packed = &buffers.round.coefficients[work.factor_at as usize + row * (row + 1) / 2..];
                    let mut sum = R::default();
                    for (k, &value) in h.iter().enumerate().take(row + 1) {
                        sum += packed[k] * value;
                    }
                    together += sum * sum;
                }
                squares[first / MICRO % GROUPS] += together;
            }
            let weights = &buffers.round.coefficients[work.factor_at as usize + n * (n + 1) / 2..];
            for (k, &value) in h.iter().enumerate() {
                means[k % GROUPS] += weights[k] * value;
            }
            let mean = means.into_iter().fold(R::default(), |total, part| total + part);
            let square = squares.into_iter().fold(R::default(), |total, part| total + part);
            let prior_at = work.prior_at as usize;
            let variance = if work.start == START_ADDED {
                buffers.base[prior_at - buffers.extent.stride + x] + square
            } else {
                buffers.base[prior_at + x] - square
            };
            let (mean_at, variance_at) = (buffers.plane(work.slot, MEAN) + x, buffers.plane(work.slot, VARIANCE) + x);
            buffers.planes[mean_at] = mean;
            buffers.planes[variance_at] = variance;
        }
    }
}
