//! What units are run with.

use super::observer::{Observer, Stop};
use super::prepare::Preparation;
use super::share::Share;
use crate::spec::Sweep;

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

/// Holds what units are run with.
pub(super) struct UnitJob<'a> {
    pub(super) sweep: &'a Sweep,
    pub(super) preparation: &'a Preparation<'a>,
    pub(super) options: Options,
    pub(super) stop: &'a Stop,
    pub(super) observer: &'a dyn Observer,
}
