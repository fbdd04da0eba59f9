//! The device traits.
//!
//! **Lanes.** A lane is one trial on the device. It keeps four values a point: `p` (the last projected row), `mean`,
//! `variance` (spread², may be below 0 by rounding) and `anchor` (the spread at the last start). A round of a lane is:
//!
//! 1. start: keep what is there, or set `mean = 0, variance = prior`, or upload both, or compute both from a factor; every
//!    start but `Keep` sets `anchor = sqrt(max(0, variance))`;
//! 2. visit: if the row is new, `p(x) = sum_i row_i h_i(x)`; then `variance -= (scale p)²`, and `mean += mean_step p` or, where
//!    weights come along, `mean = sum_i weights_i h_i(x)`;
//! 3. score, for every point or those of the subset: with `e = c0 + c1 anchor + c2 anchor²`,
//!    `lower = mean - c + beta (1 - rho) sqrt(max(0, variance - e))`,
//!    `upper = mean + c + beta (1 + rho) sqrt(max(0, variance + e))`, where `rho` is [`Precision::sqrt_error`];
//! 4. select: every point with `upper >= max lower`.

use privateer_config::error::Error;
use privateer_gp::score::{Factor, FeatureTable, GramSource};
use std::fmt;

/// Most points that a device hands back for a lane; more are counted, not named.
pub const CAPACITY: usize = 64;

/// The type that a device computes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// 24 bits.
    F32,
    /// 53 bits: arithmetic and square roots only.
    F64,
}

impl Precision {
    /// Unit roundoff.
    #[must_use]
    pub fn unit(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::EPSILON) / 2.0,
            Self::F64 => f64::EPSILON / 2.0,
        }
    }

    /// Relative error allowed to a square root: WGSL derives it from 1 / inverseSqrt, 2 + 2.5 units in the last place, and
    /// a unit in the last place is two roundoffs; rounded up.
    #[must_use]
    pub fn sqrt_error(self) -> f64 {
        16.0 * self.unit()
    }

    /// Magnitudes that reach a device must stay below this, so that products of two do not overflow.
    #[must_use]
    pub fn largest(self) -> f64 {
        match self {
            Self::F32 => 1e15,
            Self::F64 => 1e150,
        }
    }

    /// A result below this may be flushed to zero.
    #[must_use]
    pub fn tiny(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::MIN_POSITIVE),
            Self::F64 => f64::MIN_POSITIVE,
        }
    }
}

/// What `h` is.
#[derive(Debug, Clone, Copy)]
pub enum TableSpec<'a> {
    /// Features of every point: `h_i(x)` is column `i` of the table.
    Features(&'a FeatureTable),
    /// Gram columns of a lane's own basis points: from the whole matrix where the source holds it as a table, else evaluated
    /// from its form; one of the two is there.
    Gram(&'a dyn GramSource),
    /// As `Gram` by form, from points that each lane brings along ([`Lanes::set_points`]).
    Own(usize),
}

/// A device.
pub trait Device: Send + Sync + fmt::Debug {
    /// "gpu" or "reference".
    fn name(&self) -> &'static str;

    /// What it is, for readers and the manifest.
    fn description(&self) -> String;

    /// Whether it computes in this type.
    fn computes_in(&self, precision: Precision) -> bool;

    /// Puts tables on the device.
    ///
    /// # Errors
    /// [`Error::Device`] if they do not fit.
    fn tables(&self, spec: TableSpec<'_>, precision: Precision) -> Result<Box<dyn Tables>, Error>;
}

/// Tables resident on a device.
pub trait Tables: Send + Sync {
    /// Most lanes that one [`Lanes`] over these tables may have, at least 1.
    fn most_lanes(&self) -> usize;

    /// Bounds on the error of one `h_i(x)` beyond the rounding of exact values: 0 for uploaded tables; for kernels that the
    /// device evaluates, absolute. For [`TableSpec::Own`], [`Lanes::set_points`] says.
    fn kernel_error(&self) -> f64;

    /// Allocates all buffers for so many lanes.
    ///
    /// # Errors
    /// [`Error::Device`] if the device has no room or is lost.
    fn lanes(&self, n_lanes: usize) -> Result<Box<dyn Lanes>, Error>;
}

/// Lanes of some trials.
pub trait Lanes: Send {
    /// Starts a round of some lanes, one submission; returns before it is done. `stamp` comes back in every answer.
    ///
    /// # Errors
    /// [`Error::Device`] if the device is lost or out of memory.
    fn submit(&mut self, stamp: u32, work: &[LaneWork<'_>]) -> Result<(), Error>;

    /// Waits for the round and fills one answer for each lane of it, in the order of the work.
    ///
    /// # Errors
    /// [`Error::Device`] if the device is lost, hangs, or gives back nothing.
    fn collect(&mut self, out: &mut Vec<Answer>) -> Result<(), Error>;

    /// Bytes of rounds sent to the device so far: works, rows, factors, planes, lists.
    fn sent(&self) -> u64;

    /// For [`TableSpec::Own`]: the points of one lane, before its first round. Returns a bound on the absolute error of one
    /// `h_i(x)` of this lane, which depends on the points.
    ///
    /// # Errors
    /// [`Error::Device`] if the source has no form, or no room is left.
    fn set_points(&mut self, lane: usize, gram: &dyn GramSource) -> Result<f64, Error>;
}

/// One lane's part of a round. Every number is f64 here; the device rounds it to its type.
#[derive(Debug, Clone, Copy)]
pub struct LaneWork<'a> {
    /// `0 .. n_lanes`, ascending over the work of a round.
    pub lane: usize,
    /// Step 1.
    pub start: Start<'a>,
    /// Step 2.
    pub visit: Option<Visit<'a>>,
    /// Points whose Gram columns are the basis; unused for features.
    pub basis: &'a [u32],
    /// What multiplies the posterior standard deviation.
    pub beta: f64,
    /// Errors.
    pub band: Band4,
    /// Ascending; all points if absent.
    pub subset: Option<&'a [u32]>,
}

/// Step 1 of a lane's round.
#[derive(Debug, Clone, Copy)]
pub enum Start<'a> {
    /// From where the last round ended.
    Keep,
    /// Mean 0, variance of the prior.
    Prior,
    /// These, `n_points` each.
    Upload {
        /// Mean.
        mean: &'a [f64],
        /// Spread².
        variance: &'a [f64],
    },
    /// From weights and a factor over the basis.
    Factor(&'a Factor<'a>),
}

/// Step 2 of a lane's round.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// The new row, as long as the basis; `None` if `p` is that of the round before.
    pub row: Option<&'a [f64]>,
    /// What multiplies `p` in the spread.
    pub scale: f64,
    /// What becomes of the mean.
    pub mean: NewMean<'a>,
}

/// The mean after a visit.
#[derive(Debug, Clone, Copy)]
pub enum NewMean<'a> {
    /// It rises by so much times `p`.
    Step(f64),
    /// These weights over the basis, as long as it is.
    Weights(&'a [f64]),
}

/// The errors of a lane: that of the score `c`, and those of the variance by powers of the anchor.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Band4 {
    /// Absolute error of the score apart from that of the variance.
    pub c: f64,
    /// Constant error of the variance.
    pub c0: f64,
    /// Error of the variance by the anchor.
    pub c1: f64,
    /// Error of the variance by the square of the anchor.
    pub c2: f64,
}

/// What comes back of a lane.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The stamp of the submission that wrote this.
    pub stamp: u32,
    /// Points whose `lower` was finite: all that were to be scored, else something is wrong.
    pub scored: u32,
    /// Points with `upper >= best_lower`, named or not.
    pub count: u32,
    /// The first [`CAPACITY`] of them in any order.
    pub points: Vec<u32>,
    /// Largest `lower`.
    pub best_lower: f64,
    /// Largest `upper`.
    pub best_upper: f64,
    /// Largest variance of the scored points.
    pub largest_variance: f64,
    /// Largest magnitude of a mean of the scored points.
    pub largest_mean: f64,
}
