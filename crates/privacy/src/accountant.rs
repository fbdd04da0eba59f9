//! Prices one event: the privacy loss that it delivers.
//!
//! The price is computed from the event's own numbers, never from the mechanism's claim, so that the two can be compared.

use super::accounting::{Loss, choices, shuffled, subsampled, zcdp};
use super::{Delta, Epsilon, Event, analytic_gaussian_sigma, gdp_epsilon};

/// Bounds the privacy loss of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrivacyLoss {
    /// At most that of one pair of output laws; a pure one is priced by its epsilon alone.
    Pair(Loss),
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
    /// Returns the pure loss of one event by itself; `None` if it is not pure.
    fn pure(self) -> Option<f64> {
        match self {
            Self::Pair(loss) => loss.pure(),
            Self::Shuffled { rare, levels, .. } => Some(shuffled::loss(rare, levels)),
            Self::Subsampled { .. } => None,
        }
    }

    /// Returns epsilon at failure probability `delta`; without `delta`, that of a pure loss only.
    /// `None` if epsilon is infinite, or if `delta` is missing for a loss that is not pure.
    pub fn epsilon(self, delta: Option<Delta>) -> Option<f64> {
        match (self, delta) {
            (Self::Shuffled { rare, levels, users }, Some(delta)) => Some(shuffled::epsilon(rare, levels, users, delta)),
            (Self::Subsampled { distance, n_samples, steps }, Some(delta)) => {
                Some(subsampled::epsilon(distance, n_samples, steps, delta))
            }
            (Self::Pair(Loss::Gaussian { mu }), Some(delta)) => Some(gdp_epsilon(mu, delta)),
            (Self::Pair(Loss::Zcdp { rho }), Some(delta)) => Some(zcdp::epsilon(rho, delta)),
            (Self::Pair(Loss::Choices { squares, rounds }), Some(delta)) => Some(choices::epsilon(squares, rounds, delta)),
            _ => self.pure(),
        }
    }

    /// Returns the loss of `count` releases with noise of their own, chosen adaptively.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        let k = count as f64;
        Self::Pair(match self {
            _ if count == 1 => return self,
            Self::Pair(Loss::Gaussian { mu }) => Loss::Gaussian { mu: libm::sqrt(k) * mu },
            Self::Pair(Loss::Zcdp { rho }) => Loss::Zcdp { rho: k * rho },
            Self::Pair(Loss::Choices { squares, .. }) => Loss::Zcdp { rho: k * zcdp::of_choice(libm::sqrt(squares)) },
            // Both answers of a user may be mixed with the same others: the answers' own losses add up.
            _ => self.pure().map_or(Loss::Unbounded, |epsilon| Loss::Response { epsilon: k * epsilon }),
        })
    }

    /// Returns the least factor by which all noise must grow for this loss to keep the budget.
    /// It is the inverse of [`PrivacyLoss::epsilon`]: pure losses and `mu` shrink like the factor, `rho` and `squares` like its square.
    /// `None` if no noise keeps the budget.
    pub fn least_noise(self, epsilon: Epsilon, delta: Option<Delta>) -> Option<f64> {
        match (self, delta) {
            (Self::Pair(Loss::Gaussian { mu }), Some(delta)) => Some(mu * analytic_gaussian_sigma(epsilon, delta)),
            (Self::Pair(Loss::Zcdp { rho }), Some(delta)) => Some(libm::sqrt(rho / zcdp::rho(epsilon, delta))),
            (Self::Pair(Loss::Choices { squares, rounds }), Some(delta)) => {
                Some(libm::sqrt(squares / choices::squares(epsilon, rounds, delta)))
            }
            (Self::Pair(loss), _) => loss.pure().map(|unit| unit / epsilon.get()),
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
    match (Loss::of(event), *event) {
        (_, Event::Subsampled { sigma, sensitivity: Some(sensitivity), n_samples, steps })
            if (sensitivity / sigma).is_finite() =>
        {
            PrivacyLoss::Subsampled { distance: sensitivity / sigma, n_samples, steps }
        }
        (loss, Event::Shuffled { rare, levels, users }) if loss != Loss::Unbounded => {
            PrivacyLoss::Shuffled { rare, levels, users }
        }
        (loss, _) => PrivacyLoss::Pair(loss),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_by_hand() {
        assert_eq!(price(&Event::NonPrivate), PrivacyLoss::Pair(Loss::Unbounded));
        assert_eq!(
            price(&Event::Laplace { scale: 2.0, sensitivity: Some(4.0) }),
            PrivacyLoss::Pair(Loss::Laplace { epsilon: 2.0 })
        );
        assert_eq!(price(&Event::Laplace { scale: 2.0, sensitivity: None }), PrivacyLoss::Pair(Loss::Unbounded));
        assert_eq!(price(&Event::Laplace { scale: 0.0, sensitivity: Some(1.0) }), PrivacyLoss::Pair(Loss::Unbounded));
        assert_eq!(price(&Event::Gaussian { sigma: 0.0, sensitivity: 1.0 }), PrivacyLoss::Pair(Loss::Unbounded));
        assert_eq!(price(&Event::TwoPoint { rare: 0.0 }), PrivacyLoss::Pair(Loss::Unbounded));
        let three = Event::Mixture { rare: 0.25, high: 3.0, low: 1.5, two_level_share: 0.5 };
        assert!(price(&three).epsilon(None).is_some_and(|e| (e - libm::log(3.0)).abs() < 1e-15));
        let gaussian = price(&Event::Gaussian { sigma: 2.0, sensitivity: 1.0 });
        assert_eq!(gaussian, PrivacyLoss::Pair(Loss::Gaussian { mu: 0.5 }));
        assert_eq!(gaussian.epsilon(None), None);
    }
}
