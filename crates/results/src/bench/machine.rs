//! Describes the machine that is measured.

use super::ceiling::Ceilings;
use privateer_backend::Backend;
use std::sync::Arc;

/// A backend and what is to be said of it.
pub struct Machine {
    pub backend: Arc<dyn Backend>,
    /// What it runs on, for readers.
    pub device: String,
    /// A device that is emulated on the CPU: its speed says nothing.
    pub software_adapter: bool,
    pub ceilings: Ceilings,
    /// Time of a device's passes since it was last asked for.
    pub pass_times: Option<PassTimer>,
}

impl Machine {
    /// Returns the nanoseconds of each pass since the last call; empty where passes are not timed.
    pub(super) fn pass_times(&self) -> Vec<(&'static str, f64)> {
        self.pass_times.as_ref().map(|timer| timer()).unwrap_or_default()
    }
}

/// Returns the names of a device's passes and the nanoseconds of each since the last call.
pub type PassTimer = Box<dyn Fn() -> Vec<(&'static str, f64)>>;
