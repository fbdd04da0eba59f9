//! Bounds of blocks at a cost that does not depend on how long ago a block was scored: what `search` may ask for first.

use super::products::BlockProducts;
use std::fmt;
use std::sync::Arc;

/// Data of such bounds that trials share.
pub trait BlockChecks: fmt::Debug + Send + Sync {
    /// Opens the state of one trial, before its first observation.
    ///
    /// * `prior` — the largest prior variance
    fn open(self: Arc<Self>, prior: f64) -> Box<dyn TrialChecks>;

    /// Returns the multiply-adds of a new streak.
    fn work_of_a_streak(&self, products: &BlockProducts) -> usize;
}

/// Bounds of one trial.
pub trait TrialChecks: Send {
    /// Opens a streak whose row is this matrix over both axes.
    fn start_streak(&mut self, products: &BlockProducts, matrix: &[f64]);

    /// Adds an observation to the open streak.
    fn observe(&mut self, scale: f64, mean_step: f64);

    /// Applies the pending observations; call it before [`TrialChecks::bound`].
    fn update(&mut self);

    /// Returns upper bounds on the scores and on the posterior variances of a block, as of the last update.
    ///
    /// `None` where they do not suit the block.
    fn bound(&self, block: usize, slack: Slack) -> Option<(f64, f64)>;

    /// Returns the multiply-adds of [`TrialChecks::bound`] per point of the block.
    fn work(&self) -> usize;
}

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
    pub bounds: Box<dyn TrialChecks>,
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
    pub fn new(shared: &Arc<dyn BlockChecks>, n_blocks: usize, prior: f64) -> Self {
        Self { bounds: Arc::clone(shared).open(prior), checked: vec![0; n_blocks], leader: None, round: 0, bounded: 0 }
    }
}
