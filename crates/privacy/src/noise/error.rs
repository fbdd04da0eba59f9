//! Says why nothing was released to real people.

use std::fmt;

/// Says why nothing was released.
/// It reveals nothing about the data except the kind of fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseError {
    /// An entry is NaN or infinite.
    NotFinite,
    /// The input has a wrong length.
    Length {
        /// Length that the release was calibrated for.
        expected: usize,
    },
    /// A parameter is beyond exact arithmetic.
    Range(String),
    /// The noise is not drawn where the data arrive.
    Elsewhere(&'static str),
    /// The operating system gave no entropy.
    NoEntropy(String),
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite => {
                f.write_str("an input is not finite; nothing was released: remove NaN and infinities before the release")
            }
            Self::Length { expected } => write!(f, "an input does not have the {expected} entries that were calibrated for"),
            Self::Range(what) => {
                write!(f, "{what} is outside of what exact arithmetic holds; change the unit, the clip or the budget")
            }
            Self::Elsewhere(why) => write!(f, "{why}; nothing was released"),
            Self::NoEntropy(why) => write!(f, "the operating system gave no entropy ({why}); nothing was released"),
        }
    }
}

impl std::error::Error for ReleaseError {}
