//! Twin of `factor.wgsl`: mean and spread² from a lower triangular factor and weights.

use super::buffers::{Buffers, MEAN, VARIANCE};
use super::project::column;
use crate::backend::device::pack::START_ADDED;
use crate::backend::device::real::Real;

/// Rows of the factor that a workgroup takes together, and those of one thread.
const ROWS: usize = 64;
const MICRO: usize = 4;

/// Entries `table` and `kernel`: for every point the squares of `R h` and, as row `n`, `weights · h`.
pub fn factor<R: Real>(buffers: &mut Buffers<R>, n_factored: usize, from_kernel: bool) {
    for w in buffers.list(1, n_factored) {
        let work = buffers.works[w];
        let n = work.factor_len as usize;
        let used = n.saturating_sub(buffers.dropped);
        for x in 0..buffers.extent.n_points {
            let h: Vec<R> = (0..used).map(|k| column(buffers, w, k, x, from_kernel)).collect();
            // One sum for each of the 16 groups of threads over a point's rows, then over the groups.
            let mut squares = [R::default(); ROWS / MICRO];
            let mut mean = R::default();
            for row in 0..=n {
                let packed = &buffers.coefficients[work.factor_at as usize + row * (row + 1) / 2..];
                let mut sum = R::default();
                for (k, &value) in h.iter().enumerate().take(row + 1) {
                    sum += packed[k] * value;
                }
                if row == n {
                    mean = sum;
                } else {
                    squares[row % ROWS / MICRO] += sum * sum;
                }
            }
            let square = squares.into_iter().fold(R::default(), |total, part| total + part);
            let prior_at = work.prior_at as usize;
            let variance = if work.start == START_ADDED {
                buffers.base[prior_at - buffers.extent.stride + x] + square
            } else {
                buffers.base[prior_at + x] - square
            };
            let (mean_at, variance_at) = (buffers.plane(work.lane, MEAN) + x, buffers.plane(work.lane, VARIANCE) + x);
            buffers.planes[mean_at] = mean;
            buffers.planes[variance_at] = variance;
        }
    }
}
