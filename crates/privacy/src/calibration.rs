//! Names the three calibrations of a paper's privacy claim.
//! The files of `mechanism` say what each calibration does to a mechanism.

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

    /// Their names, in the same order.
    pub const NAMES: [&'static str; 3] = ["as-printed", "corrected", "tight"];

    /// Returns the name that specs use.
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

/// Reports a word that names no calibration.
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
