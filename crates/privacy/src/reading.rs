//! Names the three calibrations of a paper's privacy claim.
//! The files of `mechanism` say what each calibration does to a mechanism.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Says how a paper's formulas set the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// As printed, misprints included, to reproduce figures.
    /// The ledger says where no guarantee holds.
    Printed,
    /// With the least change that makes the printed claim true.
    Corrected,
    /// With the same guarantee and the least noise for which it can be proved.
    #[default]
    Tight,
}

impl Reading {
    /// All calibrations, in the order in which tables show them.
    pub const ALL: [Self; 3] = [Self::Printed, Self::Corrected, Self::Tight];

    /// Their names, in the same order.
    pub const NAMES: [&'static str; 3] = ["printed", "corrected", "tight"];

    /// Returns the name that specs use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Corrected => "corrected",
            Self::Tight => "tight",
        }
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reports a word that names no calibration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownReading(pub String);

impl fmt::Display for UnknownReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown reading `{}`, expected one of `printed`, `corrected`, `tight`", self.0)
    }
}

impl std::error::Error for UnknownReading {}

impl FromStr for Reading {
    type Err = UnknownReading;

    fn from_str(word: &str) -> Result<Self, UnknownReading> {
        Self::ALL.into_iter().find(|reading| reading.name() == word).ok_or_else(|| UnknownReading(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (reading, name) in Reading::ALL.into_iter().zip(Reading::NAMES) {
            assert_eq!(reading.to_string(), name);
            assert_eq!(name.parse(), Ok(reading));
        }
        let refused = "tigth".parse::<Reading>().map_err(|e| e.to_string());
        assert_eq!(refused, Err("unknown reading `tigth`, expected one of `printed`, `corrected`, `tight`".to_owned()));
    }
}
