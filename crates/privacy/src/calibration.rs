//! Names the three calibrations of a paper's privacy claim, and sets the scale of noise by one.
//!
//! No other file compares calibrations: a mechanism states its event at a scale, the paper's formula if one prints it, and,
//! optionally, its least scale in closed form.

use super::{Delta, Epsilon, Event, Refusal, price};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Says how a paper's formulas set the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calibration {
    /// As printed, misprints included, to reproduce figures.
    /// The ledger says where no guarantee holds.
    AsPrinted,
    /// With the least change that makes the printed claim true.
    Corrected,
    /// With the same guarantee and the least noise for which it can be proved.
    #[default]
    Tight,
}

impl Calibration {
    /// All calibrations, in the order in which tables show them.
    pub const ALL: [Self; 3] = [Self::AsPrinted, Self::Corrected, Self::Tight];

    /// The calibration where none is stated.
    pub const DEFAULT: Self = Self::Tight;

    /// Their names, in the same order.
    pub const NAMES: [&'static str; 3] = ["as-printed", "corrected", "tight"];

    /// Returns the name that specs use.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns whether errata in a paper's algorithm are put right, beyond its noise.
    /// Then inputs are clipped even where the paper does not clip.
    pub fn corrects(self) -> bool {
        self != Self::AsPrinted
    }

    /// Returns whether the release may differ from the paper's.
    /// Then other laws of noise are allowed, rewards are centred, and each arm has a matrix of its own.
    pub fn redesigns(self) -> bool {
        self == Self::Tight
    }

    /// Returns the entry for this calibration, of three in the order of [`Calibration::ALL`].
    pub(crate) fn pick<T>(self, of_each: [T; 3]) -> T {
        let [printed, corrected, tight] = of_each;
        match self {
            Self::AsPrinted => printed,
            Self::Corrected => corrected,
            Self::Tight => tight,
        }
    }

    /// Returns the scale of a mechanism's noise.
    ///
    /// As printed it is the paper's; corrected, the paper's with its errata put right, but never below the least; tight, the
    /// least. Without a printed scale it is the least under every calibration.
    /// The least scale is the smallest at which the price of the event keeps the budget.
    pub(crate) fn scale(self, terms: NoiseTerms<'_>) -> Result<Scale, Refusal> {
        let NoiseTerms { budget: (epsilon, delta), releases, event, closed, least_formula, printed } = terms;
        let least = || {
            closed.or_else(|| price(&event(1.0)).times(releases).least_noise(epsilon, delta)).ok_or_else(|| {
                let at = delta.map_or("as a pure loss".to_owned(), |delta| format!("at `delta = {}`", delta.get()));
                let message = format!("no noise is known to keep `epsilon = {}` {at}", epsilon.get());
                Refusal::new("epsilon", message, "a larger epsilon")
            })
        };
        match (self, printed) {
            (Self::AsPrinted, Some((printed, _))) => Ok(printed),
            (Self::Corrected, Some((_, corrected))) => {
                let least = least()?;
                let formula = format!("{}, never below {least_formula}", corrected.formula);
                Ok(if corrected.size < least { Scale { size: least, formula } } else { corrected })
            }
            _ => Ok(Scale { size: least()?, formula: least_formula.to_owned() }),
        }
    }
}

/// Holds a scale of noise and the formula that set it.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// The number.
    pub size: f64,
    /// The formula in words.
    pub formula: String,
}

/// Holds what a mechanism states about the scale of its noise.
pub(crate) struct NoiseTerms<'a> {
    /// Privacy budget; no delta for a pure loss.
    pub(crate) budget: (Epsilon, Option<Delta>),
    /// Releases of one user with noise of their own, which keep the budget together.
    pub(crate) releases: u64,
    /// Returns the event at a scale.
    /// Its loss must shrink in proportion to the scale (rho: to its square).
    pub(crate) event: &'a dyn Fn(f64) -> Event,
    /// The least scale in closed form; `None` takes it from the event's price.
    pub(crate) closed: Option<f64>,
    /// Formula of the least scale, in words.
    pub(crate) least_formula: &'a str,
    /// The paper's scale as printed, and with its errata put right; `None` if no paper prints one.
    pub(crate) printed: Option<(Scale, Scale)>,
}

impl<'a> NoiseTerms<'a> {
    /// States the noise of one release of a user, whose least scale follows from the event's price, and that no paper prints.
    pub(crate) fn priced(
        epsilon: Epsilon,
        delta: Option<Delta>,
        event: &'a dyn Fn(f64) -> Event,
        least_formula: &'a str,
    ) -> Self {
        Self { budget: (epsilon, delta), releases: 1, event, closed: None, least_formula, printed: None }
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Calibration {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|calibration| calibration.name() == word);
        known.ok_or_else(|| format!("unknown calibration `{word}`, expected one of `as-printed`, `corrected`, `tight`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (calibration, name) in Calibration::ALL.into_iter().zip(Calibration::NAMES) {
            assert_eq!(calibration.to_string(), name);
            assert_eq!(name.parse(), Ok(calibration));
        }
        let refused = "tigth".parse::<Calibration>();
        assert_eq!(refused, Err("unknown calibration `tigth`, expected one of `as-printed`, `corrected`, `tight`".to_owned()));
    }
}
