//! The tree mechanism's noise for a running sum of symmetric matrices, in prefix form: with `p` = `k` less its lowest set bit, the
//! noise after update `k` is `E_k = E_p` + one fresh node, so at most `levels` nodes are summed in any.

/// Levels of the tree over the rounds and the observation before the first: `1 + floor(log2(rounds + 1))`.
#[must_use]
pub fn levels(rounds: usize) -> usize {
    (rounds + 1).ilog2() as usize + 1
}

/// A multiple of the identity that keeps `E_k` above `-shift I`: twice a high quantile of the norm of a sum of `levels`
/// Gaussian matrices.
#[must_use]
pub fn shift(rounds: usize, n: usize, node_std: f64) -> f64 {
    2.0 * node_std * (levels(rounds) as f64).sqrt() * (2.0 * (n as f64).sqrt() + 6.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_shift_of_the_standard_job() {
        assert_eq!([1, 2, 3, 6, 7, 100, 500].map(levels), [2, 2, 3, 3, 4, 7, 9]);
        assert!((shift(500, 64, 0.05) - 6.6).abs() < 1e-12);
    }
}
