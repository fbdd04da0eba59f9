//! Computes how much one user can change a released value.
//!
//! Neighbouring relation, clip bounds, radius and participations are arguments. For symmetric matrices the noise has
//! off-diagonal variance sigma² and diagonal variance 2 sigma²: it is isotropic with standard deviation `sqrt(2) sigma` on
//! symmetric matrices under the Frobenius norm. The sensitivities of matrices here are divided by `sqrt(2)`, so that
//! `sigma = sensitivity / mu` (erratum E7, `docs/privacy.md`).

use crate::planted::{self, PlantedFault};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Says which pairs of data sets must be indistinguishable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// One user's data is replaced by any other user's data.
    Replace,
    /// One user's data is present or left out.
    AddRemove,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Replace => "one user's data replaced by any other's",
            Self::AddRemove => "one user's data there or left out",
        })
    }
}

/// Describes how often one user takes part in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participation {
    /// Rounds in which one user takes part, at least 1.
    pub count: u64,
    /// Least distance in rounds between two participations of one user, at least 1; 0 if they may share a row of a stream.
    pub separation: u64,
}

impl Participation {
    /// A new user in every round.
    pub const ONCE: Self = Self { count: 1, separation: 1 };

    /// Returns the participation in rows that each hold at most `longest` rounds.
    /// At separation 0 all of a user's rounds may be in one row.
    #[must_use]
    pub fn in_rows_of(self, longest: u64) -> Self {
        Self { separation: self.separation / longest.max(1), ..self }
    }

    /// Returns the number of rounds of one user that noise of running sums covers.
    pub(crate) fn covered(&self) -> u64 {
        if planted::is(PlantedFault::Participations) { 1 } else { self.count }
    }

    /// Returns the number of releases of one user where each participation is a release of its own.
    pub(crate) fn releases(&self) -> u64 {
        if planted::is(PlantedFault::ReturningRewards) { 1 } else { self.count.max(1) }
    }

    /// Returns whether there is one participation.
    pub fn is_once(&self) -> bool {
        self.count <= 1
    }
}

impl Default for Participation {
    fn default() -> Self {
        Self::ONCE
    }
}

/// Returns the sensitivity of a scalar clipped to [lo, hi].
/// `hi - lo` for replaced data, the largest absolute value for data present or left out.
pub fn scalar(lo: f64, hi: f64, relation: Relation) -> f64 {
    match relation {
        Relation::Replace => hi - lo,
        Relation::AddRemove => lo.abs().max(hi.abs()),
    }
}

/// Returns the sensitivity of a vector clipped to L2 norm `radius`.
pub fn vector(radius: f64, relation: Relation) -> f64 {
    match relation {
        Relation::Replace if planted::is(PlantedFault::Neighbours) => radius,
        Relation::Replace => 2.0 * radius,
        Relation::AddRemove => radius,
    }
}

/// Bounds the L2 distance of vectors in `n` dimensions by their l_q distance, `q >= 2`.
/// The bound is `n^(1/2 - 1/q) distance`; for `q <= 2` it is `distance` itself. `q` may be infinite (E24).
pub fn from_lq(distance: f64, q: f64, n: usize) -> f64 {
    distance * libm::pow(n as f64, (0.5 - 1.0 / q).max(0.0))
}

/// Returns `mu²` of releasing `phi phi^T` and `y phi` with Gaussian noise, for the worst pair.
/// The matrix has off-diagonal standard deviation `sigma_gram`, the vector `sigma_reward`; `|phi| <= 1`, `|y| <= reward`,
/// without the corner (E7). Exact.
pub fn gram_and_reward_mu_squared(reward: f64, sigma_gram: f64, sigma_reward: f64, relation: Relation) -> f64 {
    let (gram, other) = (1.0 / (sigma_gram * sigma_gram), reward * reward / (sigma_reward * sigma_reward));
    match relation {
        // |phi phi^T|² / 2 = 1/2 and |y phi|² = Y².
        Relation::AddRemove => 0.5 * gram + other,
        // (1 - c²) gram + 2 (1 + c) other over c = phi·phi' in [-1, 1], with y' = -y: the maximum is at c = other/gram.
        Relation::Replace => {
            let c = (other / gram).min(1.0);
            (1.0 - c * c) * gram + 2.0 * (1.0 + c) * other
        }
    }
}

/// Returns the effective sensitivity of Gram matrix and reward vector at one common sigma.
/// `1 + Y²` for `Y <= 1`, `2Y` above; 1.25 for rewards in [0, 1] centred to [-1/2, 1/2].
pub fn gram_and_reward(reward: f64, relation: Relation) -> f64 {
    libm::sqrt(gram_and_reward_mu_squared(reward, 1.0, 1.0, relation))
}

#[cfg(test)]
mod tests {
    use super::super::reference_tests::{gram_with_corner, gram_with_corner_frobenius};
    use super::*;

    /// Compares the closed forms with a search over pairs in the plane.
    #[test]
    fn closed_forms_are_the_largest_distances() {
        for reward in [0.3, 0.5, 1.0, 1.1, 1.5, 3.0, 6.0] {
            let (mut corner, mut without, n) = (0.0_f64, 0.0_f64, 60);
            for i in 0..=n {
                let c = -1.0 + 2.0 * f64::from(i) / f64::from(n);
                for j in 0..=2 * n {
                    let b = reward * (f64::from(j) / f64::from(n) - 1.0);
                    let product = c + reward * b;
                    let gap = (1.0 + reward * reward).powi(2) + (1.0 + b * b).powi(2) - 2.0 * product * product;
                    corner = corner.max(gap);
                    // |Y phi - b phi'|² without the corner.
                    without = without.max(1.0 - c * c + reward * reward + b * b - 2.0 * reward * b * c);
                }
            }
            let (exact, found) = (gram_with_corner_frobenius(reward, Relation::Replace), corner.sqrt());
            assert!(found <= exact * (1.0 + 1e-12) && exact <= found * 1.002, "{reward}: {exact} {found}");
            let (exact, found) = (gram_and_reward(reward, Relation::Replace), without.sqrt());
            assert!(found <= exact * (1.0 + 1e-12) && exact <= found * 1.002, "{reward}: {exact} {found}");
        }
    }

    #[test]
    fn known_values() {
        let replace = Relation::Replace;
        assert_eq!(
            [gram_with_corner(1.0, replace), gram_and_reward(1.0, replace), gram_and_reward(0.5, replace)],
            [2.0, 2.0, 1.25]
        );
        assert!((gram_with_corner(6.0, replace) - 26.2).abs() < 0.05 && gram_and_reward(6.0, replace) == 12.0);
        assert_eq!((scalar(-1.0, 3.0, replace), scalar(-1.0, 3.0, Relation::AddRemove)), (4.0, 3.0));
        assert_eq!((vector(0.5, replace), from_lq(2.0, f64::INFINITY, 16), from_lq(2.0, 1.5, 16)), (1.0, 8.0, 2.0));
    }
}
