//! Checks privacy parameters: a number from a spec becomes a budget here only.
//! This file does no arithmetic on budgets.

use super::Refusal;
use super::accounting::sensitivity::Participation;
use crate::noise::ReleaseError;
use std::fmt;

/// A privacy loss that is finite and greater than zero.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Epsilon(f64);

impl Epsilon {
    /// Returns the number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Epsilon {
    type Error = BadNumber;

    fn try_from(value: f64) -> Result<Self, BadNumber> {
        let is_fine = value.is_finite() && 0.0 < value;
        is_fine.then_some(Self(value)).ok_or(BadNumber { name: "epsilon", value, expected: "a finite number > 0" })
    }
}

/// A failure probability of a privacy claim, strictly between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Delta(f64);

impl Delta {
    /// Returns the number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Delta {
    type Error = BadNumber;

    fn try_from(value: f64) -> Result<Self, BadNumber> {
        let is_fine = 0.0 < value && value < 1.0;
        is_fine.then_some(Self(value)).ok_or(BadNumber { name: "delta", value, expected: "a number > 0 and < 1" })
    }
}

/// Reports a number that is no epsilon, or no delta.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BadNumber {
    /// What the number was to be.
    pub name: &'static str,
    /// The number.
    pub value: f64,
    /// What was expected.
    pub expected: &'static str,
}

impl fmt::Display for BadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, expected {}", self.name, self.value, self.expected)
    }
}

impl std::error::Error for BadNumber {}

/// A stated privacy budget of one user, each number checked; epsilon and delta may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Budget {
    /// Privacy loss of one user over all stated participations.
    pub epsilon: Option<Epsilon>,
    /// Failure probability of the claim.
    pub delta: Option<Delta>,
    /// How often one user takes part.
    pub participation: Participation,
}

impl From<Epsilon> for Budget {
    fn from(epsilon: Epsilon) -> Self {
        Self { epsilon: Some(epsilon), ..Self::default() }
    }
}

impl From<(Epsilon, Delta)> for Budget {
    fn from((epsilon, delta): (Epsilon, Delta)) -> Self {
        Self { epsilon: Some(epsilon), delta: Some(delta), participation: Participation::ONCE }
    }
}

impl Budget {
    /// Returns the pure loss of each participation, where all together may lose `epsilon`.
    pub(crate) fn answer(&self, epsilon: Epsilon) -> Epsilon {
        Epsilon(epsilon.0 / self.participation.releases() as f64)
    }

    /// Refuses exact sums for users who take part several times: items are rounded to a grid, and the grid's margin covers one.
    pub(crate) fn exact_is_once(&self) -> Result<(), ReleaseError> {
        if self.participation.is_once() {
            return Ok(());
        }
        Err(ReleaseError::Range(format!("{} participations of one user in one sum (at most 1)", self.participation.count)))
    }

    /// Checks stated numbers.
    ///
    /// # Errors
    /// A refusal on `epsilon` or `delta`.
    pub fn new(epsilon: Option<f64>, delta: Option<f64>) -> Result<Self, Refusal> {
        let refused = |bad: BadNumber| Refusal::new(bad.name, format!("`{}` is {}", bad.name, bad.value), bad.expected);
        Ok(Self {
            epsilon: epsilon.map(Epsilon::try_from).transpose().map_err(refused)?,
            delta: delta.map(Delta::try_from).transpose().map_err(refused)?,
            participation: Participation::ONCE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_budgets_pass() {
        assert!(Epsilon::try_from(1.0).is_ok_and(|e| e.get() == 1.0));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Epsilon::try_from(bad).is_err(), "{bad}");
        }
        assert!(Delta::try_from(1e-9).is_ok_and(|d| d.get() == 1e-9));
        for bad in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(Delta::try_from(bad).is_err(), "{bad}");
        }
    }
}
