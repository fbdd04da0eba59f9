//! Holds what a spec asks of the privacy of interactions.

use crate::{Calibration, Delta, Epsilon, Refusal};

/// Holds a request, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct InteractionRequest {
    /// `auto`, `none`, or the name of a mechanism.
    pub mechanism: &'static str,
    /// How the paper's formulas are calibrated.
    pub calibration: Calibration,
    /// Privacy loss of one user.
    pub epsilon: Option<f64>,
    /// Failure probability; `None` stands for one over the number of rounds.
    pub delta: Option<f64>,
    /// Range to which rewards are clipped.
    pub clip: Option<(f64, f64)>,
}

impl InteractionRequest {
    /// Mechanisms that a spec can name.
    pub const MECHANISMS: [&'static str; 8] = ["auto", "none", "tree", "honaker", "blt", "sqrt-toeplitz", "laplace", "gumbel"];

    /// Returns a request for no privacy.
    #[must_use]
    pub fn none() -> Self {
        Self { mechanism: "none", calibration: Calibration::Tight, epsilon: None, delta: None, clip: None }
    }

    /// Returns the checked budget; `None` without privacy.
    ///
    /// # Errors
    /// A missing or invalid number.
    pub fn budget(&self, rounds: u64) -> Result<Option<(Epsilon, Delta)>, Refusal> {
        if self.mechanism == "none" {
            return Ok(None);
        }
        let expected = "a finite number > 0";
        let Some(epsilon) = self.epsilon else {
            return Err(Refusal::new("epsilon", "a private policy needs a privacy loss", expected)
                .hint("state `epsilon`, or `mechanism = \"none\"` for a run without privacy"));
        };
        let epsilon =
            Epsilon::try_from(epsilon).map_err(|bad| Refusal::new("epsilon", format!("`epsilon` is {}", bad.0), expected))?;
        let delta = self.delta.unwrap_or(1.0 / rounds.max(2) as f64);
        let delta = Delta::try_from(delta).map_err(|bad| {
            Refusal::new("delta", format!("`delta` is {}", bad.0), "a number > 0 and < 1")
                .hint("without `delta` it is one over the number of rounds")
        })?;
        Ok(Some((epsilon, delta)))
    }

    /// Returns the range of rewards under privacy: as requested, else as publicly known.
    ///
    /// `None` only for the as-printed calibration, which can do without a range.
    ///
    /// # Errors
    /// Neither range is available, and the calibration is not as printed.
    pub fn range(&self, known: Option<(f64, f64)>) -> Result<Option<(f64, f64)>, Refusal> {
        match self.clip.or(known) {
            None if self.calibration != Calibration::AsPrinted => Err(Refusal::new(
                "clip",
                "the rewards are not bounded, and privacy needs a range",
                "two numbers [lo, hi] with lo < hi",
            )
            .hint("state `clip`: rewards beyond it are moved to its ends (E31)")),
            range => Ok(range),
        }
    }
}
