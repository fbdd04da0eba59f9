//! Bounds of blocks at a cost that does not depend on how long ago a block was scored: what `search` may ask for first.

use super::interpolation::{GridValues, InterpolationGrid};
use std::sync::Arc;

/// Error bounds of a kept mean and posterior variance, and the exploration factor.
#[derive(Debug, Clone, Copy)]
pub struct Slack {
    pub beta: f64,
    /// The largest prior variance.
    pub prior: f64,
    /// Bounds on the norms of theta and of the form N that reduces the posterior variance.
    pub theta: f64,
    pub n: f64,
    /// Errors of the kept mean and posterior variance.
    pub mean: f64,
    pub variance: f64,
}

/// Checks of one trial, and what they have found so far.
pub struct Checks {
    pub bounds: GridValues,
    /// The last round in which each block was checked.
    pub checked: Vec<u32>,
    /// Block that held the best point of the last round.
    pub leader: Option<usize>,
    pub round: u32,
    /// Blocks that were bounded and are not yet counted.
    pub bounded: u64,
}

impl Checks {
    /// Opens the checks of a trial.
    pub fn new(shared: &Arc<InterpolationGrid>, n_blocks: usize, prior: f64) -> Self {
        Self {
            bounds: GridValues::new(Arc::clone(shared), prior),
            checked: vec![0; n_blocks],
            leader: None,
            round: 0,
            bounded: 0,
        }
    }
}
