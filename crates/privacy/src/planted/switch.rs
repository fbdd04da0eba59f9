//! Tells whether a fault is planted.

use super::PlantedFault;

/// Environment variable that names the planted fault.
#[cfg(feature = "planted-faults")]
pub const VARIABLE: &str = "PRIVATEER_PLANTED_FAULT";

/// Returns false: the program is built without `planted-faults`.
#[cfg(not(feature = "planted-faults"))]
#[inline(always)]
pub const fn is(_fault: PlantedFault) -> bool {
    false
}

/// Returns whether this fault is planted.
/// An unknown name plants nothing; the program refuses it at its start.
#[cfg(feature = "planted-faults")]
pub fn is(fault: PlantedFault) -> bool {
    named().is_ok_and(|planted| planted == Some(fault))
}

/// Returns the share of a noise's scale that is drawn: 1/2 if this fault is planted, else 1.
pub fn noise_share(fault: PlantedFault) -> f64 {
    if is(fault) { 0.5 } else { 1.0 }
}

/// Returns the fault that the environment names, read once; `None` if the variable is not set.
///
/// # Errors
/// The value of the variable, if it is not the name of a fault.
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
