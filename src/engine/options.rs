//! Holds the options of a run.

use super::share::Share;

/// Holds the options of a run; none of them changes a recorded byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Number of trials in lockstep; the backend chooses if absent.
    pub batch: Option<usize>,
    /// Whether the choices of screens are compared with the best of all points in f64.
    pub verify: bool,
    /// The units to run.
    pub share: Share,
}
