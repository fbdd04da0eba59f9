//! Scores a model that changes completely every round, by one f32 product with its factor.
//!
//! The product gives mean and posterior variance of all points. The band is that of a device slot reset to a factor in f32
//! (`lane`): it holds for a product in any order, with or without fused operations, so a library's matrix product may use
//! any vector instructions at run time.

use crate::device::Precision;
use crate::playable::playable;
use crate::scale::Scale;
use crate::slot::{SlotBasis, SlotState};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice, linalg::general_mat_mul};
use privateer_gp::score::{Candidates, Factor, GramSource, ScoreModel, TrialScore, VarianceForm};

/// Points whose products stay in a second-level cache.
const POINTS: usize = 256;

/// Block rows of the factor, whose zero blocks are skipped.
const BLOCK_ROWS: usize = 4;

/// Scratch memory for the products of one trial.
#[derive(Debug, Default)]
pub struct FactorScreen {
    rows: Vec<f32>,
    h: Vec<f32>,
    product: Vec<f32>,
    mean: Vec<f32>,
    variance: Vec<f32>,
}

impl FactorScreen {
    /// Writes the candidates; false if the numbers do not fit f32, so that points need f64 scores.
    pub fn candidates(
        &mut self,
        request: &TrialScore<'_>,
        factor: &Factor<'_>,
        gram: Option<&dyn GramSource>,
        table: &[f32],
        scale: &Scale,
        answer: &mut Candidates,
    ) -> bool {
        let mut lane = SlotState::new(0);
        let model = request.model;
        let basis = SlotBasis { scale, prior: model.prior_variance_bound(), kernel_error: 0.0, precision: Precision::F32 };
        let state = model.state_error();
        if !lane.start_factor(factor, &basis, &state) {
            return false;
        }
        self.load(factor);
        let points: Vec<u32> = playable(scale.prior.len(), request.subset).collect();
        self.mean.resize(points.len(), 0.0);
        self.variance.resize(points.len(), 0.0);
        for (block, part) in points.chunks(POINTS).enumerate() {
            self.block(model, factor, gram, table, block * POINTS, part);
        }
        lane.follow(&state);
        let band = lane.band(request.beta, &state, Precision::F32);
        let interval = |(at, &place): (usize, &u32)| {
            let point = place as usize;
            let square = f64::from(self.variance[at]);
            let variance = match factor.variance {
                VarianceForm::Added => scale.residual(point) + square,
                VarianceForm::Removed => scale.prior[point] - square,
            };
            let e = band.c0 + band.c2 * variance.abs() + band.c3 * variance.max(0.0).sqrt();
            let mean = f64::from(self.mean[at]);
            let half_width = |variance: f64| request.beta * variance.max(0.0).sqrt();
            (place, mean - band.c + half_width(variance - e), mean + band.c + half_width(variance + e))
        };
        let intervals: Vec<(u32, f64, f64)> = points.iter().enumerate().map(interval).collect();
        let best = intervals.iter().map(|&(_, lower, _)| lower).fold(f64::NEG_INFINITY, f64::max);
        answer.points.clear();
        answer.points.extend(intervals.iter().filter(|&&(_, _, upper)| best <= upper).map(|&(point, ..)| point));
        !answer.points.is_empty()
    }

    /// Rounds the factor's rows, and the weights as one more row.
    fn load(&mut self, factor: &Factor<'_>) {
        self.rows.clear();
        self.rows.extend(factor.rows.iter().chain(factor.weights.iter()).map(|&value| value as f32));
    }

    /// Computes mean and `|R h|²` of some points, at indices from `first`.
    fn block(
        &mut self,
        model: &dyn ScoreModel,
        factor: &Factor<'_>,
        gram: Option<&dyn GramSource>,
        table: &[f32],
        first: usize,
        points: &[u32],
    ) {
        let (k, n) = (factor.weights.len(), points.len());
        let (Some(&low), Some(&high)) = (points.first(), points.last()) else { return };
        // Indices ascend, so the ends show whether there are gaps.
        let adjacent = (high - low) as usize + 1 == n;
        let h = match gram {
            None if adjacent => &table[low as usize * k..(low as usize + n) * k],
            None => {
                self.h.clear();
                points.iter().for_each(|&point| self.h.extend_from_slice(&table[point as usize * k..][..k]));
                &self.h
            }
            Some(gram) => {
                self.h.resize(n * k, 0.0);
                let mut column = vec![0.0; n];
                for (i, &basis) in model.basis_points().iter().enumerate() {
                    if adjacent {
                        gram.column(basis as usize, low as usize, &mut column);
                    } else {
                        points.iter().zip(&mut column).for_each(|(&x, value)| *value = gram.entry(basis as usize, x as usize));
                    }
                    for (x, &value) in column.iter().enumerate() {
                        self.h[x * k + i] = value as f32;
                    }
                }
                &self.h
            }
        };
        let (Ok(h), Ok(rows)) = (ArrayView2::from_shape((n, k), h), ArrayView2::from_shape((k + 1, k), &self.rows)) else {
            return;
        };
        let variance = &mut self.variance[first..first + n];
        variance.fill(0.0);
        for block in 0..BLOCK_ROWS {
            let (low, high) = (k * block / BLOCK_ROWS, k * (block + 1) / BLOCK_ROWS);
            // Rows low..high of a lower triangular factor end at column high; the weights belong to the last block.
            let last = block + 1 == BLOCK_ROWS;
            let (end, width) = if last { (k + 1, k + 1 - low) } else { (high, high - low) };
            if width == 0 {
                continue;
            }
            self.product.resize(n * width, 0.0);
            let Ok(mut product) = ArrayViewMut2::from_shape((n, width), &mut self.product[..n * width]) else { return };
            let to = Slice::from(..high);
            let (a, b) = (h.slice_axis(Axis(1), to), rows.slice_axis(Axis(0), Slice::from(low..end)));
            general_mat_mul(1.0, &a, &b.slice_axis(Axis(1), to).t(), 0.0, &mut product);
            for (x, values) in self.product[..n * width].chunks_exact(width).enumerate() {
                let squares = if last { &values[..width - 1] } else { values };
                variance[x] += squares.iter().map(|y| y * y).sum::<f32>();
                if last {
                    self.mean[first + x] = values[width - 1];
                }
            }
        }
    }
}
