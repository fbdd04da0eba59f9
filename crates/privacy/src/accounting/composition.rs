//! Prices many releases about the same user, where later ones may depend on earlier results.

use super::pld::{Pld, Side};
use super::renyi::least_epsilon;
use super::search::bisect;
use super::{Loss, choices, renyi};
use crate::{Delta, Epsilon, gaussian_delta, gdp_epsilon};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Largest number of grid points of a numerical distribution.
const POINTS: usize = 4096;
/// Grid steps per smallest loss.
const STEPS: f64 = 1024.0;

/// Says how a price was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriceMethod {
    /// Gaussian noise throughout: composed into one Gaussian mechanism, exactly (Dong2022).
    Gaussian,
    /// One pure release at delta 0, or a sum of pure losses.
    Pure,
    /// The distribution of the loss on a grid, enclosed from both sides.
    Distribution,
    /// All outcomes are counted.
    Enumeration,
    /// The worst sequence of choices, each depending on those before; an upper bound.
    Adaptive,
    /// Rényi divergences; an upper bound.
    Renyi,
    /// No finite bound exists.
    Unbounded,
}

impl fmt::Display for PriceMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gaussian => "exact: Gaussian privacy composes to one Gaussian",
            Self::Pure => "sum of pure losses",
            Self::Distribution => "privacy-loss distribution, enclosed from both sides",
            Self::Enumeration => "an enumeration of all outcomes",
            Self::Adaptive => "the worst choices that depend on earlier ones, an upper bound",
            Self::Renyi => "Renyi divergences, an upper bound",
            Self::Unbounded => "nothing is bounded",
        })
    }
}

/// Encloses a figure between two bounds; a claim must use `upper`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bracket {
    /// Lower bound; 0 where only an upper bound is known.
    pub lower: f64,
    /// Upper bound; infinite if no finite bound exists.
    pub upper: f64,
    /// How the bounds were computed.
    pub method: PriceMethod,
}

/// Lists releases and their counts; adaptive composition is allowed throughout.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Composition {
    parts: Vec<(Loss, u64)>,
}

impl Composition {
    /// Makes a composition of one release.
    pub fn of(loss: Loss) -> Self {
        Self::default().and(loss, 1)
    }

    /// Adds a release that happens `count` times.
    #[must_use]
    pub fn and(mut self, loss: Loss, count: u64) -> Self {
        if 0 < count {
            self.parts.push((loss, count));
        }
        self
    }

    /// Returns the composition for a user who takes part `participations` times.
    #[must_use]
    pub fn times(mut self, participations: u64) -> Self {
        self.parts.iter_mut().for_each(|(_, count)| *count = count.saturating_mul(participations));
        self
    }

    /// Returns the releases and their counts.
    pub fn parts(&self) -> &[(Loss, u64)] {
        &self.parts
    }

    /// Returns the pure loss; `None` unless every part is pure.
    pub fn pure(&self) -> Option<f64> {
        self.parts.iter().map(|(loss, count)| loss.pure().map(|epsilon| epsilon * *count as f64)).sum()
    }

    /// Returns the concentrated bound; infinite if no finite bound exists.
    pub fn rho(&self) -> f64 {
        self.parts.iter().map(|(loss, count)| loss.rho() * *count as f64).sum()
    }

    /// Returns `mu` of the equivalent Gaussian mechanism; `None` if a part is not Gaussian.
    pub fn mu(&self) -> Option<f64> {
        let squares: Option<f64> = self
            .parts
            .iter()
            .map(|(loss, count)| match loss {
                Loss::Gaussian { mu } => Some(mu * mu * *count as f64),
                _ => None,
            })
            .sum();
        squares.map(libm::sqrt)
    }

    /// Returns the failure probability at `epsilon >= 0`.
    pub fn delta(&self, epsilon: f64) -> Bracket {
        self.solver().delta(epsilon)
    }

    /// Returns the least epsilon at `delta`.
    pub fn epsilon(&self, delta: Delta) -> Bracket {
        self.solver().epsilon(delta)
    }

    /// Computes the loss distribution once, to answer many queries.
    pub fn solver(&self) -> Solver<'_> {
        let unbounded = self.parts.iter().any(|(loss, _)| *loss == Loss::Unbounded);
        let plds = if unbounded || self.mu().is_some() {
            None
        } else {
            self.distribution(Side::Lower).zip(self.distribution(Side::Upper))
        };
        Solver { composition: self, unbounded, plds }
    }

    fn distribution(&self, side: Side) -> Option<Pld> {
        // All Gaussian parts compose to one Gaussian.
        let mut parts: Vec<(Loss, u64)> =
            self.parts.iter().filter(|(loss, _)| !matches!(loss, Loss::Gaussian { .. })).copied().collect();
        let gaussian =
            Self { parts: self.parts.iter().filter(|(loss, _)| matches!(loss, Loss::Gaussian { .. })).copied().collect() };
        if let Some(mu) = gaussian.mu()
            && 0.0 < mu
        {
            parts.push((Loss::Gaussian { mu }, 1));
        }
        let alike = parts.iter().all(|(loss, _)| loss.pure() == parts[0].0.pure());
        let mut whole: Option<Pld> = None;
        for (loss, count) in &parts {
            let size = match loss {
                Loss::Gaussian { mu } => 4.0 * mu,
                _ => loss.pure()?,
            };
            if size == 0.0 {
                continue;
            }
            // Losses of one kind lie on grid points; different kinds share a grid whose step is a power of two.
            let step = if alike { size / STEPS } else { libm::exp2(libm::floor(libm::log2(size / STEPS))) };
            if !(step / 64.0).is_normal() {
                return None;
            }
            let mut part = Pld::of(loss, side, step)?.repeated(*count, POINTS);
            whole = Some(part.after(whole, POINTS));
        }
        whole.or_else(|| Pld::of(&Loss::Gaussian { mu: 0.0 }, side, 1.0))
    }
}

/// Answers queries about one composition.
#[derive(Debug)]
pub struct Solver<'a> {
    composition: &'a Composition,
    unbounded: bool,
    plds: Option<(Pld, Pld)>,
}

impl Solver<'_> {
    /// Returns the failure probability at `epsilon >= 0`.
    pub fn delta(&self, epsilon: f64) -> Bracket {
        if self.unbounded {
            return Bracket { lower: 1.0, upper: 1.0, method: PriceMethod::Unbounded };
        }
        if let Some(mu) = self.composition.mu() {
            let exact = gaussian_delta(epsilon, mu);
            return Bracket { lower: exact, upper: exact, method: PriceMethod::Gaussian };
        }
        if self.composition.pure().is_some_and(|pure| pure <= epsilon) {
            return Bracket { lower: 0.0, upper: 0.0, method: PriceMethod::Pure };
        }
        if let [(Loss::Choices { squares, rounds }, 1)] = self.composition.parts[..] {
            let upper = choices::delta(squares, rounds, epsilon);
            return Bracket { lower: 0.0, upper, method: PriceMethod::Adaptive };
        }
        if let Some((lower, upper)) = &self.plds {
            return Bracket { lower: lower.delta(epsilon), upper: upper.delta(epsilon), method: PriceMethod::Distribution };
        }
        Bracket { lower: 0.0, upper: renyi::delta(|order| self.divergence(order), epsilon), method: PriceMethod::Renyi }
    }

    /// Returns the least epsilon at `delta`.
    pub fn epsilon(&self, delta: Delta) -> Bracket {
        let nothing = Bracket { lower: 0.0, upper: f64::INFINITY, method: PriceMethod::Unbounded };
        if self.unbounded {
            return nothing;
        }
        if let Some(mu) = self.composition.mu() {
            let exact = gdp_epsilon(mu, delta);
            if exact.is_infinite() {
                return nothing;
            }
            return Bracket { lower: exact, upper: exact, method: PriceMethod::Gaussian };
        }
        if let [(Loss::Choices { squares, rounds }, 1)] = self.composition.parts[..] {
            let upper = choices::epsilon(squares, rounds, delta);
            return Bracket { lower: 0.0, upper, method: PriceMethod::Adaptive };
        }
        let pure = self.composition.pure().unwrap_or(f64::INFINITY);
        let (lower, upper, method) = match &self.plds {
            Some((lower, upper)) => (
                least_epsilon(|epsilon| lower.delta(epsilon) <= delta.get()).unwrap_or(0.0),
                least_epsilon(|epsilon| upper.delta(epsilon) <= delta.get()).unwrap_or(f64::INFINITY),
                PriceMethod::Distribution,
            ),
            None => (0.0, renyi::epsilon(|order| self.divergence(order), delta).unwrap_or(f64::INFINITY), PriceMethod::Renyi),
        };
        if pure < upper {
            Bracket { lower: lower.min(pure), upper: pure, method: PriceMethod::Pure }
        } else {
            Bracket { lower, upper, method }
        }
    }

    fn divergence(&self, order: f64) -> f64 {
        self.composition.parts.iter().map(|(loss, count)| *count as f64 * renyi::divergence(loss, order)).sum()
    }
}

/// Returns the least size of noise whose composition keeps (epsilon, delta).
/// `of` maps a size > 0 to the composition of what is released; more noise must mean less loss. `None` if no size between 1e-12
/// and 1e12 keeps the budget. Relative accuracy 1e-9, rounded to the private side.
pub fn least_noise(of: impl Fn(f64) -> Composition, epsilon: Epsilon, delta: Option<Delta>) -> Option<f64> {
    let keeps = |size: f64| {
        let composition = of(size);
        match delta {
            None => composition.pure().is_some_and(|pure| pure <= epsilon.get()),
            Some(delta) => composition.delta(epsilon.get()).upper <= delta.get(),
        }
    };
    let (mut no, mut yes) = (1.0, 1.0);
    while !keeps(yes) {
        (no, yes) = (yes, 2.0 * yes);
        if 1e12 < yes {
            return None;
        }
    }
    while keeps(no) {
        (yes, no) = (no, 0.5 * no);
        if no < 1e-12 {
            return Some(yes);
        }
    }
    Some(bisect(no, yes, 1e-9, keeps))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{delta, epsilon};

    #[test]
    fn gaussians_of_all_sizes_are_one() {
        let all = Composition::of(Loss::Gaussian { mu: 0.3 }).and(Loss::Gaussian { mu: 0.4 }, 4).times(2);
        assert!(all.mu().is_some_and(|mu| (mu * mu - 2.0 * (0.09 + 0.64)).abs() < 1e-14));
        assert_eq!(all.epsilon(delta(1e-5)).method, PriceMethod::Gaussian);
    }

    /// Checks the enclosure of mixed releases.
    /// It is narrow, below the Rényi bound and below the sum of the pure losses.
    #[test]
    fn mixed_releases_are_enclosed() {
        let mixed = Composition::of(Loss::Gaussian { mu: 0.5 })
            .and(Loss::Laplace { epsilon: 0.2 }, 30)
            .and(Loss::Mixture { response: 0.3, epsilon: 0.3, kept: 0.55, share: 0.2 }, 10);
        let found = mixed.epsilon(delta(1e-6));
        let solver = Solver { composition: &mixed, unbounded: false, plds: None };
        let bound = solver.epsilon(delta(1e-6));
        assert_eq!((found.method, bound.method), (PriceMethod::Distribution, PriceMethod::Renyi));
        assert!(found.lower <= found.upper && found.upper < bound.upper, "{found:?} {bound:?}");
        assert!(found.upper - found.lower < 0.02 * found.upper, "{found:?}");
        // At the epsilon of the upper bound, delta is kept.
        assert!(mixed.delta(found.upper).upper <= 1e-6 * (1.0 + 1e-9));
        assert!(1e-6 * (1.0 - 1e-9) <= mixed.delta(found.lower * (1.0 - 1e-9)).lower);
    }

    #[test]
    fn more_is_never_cheaper() {
        let laplace = Loss::Laplace { epsilon: 0.1 };
        let at = |count, d| Composition::default().and(laplace, count).epsilon(delta(d)).upper;
        assert!(at(10, 1e-5) < at(40, 1e-5) && at(40, 1e-5) < at(200, 1e-5));
        assert!(at(40, 1e-3) < at(40, 1e-6));
        assert!(at(1, 1e-6) <= 0.1);
        assert!(at(200, 1e-5) < 0.4 * 20.0, "far below the sum of the losses");
    }

    #[test]
    fn choices_take_renyi_divergences() {
        let choices = Composition::default().and(Loss::Choice { epsilon: 0.1 }, 100);
        let found = choices.epsilon(delta(1e-5));
        assert_eq!(found.method, PriceMethod::Renyi);
        let by_rho = super::super::zcdp::epsilon(choices.rho(), delta(1e-5));
        assert!((found.upper - by_rho).abs() < 1e-6 * by_rho, "{} {by_rho}", found.upper);
        assert_eq!(Composition::of(Loss::Unbounded).epsilon(delta(0.1)).upper, f64::INFINITY);
    }

    #[test]
    fn the_least_noise_keeps_the_budget_and_less_breaks_it() {
        let (e, d) = (epsilon(2.0), delta(1e-5));
        let of = |scale: f64| Composition::default().and(Loss::Laplace { epsilon: 1.0 / scale }, 20);
        let pure = least_noise(of, e, None).expect("a scale");
        assert!((pure - 10.0).abs() < 1e-7);
        let approximate = least_noise(of, e, Some(d)).expect("a scale");
        assert!(approximate < pure);
        assert!(of(approximate).delta(2.0).upper <= 1e-5 && 1e-5 < of(0.99 * approximate).delta(2.0).upper);
    }
}
