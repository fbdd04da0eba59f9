//! Holds the sensitivity of a posterior mean that is published by the exponential mechanism, quoted from memory.
//! Source: [Kusner2015, theorem 1]: a bound that holds with high probability over draws of a Gaussian process.

use super::Formula;

/// The change of a posterior mean between neighbours, in prior deviations: n candidates, t - 1 evaluations, and a correlation of
/// 1 - d between the functions of two neighbouring validation sets.
pub const SENSITIVITY: Formula = Formula::new(
    ["Kusner2015", "theorem 1", "E32"],
    "s = 2 sqrt(2 ln(3.289868133696453 n t²/delta)) + 2 sqrt(d ln(3 n/delta))",
    |x| {
        let (n, t, delta) = (x.of("n"), x.of("t"), x.of("delta"));
        2.0 * libm::sqrt(2.0 * libm::log(3.289868133696453 * n * t * t / delta))
            + 2.0 * libm::sqrt(x.of("d") * libm::log(3.0 * n / delta))
    },
);

pub(super) const FORMULAS: &[Formula] = &[SENSITIVITY];
