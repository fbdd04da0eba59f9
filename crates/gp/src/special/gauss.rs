//! Gauss rules of symmetric weights.
//!
//! The nodes are the eigenvalues of the rule's tridiagonal matrix [Golub & Welsch 1969, Mathematics of Computation 23],
//! computed by bisection; a weight is `1 / sum_k p_k(t)²` over the orthonormal polynomials.

use privateer_numerics::linalg::dot;

/// Largest number of nodes, at which the orthonormal polynomials stay far from overflow.
pub const MOST_NODES: usize = 128;

/// Returns nodes (ascending) and weights of the Gauss–Hermite rule with `count` nodes.
///
/// The weight function is `exp(-t²) / sqrt(pi)`: the weights sum to 1.
pub fn gauss_hermite(count: usize) -> Vec<(f64, f64)> {
    // The zeros of H_n lie within sqrt(2n + 1).
    symmetric_rule(count, libm::sqrt(2.0 * count as f64 + 1.0), |k| 0.5 * k as f64)
}

/// Returns nodes (ascending) and weights of the Gauss–Gegenbauer rule with `count` nodes.
///
/// The weight function is `(1 - s²)^(nu - 1)` on (-1, 1), `nu > 0` (Gegenbauer polynomials of parameter `nu - 1/2`); the
/// weights are scaled to sum to 1.
pub fn gauss_gegenbauer(nu: f64, count: usize) -> Vec<(f64, f64)> {
    let lambda = nu - 0.5;
    // b_k = k (k + 2 lambda - 1) / (4 (k + lambda) (k + lambda - 1)), in the limit where k = 1 and lambda = 0.
    symmetric_rule(count, 1.0, |k| match k {
        1 => 0.5 / (1.0 + lambda),
        _ => {
            let k = k as f64;
            k * (k + 2.0 * lambda - 1.0) / (4.0 * (k + lambda) * (k + lambda - 1.0))
        }
    })
}

/// Returns the rule of the tridiagonal matrix with zero diagonal.
///
/// Its squared off-diagonal entries are `b(1), b(2), …`, and its nodes lie within `bound` of 0. The rule is symmetric to
/// the last bit, and the middle node of an odd count is 0.
fn symmetric_rule(count: usize, bound: f64, b: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    let squares: Vec<f64> = (0..=count).map(|k| if k == 0 { 0.0 } else { b(k) }).collect();
    let weight = |t: f64| {
        let values = orthonormal(t, count, &squares);
        1.0 / dot(&values, &values)
    };
    let mut rule = vec![(0.0, 0.0); count];
    for index in count / 2..count {
        let node = if 2 * index + 1 == count { 0.0 } else { eigenvalue(index, count, &squares, bound) };
        let weight = weight(node);
        rule[index] = (node, weight);
        rule[count - 1 - index] = (-node, weight);
    }
    rule
}

/// Returns the eigenvalue with `index` others below it, by bisection to the last bit.
fn eigenvalue(index: usize, count: usize, squares: &[f64], bound: f64) -> f64 {
    let (mut low, mut high) = (0.0, bound);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || high <= middle {
            return middle;
        }
        if eigenvalues_below(middle, count, squares) <= index { low = middle } else { high = middle }
    }
}

/// Returns the number of eigenvalues below `x`: the sign changes of the leading minors.
fn eigenvalues_below(x: f64, count: usize, squares: &[f64]) -> usize {
    let mut below = 0;
    let mut ratio = -x;
    for (k, square) in squares.iter().enumerate().take(count) {
        if 0 < k {
            let divisor = if ratio == 0.0 { f64::EPSILON } else { ratio };
            ratio = -x - square / divisor;
        }
        below += usize::from(ratio < 0.0);
    }
    below
}

/// Returns the first `count` orthonormal polynomials at `t`.
///
/// `sqrt(b_k) p_k = t p_{k-1} - sqrt(b_{k-1}) p_{k-2}`.
fn orthonormal(t: f64, count: usize, squares: &[f64]) -> Vec<f64> {
    let mut values = vec![1.0; count];
    for k in 1..count {
        let before = if k == 1 { 0.0 } else { libm::sqrt(squares[k - 1]) * values[k - 2] };
        values[k] = (t * values[k - 1] - before) / libm::sqrt(squares[k]);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a rule with n nodes integrates polynomials of degree up to 2n - 1 exactly.
    ///
    /// E t^(2k) = (2k-1)!! / 2^k for Hermite, and E s^(2k) = prod (2i + 1) / (2i + 1 + 2 nu) for Gegenbauer.
    #[test]
    fn moments_are_exact() {
        let check = |rule: &[(f64, f64)], factor: &dyn Fn(usize) -> f64, said: &str| {
            assert!(rule.windows(2).all(|pair| pair[0].0 < pair[1].0), "{said}");
            let mut expected = 1.0;
            for k in 0..rule.len().min(20) {
                let moment: f64 = rule.iter().map(|(t, w)| w * (0..2 * k).fold(1.0, |power, _| power * t)).sum();
                assert!((moment - expected).abs() < 1e-11 * expected, "{said}, degree {}: {moment} {expected}", 2 * k);
                expected *= factor(k);
            }
        };
        for n in [1usize, 2, 3, 8, 12, 31, 64, MOST_NODES] {
            check(&gauss_hermite(n), &|k| (2 * k + 1) as f64 / 2.0, &format!("Hermite {n}"));
            for nu in [0.05, 0.5, 1.0, 2.5, 7.3] {
                let factor = |k: usize| (2 * k + 1) as f64 / ((2 * k + 1) as f64 + 2.0 * nu);
                check(&gauss_gegenbauer(nu, n), &factor, &format!("Gegenbauer {nu}, {n}"));
            }
        }
        let two = gauss_hermite(2);
        assert!((two[1].0 - libm::sqrt(0.5)).abs() < 1e-15 && (two[1].1 - 0.5).abs() < 1e-15);
        assert_eq!(gauss_hermite(7)[3].0, 0.0);
    }
}
