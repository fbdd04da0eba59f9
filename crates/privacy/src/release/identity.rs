//! Names that no two sessions share, and that nobody can guess.

use super::ReleaseError;
use crate::noise::{Entropy, Words};

/// A random name of 128 bits, as 32 hexadecimal digits.
///
/// # Errors
/// Where the operating system has no entropy.
pub fn random_name() -> Result<String, ReleaseError> {
    let mut words = Entropy::fresh()?;
    Ok(format!("{:016x}{:016x}", words.word(), words.word()))
}
