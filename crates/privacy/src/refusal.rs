//! Says why a request for privacy is refused.

use std::fmt;

/// Explains why a request cannot be met: a mistake at one key of the spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The key at fault: `epsilon`, `delta`, `clip` or `mechanism`.
    pub key: &'static str,
    /// What is wrong.
    pub message: String,
    /// What was expected there.
    pub expected: String,
    /// What the user can do; `None` if there is no advice.
    pub hint: Option<String>,
}

impl Refusal {
    /// Makes a refusal without advice.
    pub fn new(key: &'static str, message: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { key, message: message.into(), expected: expected.into(), hint: None }
    }

    /// Refuses an epsilon whose noise of this size is beyond f64 when squared, or vanishes.
    pub(crate) fn unless_normal(size: f64, mechanism: &str, epsilon: f64) -> Result<(), Self> {
        if (size * size).is_normal() {
            return Ok(());
        }
        let message = format!("the noise scale of mechanism `{mechanism}` overflows f64 at `epsilon = {epsilon:e}`");
        Err(Self::new("epsilon", message, "an epsilon nearer to 1"))
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}; expected {}", self.key, self.message, self.expected)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
