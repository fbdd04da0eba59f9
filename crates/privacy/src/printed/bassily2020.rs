//! Holds the formula of noisy gradients of stored samples [Bassily2020, algorithm 2], for `n²` steps.

use super::Formula;

/// The standard deviation of the noise on a gradient of Lipschitz constant L.
pub const SIGMA: Formula = Formula::new(["Bassily2020", "algorithm 2", ""], "sigma = sqrt(8 ln(1/delta)) L/epsilon", |x| {
    libm::sqrt(8.0 * libm::log(1.0 / x.of("delta"))) * x.of("L") / x.of("epsilon")
});

pub(super) const FORMULAS: &[Formula] = &[SIGMA];
