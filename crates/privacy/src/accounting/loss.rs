//! Represents the loss of one release: the pair of output laws that is easiest to distinguish.

use super::shuffled;
use crate::Event;
use crate::event::mu_of_sums;
use serde::{Deserialize, Serialize};

/// Names the worst pair of output laws of one release.
/// Every variant except `Unbounded`, `Choice`, `Choices` and `Zcdp` stands for an exact pair of laws.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Loss {
    /// Some pair of inputs can be distinguished arbitrarily well.
    Unbounded,
    /// Gaussian noise: `N(mu, 1)` against `N(0, 1)`.
    Gaussian {
        /// Sensitivity over standard deviation.
        mu: f64,
    },
    /// Laplace noise of scale 1 at distance `epsilon`.
    Laplace {
        /// Sensitivity over scale.
        epsilon: f64,
    },
    /// Randomised response: a bit that is true with odds `e^epsilon`.
    /// It is as bad as any pure mechanism of this epsilon.
    Response {
        /// Privacy loss.
        epsilon: f64,
    },
    /// A law of two levels at ratio `e^epsilon`, whose high intervals do not overlap.
    TwoLevel {
        /// Logarithm of the ratio of the levels.
        epsilon: f64,
        /// Probability of the interval of the higher level.
        kept: f64,
    },
    /// A public coin chooses between randomised response and a density of two levels.
    Mixture {
        /// Epsilon of the randomised response.
        response: f64,
        /// Logarithm of the ratio of the density's levels.
        epsilon: f64,
        /// Probability of the density's interval of the higher level.
        kept: f64,
        /// Probability that the coin chooses the density.
        share: f64,
    },
    /// One choice by the exponential mechanism.
    /// The range of the scores changes by `epsilon` noise scales.
    Choice {
        /// Change of the range over the noise scale.
        epsilon: f64,
    },
    /// Choices by exponential mechanisms in rounds t, whose ranges are proportional to `sqrt(t)/(t + 1)`.
    /// Each depends on those before it.
    Choices {
        /// Sum over rounds of the squared change of the range over the noise scale.
        squares: f64,
        /// Number of rounds.
        rounds: u64,
    },
    /// Any mechanism of which only the concentrated bound is known.
    Zcdp {
        /// Bound on the Rényi divergence of order `a`, divided by `a`.
        rho: f64,
    },
}

impl Loss {
    /// Returns the loss of a simulated mechanism's event, from the event's own numbers.
    pub fn of(event: &Event) -> Self {
        let loss = match *event {
            // A projection keeps the column space of its input, so the output laws of neighbours are mutually singular (erratum
            // E16, `docs/privacy.md`). For data with columns = rows - 1 they need not be, but then nothing is proved (E17).
            Event::NonPrivate
            | Event::Unverified
            | Event::Projection { .. }
            | Event::Laplace { sensitivity: None, .. }
            | Event::GeneralizedGaussian { sensitivity: None, .. }
            | Event::GeneralizedGaussian { kappa: None, .. }
            | Event::Choices { squares: None, .. } => Self::Unbounded,
            // There is no single pair of laws: `price` alone prices this event.
            Event::Subsampled { .. } => Self::Unbounded,
            Event::Laplace { scale, sensitivity: Some(sensitivity) } => Self::Laplace { epsilon: sensitivity / scale },
            Event::TwoPoint { rare } => Self::Response { epsilon: shuffled::loss(rare, 2) },
            // Each answer by itself; `price` knows how others hide it.
            Event::Shuffled { levels: 0 | 1, .. } => Self::Unbounded,
            Event::Shuffled { rare, levels, .. } => {
                Self::TwoLevel { epsilon: shuffled::loss(rare, levels), kept: 1.0 - (levels - 1) as f64 * rare }
            }
            Event::TwoLevel { high, low } => {
                let (epsilon, kept) = levels(high, low);
                Self::TwoLevel { epsilon, kept }
            }
            Event::Response { right, wrong } => Self::TwoLevel { epsilon: libm::log1p((right - wrong) / wrong), kept: right },
            // Opposite inputs have caps that do not meet.
            Event::Cap { dimension, gap, rare, .. } if 3 <= dimension && 0.0 < gap && gap <= 1.0 => {
                Self::TwoLevel { epsilon: Event::cap_loss(dimension, gap, rare), kept: 1.0 - rare }
            }
            Event::Cap { .. } => Self::Unbounded,
            // Every vector is chosen with between 1 and `odds` times the least weight, whatever the input.
            Event::Ranks { odds, .. } => Self::Response { epsilon: libm::log(odds) },
            Event::Mixture { rare, high, low, two_level_share } => {
                let (epsilon, kept) = levels(high, low);
                Self::Mixture { response: shuffled::loss(rare, 2), epsilon, kept, share: two_level_share }
            }
            Event::Gaussian { sigma, sensitivity } => Self::Gaussian { mu: sensitivity / sigma },
            // The Rényi divergence of order a is at most a kappa s²/(2 sigma²), under adaptive choices too (E21).
            Event::GeneralizedGaussian { sigma, kappa: Some(kappa), sensitivity: Some(s) } => {
                Self::Zcdp { rho: 0.5 * kappa * s * s / (sigma * sigma) }
            }
            // A Gumbel choice has bounded range range/scale, a Laplace choice is pure at range/scale [CesarRogers2021]; costs
            // add up (E27, E29).
            Event::Choices { gumbel: true, squares: Some(squares), rounds } if 0 < rounds => Self::Choices { squares, rounds },
            Event::Choices { gumbel, squares: Some(squares), .. } => {
                Self::Zcdp { rho: if gumbel { 0.125 } else { 0.5 } * squares }
            }
            // Two weights that move apart by the whole range are the worst pair.
            Event::Choice { scale, sensitivity } => Self::Choice { epsilon: sensitivity / scale },
            Event::Sums { .. } => Self::Gaussian { mu: mu_of_sums(event) },
        };
        let size = match loss {
            Self::Unbounded => f64::INFINITY,
            Self::Gaussian { mu } => mu,
            Self::Zcdp { rho } => rho,
            Self::Choices { squares, .. } => squares,
            Self::Mixture { response, epsilon, .. } => response + epsilon,
            Self::Laplace { epsilon }
            | Self::Response { epsilon }
            | Self::TwoLevel { epsilon, .. }
            | Self::Choice { epsilon } => epsilon,
        };
        if size.is_finite() && 0.0 <= size { loss } else { Self::Unbounded }
    }

    /// Returns the loss of a group of `k >= 1` units that enter one mechanism.
    /// `self` is the loss of one unit. Gaussian: `k mu` [Dong2022, theorem 2.14]; pure: `k epsilon`; concentrated: `k² rho`
    /// [BunSteinke2016, proposition 27].
    #[must_use]
    pub fn of_group(self, k: u64) -> Self {
        let k = k as f64;
        match self {
            Self::Gaussian { mu } => Self::Gaussian { mu: k * mu },
            Self::Laplace { epsilon } => Self::Laplace { epsilon: k * epsilon },
            Self::Choice { epsilon } => Self::Choice { epsilon: k * epsilon },
            Self::Zcdp { rho } => Self::Zcdp { rho: k * k * rho },
            Self::Choices { squares, rounds } => Self::Choices { squares: k * k * squares, rounds },
            Self::Unbounded | Self::Response { .. } | Self::TwoLevel { .. } | Self::Mixture { .. } => match self.pure() {
                Some(epsilon) => Self::Response { epsilon: k * epsilon },
                None => Self::Unbounded,
            },
        }
    }

    /// Returns the pure privacy loss; `None` if the loss is not pure.
    pub fn pure(&self) -> Option<f64> {
        match *self {
            Self::Laplace { epsilon }
            | Self::Response { epsilon }
            | Self::TwoLevel { epsilon, .. }
            | Self::Choice { epsilon } => Some(epsilon),
            Self::Mixture { response, epsilon, .. } => Some(response.max(epsilon)),
            Self::Unbounded | Self::Gaussian { .. } | Self::Choices { .. } | Self::Zcdp { .. } => None,
        }
    }

    /// Returns the concentrated bound; infinite if no finite bound exists.
    pub fn rho(&self) -> f64 {
        match *self {
            Self::Unbounded => f64::INFINITY,
            Self::Gaussian { mu } => super::zcdp::of_gaussian(mu),
            Self::Zcdp { rho } => rho,
            Self::Choice { epsilon } => super::zcdp::of_choice(epsilon),
            Self::Choices { squares, .. } => super::zcdp::of_choice(libm::sqrt(squares)),
            _ => self.pure().map_or(f64::INFINITY, super::zcdp::of_pure),
        }
    }

    /// Returns `(probability, loss)` of each value of the privacy loss under the first law.
    /// Empty for losses with infinitely many values.
    pub fn atoms(&self) -> Vec<(f64, f64)> {
        let response = |weight: f64, epsilon: f64| {
            let lie = 1.0 / (1.0 + libm::exp(epsilon));
            vec![(weight * (1.0 - lie), epsilon), (weight * lie, -epsilon)]
        };
        let two_level = |weight: f64, epsilon: f64, kept: f64| {
            let other = kept * libm::exp(-epsilon);
            vec![(weight * kept, epsilon), (weight * other, -epsilon), (weight * (1.0 - kept - other), 0.0)]
        };
        match *self {
            Self::Response { epsilon } => response(1.0, epsilon),
            Self::TwoLevel { epsilon, kept } => two_level(1.0, epsilon, kept),
            Self::Mixture { response: coin, epsilon, kept, share } => {
                let mut all = response(1.0 - share, coin);
                all.extend(two_level(share, epsilon, kept));
                all
            }
            Self::Unbounded
            | Self::Gaussian { .. }
            | Self::Laplace { .. }
            | Self::Choice { .. }
            | Self::Choices { .. }
            | Self::Zcdp { .. } => Vec::new(),
        }
    }
}

/// Returns the logarithm of the levels' ratio and the probability of the higher level.
/// The probability is `s/(s + 1)` with `s = sqrt(high/low)` [Wang2019, algorithm 2].
fn levels(high: f64, low: f64) -> (f64, f64) {
    let epsilon = libm::log1p((high - low) / low);
    (epsilon, 1.0 / (1.0 + libm::exp(-0.5 * epsilon)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_complete_on_both_sides() {
        for loss in [
            Loss::Response { epsilon: 1.3 },
            Loss::TwoLevel { epsilon: 2.0, kept: 0.7 },
            Loss::Mixture { response: 1.0, epsilon: 1.0, kept: 0.6, share: 0.3 },
        ] {
            let first: f64 = loss.atoms().iter().map(|(p, _)| p).sum();
            let second: f64 = loss.atoms().iter().map(|(p, l)| p * libm::exp(-l)).sum();
            assert!((first - 1.0).abs() < 1e-15 && (second - 1.0).abs() < 1e-14, "{loss:?}: {first} {second}");
        }
    }
}
