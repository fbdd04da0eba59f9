//! Defines the device traits.
//!
//! A device slot holds one trial (a "slot" in identifiers). It keeps four values per point: `p` (the last projected row),
//! `mean`, `variance` (posterior variance, may be below 0 by rounding) and `reset deviation` (posterior standard deviation at the
//! last reset). A round of a slot has four steps:
//!
//! 1. start (reset): keep the values, or set `mean = 0, variance = prior`, or upload both, or compute both from a factor;
//!    every start except `Keep` sets `reset_deviation = sqrt(max(0, variance))`;
//! 2. visit (observation): if the row is new, `p(x) = sum_i row_i h_i(x)`; then `variance -= (scale p)²`, and
//!    `mean += mean_step p` or, if weights are sent, `mean = sum_i weights_i h_i(x)`;
//! 3. score, for every point or those of the subset: with `e = c0 + c1 r + c2 r²`,
//!    `lower = mean - c + width (1 - rho) sqrt(max(0, variance - e))`,
//!    `upper = mean + c + width (1 + rho) sqrt(max(0, variance + e))`, where `rho` is [`Precision::sqrt_error`];
//! 4. select: every point with `upper >= max lower`.

use super::answer::Answers;
use super::pack::{Parcel, SlotShape};
use crate::BackendError;
use crate::precision::F64Rate;
use privateer_gp::score::{Factor, FeatureTable, GramSource};
use std::fmt;

/// Largest number of candidates that a device names per slot; further ones are only counted.
pub const CAPACITY: usize = 64;

/// Floating-point type of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// 24 significant bits.
    F32,
    /// 53 significant bits: arithmetic and square roots only.
    F64,
}

impl Precision {
    /// Returns the unit roundoff.
    #[must_use]
    pub fn unit(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::EPSILON) / 2.0,
            Self::F64 => f64::EPSILON / 2.0,
        }
    }

    /// Returns the relative error allowed to a square root.
    ///
    /// WGSL derives a square root from 1 / inverseSqrt, with 2 + 2.5 units in the last place, each of two roundoffs;
    /// rounded up.
    #[must_use]
    pub fn sqrt_error(self) -> f64 {
        16.0 * self.unit()
    }

    /// Returns a bound on magnitudes sent to a device, so that products of two do not overflow.
    #[must_use]
    pub fn largest(self) -> f64 {
        match self {
            Self::F32 => 1e15,
            Self::F64 => 1e150,
        }
    }

    /// Returns the magnitude below which a result may be flushed to zero.
    #[must_use]
    pub fn tiny(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::MIN_POSITIVE),
            Self::F64 => f64::MIN_POSITIVE,
        }
    }
}

/// The basis functions `h_i`.
#[derive(Debug, Clone, Copy)]
pub enum TableSpec<'a> {
    /// Features of every point: `h_i(x)` is column `i` of the table.
    Features(&'a FeatureTable),
    /// Gram columns of a slot's own basis points.
    ///
    /// They come from the whole matrix if the source stores it as a table, otherwise from its form; one of the two exists.
    Gram(&'a dyn GramSource),
    /// Like `Gram` by form, from points that each slot brings ([`DeviceSlots::set_points`]).
    Own(usize),
}

/// A device that computes screens for many trials.
pub trait Device: Send + Sync + fmt::Debug {
    /// Returns "gpu" or "reference".
    fn name(&self) -> &'static str;

    /// Returns a description for users and the manifest.
    fn description(&self) -> String;

    /// Returns whether the device computes in this type.
    fn computes_in(&self, precision: Precision) -> bool;

    /// Returns the device's rate in f64, measured where the device can be.
    fn f64_rate(&self) -> F64Rate {
        if self.computes_in(Precision::F64) { F64Rate::Unmeasured } else { F64Rate::Absent }
    }

    /// Stores tables on the device.
    ///
    /// # Errors
    /// if they do not fit.
    fn tables(&self, spec: TableSpec<'_>, precision: Precision) -> Result<Box<dyn Tables>, BackendError>;
}

/// Tables resident on a device.
pub trait Tables: Send + Sync {
    /// Returns the largest number of slots of one [`DeviceSlots`] over these tables, at least 1.
    fn most_slots(&self) -> usize;

    /// Returns a bound on the error of one `h_i(x)` beyond the rounding of exact values.
    ///
    /// It is 0 for uploaded tables, and absolute for kernels that the device evaluates. For [`TableSpec::Own`],
    /// [`DeviceSlots::set_points`] returns it.
    fn kernel_error(&self) -> f64;

    /// Allocates all buffers for `n_slots` slots.
    ///
    /// # Errors
    /// if the device has no memory left or is lost.
    fn slots(&self, n_slots: usize) -> Result<Box<dyn DeviceSlots>, BackendError>;
}

/// Device slots of a batch of trials.
pub trait DeviceSlots: Send {
    /// Returns the layout of the slots, by which rounds are packed on any thread.
    fn shape(&self) -> SlotShape;

    /// Returns the type of the slots.
    fn precision(&self) -> Precision;

    /// Starts a round of packed works in one submission, and returns before it is done.
    ///
    /// The parcels hold ascending slots, and so do the works in them.
    ///
    /// # Errors
    /// if the device is lost or out of memory.
    fn send(&mut self, parcels: &mut [Parcel]) -> Result<(), BackendError>;

    /// Waits for the round and returns one answer for each work, in their order.
    ///
    /// * `used` — answers that nobody reads any more; their memory is used again
    ///
    /// # Errors
    /// if the device is lost, hangs, or returns nothing.
    fn receive(&mut self, used: Answers) -> Result<Answers, BackendError>;

    /// Packs and starts a round. Every answer returns `stamp`.
    ///
    /// # Errors
    /// As [`DeviceSlots::send`], and if a work does not fit the slots.
    fn submit(&mut self, stamp: u32, work: &[SlotWork<'_>]) -> Result<(), BackendError> {
        let mut parcel = Parcel::new(self.precision());
        let shape = self.shape();
        work.iter().try_for_each(|work| parcel.add(&shape, stamp, work))?;
        self.send(&mut [parcel])
    }

    /// Waits for the round and writes one answer per slot, in the order of the work.
    ///
    /// # Errors
    /// As [`DeviceSlots::receive`], and if an answer is damaged.
    fn collect(&mut self, out: &mut Vec<Answer>) -> Result<(), BackendError> {
        out.clear();
        let answers = self.receive(Answers::default())?;
        for place in 0..answers.len() {
            let mut answer = Answer::default();
            answers.read(place, &mut answer)?;
            out.push(answer);
        }
        Ok(())
    }

    /// Returns the bytes of rounds sent to the device so far: works, rows, factors, planes, lists.
    fn sent(&self) -> u64;

    /// Sets the points of one slot, before its first round, for [`TableSpec::Own`].
    ///
    /// Returns a bound on the absolute error of one `h_i(x)` of this slot, which depends on the points.
    ///
    /// # Errors
    /// if the source has no form, or no memory is left.
    fn set_points(&mut self, slot: usize, gram: &dyn GramSource) -> Result<f64, BackendError>;
}

/// A slot's part of a round. All numbers are f64; the device rounds them to its type.
#[derive(Debug, Clone, Copy)]
pub struct SlotWork<'a> {
    /// Index in `0 .. n_slots`, ascending over the work of a round.
    pub slot: usize,
    /// Step 1 of the round: the reset.
    pub start: Start<'a>,
    /// Step 2 of the round: the observation, if any.
    pub visit: Option<Visit<'a>>,
    /// Points whose Gram columns are the basis; unused for features.
    pub basis: &'a [u32],
    /// Exploration factor: multiplies the posterior standard deviation.
    pub beta: f64,
    /// Error band.
    pub band: Band4,
    /// Points to score, ascending; `None` for all points.
    pub subset: Option<&'a [u32]>,
}

/// Step 1 of a slot's round: the reset.
#[derive(Debug, Clone, Copy)]
pub enum Start<'a> {
    /// Continues from the end of the last round.
    Keep,
    /// Resets to mean 0 and the prior variance.
    Prior,
    /// Resets to these values, `n_points` each.
    Upload {
        /// Posterior mean.
        mean: &'a [f64],
        /// Posterior variance.
        variance: &'a [f64],
    },
    /// Resets to weights and a factor over the basis.
    Factor(&'a Factor<'a>),
}

/// Step 2 of a slot's round: an observation.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// The new row, as long as the basis; `None` if `p` is that of the previous round.
    pub row: Option<&'a [f64]>,
    /// Factor on `p`; the variance falls by `(scale p)²`.
    pub scale: f64,
    /// Change of the mean.
    pub mean: NewMean<'a>,
}

/// The mean after an observation.
#[derive(Debug, Clone, Copy)]
pub enum NewMean<'a> {
    /// The mean rises by this number times `p`.
    Step(f64),
    /// The mean has these weights over the basis, which have its length.
    Weights(&'a [f64]),
}

/// Errors of a slot: of the score (`c`), and of the variance by powers of `reset deviation`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Band4 {
    /// Absolute error of the score without that of the variance.
    pub c: f64,
    /// Constant error of the variance.
    pub c0: f64,
    /// Error of the variance, per unit of `reset deviation`.
    pub c1: f64,
    /// Error of the variance, per unit of the square of the reset deviation.
    pub c2: f64,
}

/// A slot's answer to a round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Stamp of the submission that produced this answer.
    pub stamp: u32,
    /// Points whose `lower` was finite; any number other than that of points to score is an error.
    pub scored: u32,
    /// Points with `upper >= best_lower`, including those not named.
    pub count: u32,
    /// The first [`CAPACITY`] of these points, in any order.
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
