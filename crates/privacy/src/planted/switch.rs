//! Whether a fault is planted.

use super::PlantedFault;

/// The environment variable that names the planted fault.
#[cfg(feature = "planted-faults")]
pub const VARIABLE: &str = "PRIVATEER_PLANTED_FAULT";

/// Whether this fault is planted: never, as the program is built without `planted-faults`.
#[cfg(not(feature = "planted-faults"))]
#[must_use]
#[inline(always)]
pub const fn is(_fault: PlantedFault) -> bool {
    false
}

/// Whether this fault is planted. A name that is unknown plants nothing; the program refuses it at its start.
#[cfg(feature = "planted-faults")]
#[must_use]
pub fn is(fault: PlantedFault) -> bool {
    named().is_ok_and(|planted| planted == Some(fault))
}

/// The share of a noise's scale that is drawn: 1, or 1/2 where this fault is planted.
#[cfg(not(feature = "planted-faults"))]
#[must_use]
#[inline(always)]
pub const fn noise_share(_fault: PlantedFault) -> f64 {
    1.0
}

/// The share of a noise's scale that is drawn: 1, or 1/2 where this fault is planted.
#[cfg(feature = "planted-faults")]
#[must_use]
pub fn noise_share(fault: PlantedFault) -> f64 {
    if is(fault) { 0.5 } else { 1.0 }
}

/// The fault that the environment names, read once; `None` if the variable is not set.
///
/// # Errors
/// The value of the variable, where it names no fault.
#[cfg(feature = "planted-faults")]
pub fn named() -> Result<Option<PlantedFault>, &'static str> {
    static NAMED: std::sync::OnceLock<Result<Option<PlantedFault>, String>> = std::sync::OnceLock::new();
    let read = || match std::env::var(VARIABLE) {
        Err(_) => Ok(None),
        Ok(name) => PlantedFault::ALL.into_iter().find(|fault| fault.name() == name).map(Some).ok_or(name),
    };
    match NAMED.get_or_init(read) {
        Ok(fault) => Ok(*fault),
        Err(name) => Err(name),
    }
}
