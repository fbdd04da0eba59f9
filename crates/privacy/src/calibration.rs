//! Converts between (epsilon, delta) and the standard deviation of Gaussian noise.
//!
//! This is the analytic Gaussian mechanism [BalleWang2018, theorem 8] in the notation of Gaussian differential privacy
//! (Dong2022). The sensitivity is 1 throughout; this file holds no mechanism and draws no random numbers.
//!
//! `delta(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)`, with `mu = sensitivity / sigma`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How a paper's formulas are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Calibration {
    /// To the letter, misprints included, for reproducing figures; the ledger says where there is no guarantee.
    AsPrinted,
    /// The least change that makes the printed claim true.
    Corrected,
    /// The same guarantee with the least noise that can be proved.
    #[default]
    Tight,
}

impl Calibration {
    /// All calibrations, in the order in which they are shown next to each other.
    pub const ALL: [Self; 3] = [Self::AsPrinted, Self::Corrected, Self::Tight];

    /// Their names, in the same order.
    pub const NAMES: [&'static str; 3] = ["as-printed", "corrected", "tight"];

/// Returns the smallest epsilon at which `mu`-Gaussian noise is (epsilon, delta)-private.
/// The result is 0 where `delta` alone covers the loss.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AsPrinted => "as-printed",
            Self::Corrected => "corrected",
            Self::Tight => "tight",
        }
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no calibration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownCalibration(pub String);

impl fmt::Display for UnknownCalibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown calibration `{}`, expected one of `as-printed`, `corrected`, `tight`", self.0)
    }
}

impl std::error::Error for UnknownCalibration {}

impl FromStr for Calibration {
    type Err = UnknownCalibration;

    fn from_str(word: &str) -> Result<Self, UnknownCalibration> {
        Self::ALL.into_iter().find(|calibration| calibration.name() == word).ok_or_else(|| UnknownCalibration(word.to_owned()))
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
        let refused = "tigth".parse::<Calibration>().map_err(|e| e.to_string());
        assert_eq!(refused, Err("unknown calibration `tigth`, expected one of `as-printed`, `corrected`, `tight`".to_owned()));
    }
}
