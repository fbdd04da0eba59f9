//! What an event costs. Prices from the event's own numbers, never from what a mechanism claims, so that the two can be
//! compared.

use super::accounting::{subsampled, zcdp};
use super::event::mu_of_sums;
use super::{Delta, Event, gdp_epsilon};

/// The price of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrivacyLoss {
    /// No loss is bounded: some pair of inputs can be told apart for certain, or as surely as one likes.
    Unbounded,
    /// Pure: the loss is at most this, whatever delta.
    Pure {
        /// The privacy loss.
        epsilon: f64,
    },
    /// As private as Gaussian noise of standard deviation 1/mu at sensitivity 1.
    Gaussian {
        /// Sensitivity over standard deviation.
        mu: f64,
    },
    /// Concentrated: the Rényi divergence of order a is at most a rho.
    Concentrated {
        /// The bound over the order.
        rho: f64,
    },
    /// At most as bad as noisy gradients of secretly drawn samples (`accounting::subsampled`).
    Subsampled {
        /// Sensitivity over standard deviation.
        distance: f64,
        /// Samples.
        n_samples: u64,
        /// Steps.
        steps: u64,
    },
}

impl PrivacyLoss {
    /// The privacy loss at this failure probability (`None`: pure claims only). `None` if infinite.
    #[must_use]
    pub fn epsilon(self, delta: Option<Delta>) -> Option<f64> {
        match (self, delta) {
            (Self::Unbounded, _) | (Self::Gaussian { .. } | Self::Concentrated { .. } | Self::Subsampled { .. }, None) => None,
            (Self::Concentrated { rho }, Some(delta)) => Some(zcdp::epsilon(rho, delta)),
            (Self::Subsampled { distance, n_samples, steps }, Some(delta)) => {
                Some(subsampled::epsilon(distance, n_samples, steps, delta))
            }
            (Self::Pure { epsilon }, _) => Some(epsilon),
            (Self::Gaussian { mu }, Some(delta)) => Some(gdp_epsilon(mu, delta)),
        }
    }
}

/// Prices one event.
#[must_use]
pub fn price(event: &Event) -> PrivacyLoss {
    match *event {
        // A projection keeps the column space of its input: neighbours give mutually singular laws (E16). With as many
        // columns as rows less one they need not, but then nothing is proved (E17).
        Event::NonPrivate | Event::Projection { .. } | Event::Laplace { sensitivity: None, .. } => PrivacyLoss::Unbounded,
        // Two densities exp(-|z - y|/scale) differ by at most |y - y'|/scale in the logarithm.
        Event::Laplace { scale, sensitivity: Some(sensitivity) } => pure(sensitivity / scale),
        Event::TwoPoint { rare } => pure(odds(rare)),
        Event::TwoLevel { high, low } => pure(levels(high, low)),
        // The branch is visible in the output (two atoms against a density), so the worse branch counts.
        Event::Mixture { rare, high, low, .. } => pure(odds(rare).max(levels(high, low))),
        Event::Gaussian { sigma, sensitivity } => gaussian(sensitivity / sigma),
        Event::Sums { factor, releases, gram_sigma, moment_sigma, reward } => {
            gaussian(mu_of_sums(factor, releases, (gram_sigma, moment_sigma), reward))
        }
        Event::GeneralizedGaussian { sensitivity: None, .. }
        | Event::GeneralizedGaussian { kappa: None, .. }
        | Event::Choices { squares: None, .. }
        | Event::Subsampled { sensitivity: None, .. } => PrivacyLoss::Unbounded,
        // D_a <= a kappa s²/(2 sigma²), adaptively (E21).
        Event::GeneralizedGaussian { sigma, kappa: Some(kappa), sensitivity: Some(s) } => {
            concentrated(0.5 * kappa * s * s / (sigma * sigma))
        }
        // Each choice is pure at range/scale, or of bounded range there [CesarRogers2021]; the sum of what each costs (E27, E29).
        Event::Choices { gumbel, squares: Some(squares) } => concentrated(if gumbel { 0.125 } else { 0.5 } * squares),
        Event::Subsampled { sigma, sensitivity: Some(sensitivity), n_samples, steps } => {
            let distance = sensitivity / sigma;
            if distance.is_finite() { PrivacyLoss::Subsampled { distance, n_samples, steps } } else { PrivacyLoss::Unbounded }
        }
    }
}

fn odds(rare: f64) -> f64 {
    // ln((1 - rare)/rare), with 1 - rare not rounded.
    libm::log1p(-rare) - libm::log(rare)
}

fn levels(high: f64, low: f64) -> f64 {
    // Accurate near ratio 1; a quotient that overflows is an unbounded loss and comes out as infinity.
    libm::log1p((high - low) / low)
}

fn concentrated(rho: f64) -> PrivacyLoss {
    if rho.is_finite() { PrivacyLoss::Concentrated { rho } } else { PrivacyLoss::Unbounded }
}

fn gaussian(mu: f64) -> PrivacyLoss {
    if mu.is_finite() { PrivacyLoss::Gaussian { mu } } else { PrivacyLoss::Unbounded }
}

fn pure(epsilon: f64) -> PrivacyLoss {
    if epsilon.is_finite() { PrivacyLoss::Pure { epsilon } } else { PrivacyLoss::Unbounded }
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
