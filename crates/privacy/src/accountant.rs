//! Prices one event: the privacy loss that it delivers.
//!
//! The price is computed from the event's own numbers, never from the mechanism's claim, so that the two can be compared.

use super::accounting::{Loss, choices, shuffled, subsampled, zcdp};
use super::{Delta, Epsilon, Event, analytic_gaussian_sigma, gdp_epsilon};

/// Bounds the privacy loss of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrivacyLoss {
    /// No finite bound exists: some pair of inputs can be distinguished with probability near 1.
    Unbounded,
    /// Pure differential privacy: the loss is at most `epsilon` for every delta.
    Pure {
        /// Bound on the privacy loss.
        epsilon: f64,
    },
    /// As private as Gaussian noise of standard deviation `1/mu` at sensitivity 1.
    Gaussian {
        /// Sensitivity over standard deviation.
        mu: f64,
    },
    /// Zero-concentrated privacy: the Rényi divergence of order `a` is at most `a rho`.
    Concentrated {
        /// Bound on the divergence of order `a`, divided by `a`.
        rho: f64,
    },
    /// At most that of choices that depend on earlier ones (`accounting::choices`).
    Choices {
        /// Sum over rounds of the squared change of the scores' range over the noise scale.
        squares: f64,
        /// Number of rounds.
        rounds: u64,
    },
    /// At most the loss of noisy gradients of secretly drawn samples (`accounting::subsampled`).
    Subsampled {
        /// Sensitivity over standard deviation of the noise.
        distance: f64,
        /// Number of samples.
        n_samples: u64,
        /// Number of steps.
        steps: u64,
    },
    /// At most that of the numbers of randomised answers (`accounting::shuffled`).
    Shuffled {
        /// Probability of each other level's answer.
        rare: f64,
        /// Number of levels.
        levels: u64,
        /// Number of answers.
        users: u64,
    },
}

impl PrivacyLoss {
    /// Returns epsilon at failure probability `delta`; without `delta`, that of a pure loss only.
    /// `None` if epsilon is infinite, or if `delta` is missing for a loss that is not pure.
    pub fn epsilon(self, delta: Option<Delta>) -> Option<f64> {
        match (self, delta) {
            (Self::Unbounded, _)
            | (Self::Gaussian { .. } | Self::Concentrated { .. } | Self::Choices { .. } | Self::Subsampled { .. }, None) => None,
            (Self::Concentrated { rho }, Some(delta)) => Some(zcdp::epsilon(rho, delta)),
            (Self::Choices { squares, rounds }, Some(delta)) => Some(choices::epsilon(squares, rounds, delta)),
            (Self::Subsampled { distance, n_samples, steps }, Some(delta)) => {
                Some(subsampled::epsilon(distance, n_samples, steps, delta))
            }
            (Self::Pure { epsilon }, _) => Some(epsilon),
            (Self::Shuffled { rare, levels, .. }, None) => Some(shuffled::loss(rare, levels)),
            (Self::Shuffled { rare, levels, users }, Some(delta)) => Some(shuffled::epsilon(rare, levels, users, delta)),
            (Self::Gaussian { mu }, Some(delta)) => Some(gdp_epsilon(mu, delta)),
        }
    }

    /// Returns the loss of `count` releases with noise of their own, chosen adaptively.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        let k = count as f64;
        match self {
            _ if count == 1 => self,
            Self::Pure { epsilon } => Self::Pure { epsilon: k * epsilon },
            Self::Gaussian { mu } => Self::Gaussian { mu: libm::sqrt(k) * mu },
            Self::Concentrated { rho } => Self::Concentrated { rho: k * rho },
            Self::Choices { squares, .. } => Self::Concentrated { rho: k * zcdp::of_choice(libm::sqrt(squares)) },
            // Both answers of a user may be mixed with the same others: the answers' own losses add up.
            Self::Shuffled { rare, levels, .. } => Self::Pure { epsilon: k * shuffled::loss(rare, levels) },
            Self::Unbounded | Self::Subsampled { .. } => Self::Unbounded,
        }
    }

    /// Returns the least factor by which all noise must grow for this loss to keep the budget.
    /// It is the inverse of [`PrivacyLoss::epsilon`]: pure losses and `mu` shrink like the factor, `rho` and `squares` like its square.
    /// `None` if no noise keeps the budget.
    pub fn least_noise(self, epsilon: Epsilon, delta: Option<Delta>) -> Option<f64> {
        match (self, delta) {
            (Self::Pure { epsilon: unit }, _) => Some(unit / epsilon.get()),
            (Self::Gaussian { mu }, Some(delta)) => Some(mu * analytic_gaussian_sigma(epsilon, delta)),
            (Self::Concentrated { rho }, Some(delta)) => Some(libm::sqrt(rho / zcdp::rho(epsilon, delta))),
            (Self::Choices { squares, rounds }, Some(delta)) => {
                Some(libm::sqrt(squares / choices::squares(epsilon, rounds, delta)))
            }
            (Self::Subsampled { distance, n_samples, steps }, Some(delta)) => {
                let kept = subsampled::distance(epsilon.get(), n_samples, steps, delta);
                (0.0 < kept).then(|| distance / kept)
            }
            _ => None,
        }
    }
}

/// Prices one event by its worst pair of output laws.
/// Secretly drawn samples and shuffled answers have a computation of their own.
pub fn price(event: &Event) -> PrivacyLoss {
    if let Event::Subsampled { sigma, sensitivity: Some(sensitivity), n_samples, steps } = *event {
        let distance = sensitivity / sigma;
        return if distance.is_finite() {
            PrivacyLoss::Subsampled { distance, n_samples, steps }
        } else {
            PrivacyLoss::Unbounded
        };
    }
    match (Loss::of(event), *event) {
        (loss, Event::Shuffled { rare, levels, users }) if loss != Loss::Unbounded => {
            PrivacyLoss::Shuffled { rare, levels, users }
        }
        (Loss::Gaussian { mu }, _) => PrivacyLoss::Gaussian { mu },
        (Loss::Zcdp { rho }, _) => PrivacyLoss::Concentrated { rho },
        (Loss::Choices { squares, rounds }, _) => PrivacyLoss::Choices { squares, rounds },
        (loss, _) => loss.pure().map_or(PrivacyLoss::Unbounded, |epsilon| PrivacyLoss::Pure { epsilon }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_by_hand() {
        assert_eq!(price(&Event::NonPrivate), PrivacyLoss::Unbounded);
        assert_eq!(price(&Event::Laplace { scale: 2.0, sensitivity: Some(4.0) }), PrivacyLoss::Pure { epsilon: 2.0 });
        assert_eq!(price(&Event::Laplace { scale: 2.0, sensitivity: None }), PrivacyLoss::Unbounded);
        assert_eq!(price(&Event::Laplace { scale: 0.0, sensitivity: Some(1.0) }), PrivacyLoss::Unbounded);
        assert_eq!(price(&Event::TwoPoint { rare: 0.0 }), PrivacyLoss::Unbounded);
        let three = Event::Mixture { rare: 0.25, high: 3.0, low: 1.5, two_level_share: 0.5 };
        assert!(price(&three).epsilon(None).is_some_and(|e| (e - libm::log(3.0)).abs() < 1e-15));
        let gaussian = price(&Event::Gaussian { sigma: 2.0, sensitivity: 1.0 });
        assert_eq!(gaussian, PrivacyLoss::Gaussian { mu: 0.5 });
        assert_eq!(gaussian.epsilon(None), None);
    }
}
