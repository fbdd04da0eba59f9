//! Replays a log: estimates the reward that a policy would have earned on the log's users.
//!
//! **Learning**, by rejection (Li2011): a row for which the policy chooses the arm that was shown is taken with probability
//! `floor / propensity`. So every row is taken with probability `floor` whatever the policy chooses, and the taken rows are
//! distributed as in a live run over fewer users. **Value**: each row, taken or not, contributes to the value of the policy's
//! state before that row, with weight `w = [the same arm] / propensity`. The estimate is self-normalised, `sum w r / sum w`,
//! and its standard error is `sqrt(sum w² (r - value)²) / sum w` (Owen2013, section 9.2).

use crate::env::contextual::Logged;

/// Holds the weighted sums of an estimate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Estimate {
    /// `sum w` and `sum w r`.
    weights: [f64; 2],
    /// `sum w²`, `sum w² r`, `sum w² r²`.
    squares: [f64; 3],
}

impl Estimate {
    fn add(&mut self, reward: f64, propensity: f64) {
        let w = 1.0 / propensity;
        let (weights, squares) = ([w, w * reward], [w * w, w * w * reward, w * w * reward * reward]);
        self.weights.iter_mut().zip(weights).for_each(|(sum, term)| *sum += term);
        self.squares.iter_mut().zip(squares).for_each(|(sum, term)| *sum += term);
    }

    /// Returns the estimate; NaN before the first row that matches.
    fn value(&self) -> f64 {
        self.weights[1] / self.weights[0]
    }

    fn standard_error(&self) -> f64 {
        let (value, [ww, wwr, wwrr]) = (self.value(), self.squares);
        libm::sqrt((wwrr - 2.0 * value * wwr + value * value * ww).max(0.0)) / self.weights[0]
    }
}

/// Holds a replay of the log in one trial's order.
pub(super) struct Replay {
    estimate: Estimate,
    /// Number of rows that the policy has learned from, and the most it may.
    taken: u64,
    most: u64,
}

impl Replay {
    /// Creates a replay in which the policy learns from at most `most` rows.
    pub(super) fn new(most: u64) -> Self {
        Self { estimate: Estimate::default(), taken: 0, most }
    }

    /// Adds a row to the estimate if the policy chose the shown arm; returns whether it learns from the row.
    ///
    /// * `uniform` — a uniformly random number of the row
    pub(super) fn takes(&mut self, row: Option<Logged>, arm: usize, uniform: f64) -> bool {
        let Some(Logged { arm: Some(shown), reward, propensity, floor }) = row else { return false };
        if shown != arm {
            return false;
        }
        self.estimate.add(reward, propensity);
        let is_taken = uniform * propensity < floor && self.taken < self.most;
        self.taken += u64::from(is_taken);
        is_taken
    }

    pub(super) fn measured(&self) -> [f64; 3] {
        [self.taken as f64, self.estimate.value(), self.estimate.standard_error()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_give_the_textbook_estimate() {
        let rows = [(1.0, 0.5), (0.0, 0.25), (1.0, 0.125), (0.0, 0.5), (0.0, 1.0)];
        let mut estimate = Estimate::default();
        assert!(estimate.value().is_nan() && estimate.standard_error().is_nan());
        rows.iter().for_each(|&(reward, propensity)| estimate.add(reward, propensity));
        let total: f64 = rows.iter().map(|(_, p)| 1.0 / p).sum();
        let value = rows.iter().map(|(r, p)| r / p).sum::<f64>() / total;
        let square: f64 = rows.iter().map(|(r, p)| ((r - value) / p).powi(2)).sum();
        assert!((estimate.value() - value).abs() < 1e-15 && (value - 10.0 / 17.0).abs() < 1e-15);
        assert!((estimate.standard_error() - square.sqrt() / total).abs() < 1e-15);
        // With equal propensities, the estimate is the mean of the matching rows, with the standard error of a mean.
        let mut even = Estimate::default();
        (0..100).for_each(|i| even.add(f64::from(u8::from(i % 4 == 0)), 0.1));
        assert!((even.value() - 0.25).abs() < 1e-15);
        assert!((even.standard_error() - (0.25_f64 * 0.75 / 100.0).sqrt()).abs() < 1e-12);
    }
}
