//! What every reward mechanism can do, and which one `auto` stands for.

use crate::{Calibration, Ledger, Privatizer, Refusal, Request};
use std::fmt;
use std::sync::Arc;

/// A calibrated mechanism, shared by all trials of a cell. Quantities are in units of the reward.
pub trait RewardMechanism: Send + Sync + fmt::Debug {
    /// A fresh privatizer for one trial.
    fn privatizer(&self) -> Box<dyn Privatizer>;

    /// Bound on |released|, attained at the extremes of the draws; `None` if unbounded.
    fn output_bound(&self) -> Option<f64>;

    /// Variance of the mechanism's own noise, at the worst clipped reward; 0 for none.
    fn noise_variance(&self) -> f64;

    /// Range to which rewards are clipped; `None` if they are not.
    fn clip(&self) -> Option<(f64, f64)>;

    /// Scale of the Laplace noise (`L` in [Zhou2021, curator 1]); `None` for other noise.
    fn laplace_scale(&self) -> Option<f64>;

    /// What is claimed and what is delivered.
    fn ledger(&self) -> Ledger;
}

/// One line of the registry.
#[derive(Debug, Clone, Copy)]
pub struct MechanismEntry {
    /// Name in a spec.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Key of the source.
    pub paper: &'static str,
    /// Calibrates the mechanism for a request.
    pub build: fn(&Request) -> Result<Arc<dyn RewardMechanism>, Refusal>,
}

/// The mechanism that `auto` stands for: the paper's own where the paper is followed, the least noise otherwise.
#[must_use]
pub fn resolve_auto(calibration: Calibration) -> &'static str {
    match calibration {
        Calibration::AsPrinted | Calibration::Corrected => "laplace",
        Calibration::Tight => "hybrid",
    }
}
