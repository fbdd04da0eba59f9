//! Defines the device traits.
//!
//! A device slot holds one trial (a "slot" in identifiers). It keeps four values per point: `p` (the last projected row),
//! `mean`, `variance` (posterior variance, may be below 0 by rounding) and `error` (a bound on the error of `variance`). A round of
//! a slot has four steps:
//!
//! 1. start (reset): keep the values, or set `mean = 0, variance = prior`, or upload both, or compute both from a factor;
//!    every start except `Keep` sets `error = 0`;
//! 2. visit (observation): if the row is new, `p(x) = sum_i row_i h_i(x)`; then `variance -= (scale p)²`, and
//!    `mean += mean_step p` or, if weights are sent, `mean = sum_i weights_i h_i(x)`; with `v` the variance before, at least 0,
//!    `error += c0 + c1 |scale p| + c2 v + c3 sqrt(v + error)`;
//! 3. score, for every point or those of the subset: with `e = error`,
//!    `lower = mean - c + width (1 - rho) sqrt(max(0, variance - e))`,
//!    `upper = mean + c + width (1 + rho) sqrt(max(0, variance + e))`, where `rho` is [`Precision::sqrt_error`];
//! 4. select: every point with `upper >= max lower`.

use super::answer::Answers;
use super::loop_domain::LoopDomain;
use super::pack::{Parcel, SlotShape};
use super::types::Precision;
use super::whole::DeviceRounds;
use crate::precision::F64Rate;
use crate::{BackendError, UpdateKind};
use privateer_gp::score::{Basis, GramSource};
use std::fmt;
use std::sync::Arc;

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

    /// Stores the basis functions `h_i` on the device.
    ///
    /// Gram columns of a slot's own basis points come from the whole matrix if the source stores it as a table, otherwise from
    /// its form; one of the two exists. For [`Basis::Own`] each slot brings its points ([`DeviceSlots::set_points`]).
    ///
    /// # Errors
    /// if they do not fit.
    fn tables(&self, basis: &Basis, precision: Precision) -> Result<Box<dyn Tables>, BackendError>;

    /// Stores a basis for lanes that play whole rounds; `None` where the device has none for it.
    ///
    /// # Errors
    /// if it does not fit.
    fn rounds(&self, _domain: Arc<LoopDomain>) -> Result<Option<Box<dyn DeviceRounds>>, BackendError> {
        Ok(None)
    }
}

/// Tables resident on a device.
pub trait Tables: Send + Sync {
    /// Returns the largest number of slots of one [`DeviceSlots`] over these tables, at least 1.
    ///
    /// The works of a round of that many fit one submission; those of slots with rank-one updates if none is reset to a factor.
    fn most_slots(&self, update_kind: UpdateKind) -> usize;

    /// Returns a bound on the error of one `h_i(x)` beyond the rounding of exact values.
    ///
    /// It is 0 for uploaded tables, and absolute for kernels that the device evaluates. For [`Basis::Own`],
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
    /// The parcels hold ascending slots, and so do the works in them; together they have at most
    /// [`SlotShape::most_coefficients`].
    ///
    /// # Errors
    /// if the device is lost or out of memory.
    fn send(&mut self, parcels: &mut [Parcel]) -> Result<(), BackendError>;

    /// Waits for the round and returns one answer for each work, in their order.
    ///
    /// # Errors
    /// if the device is lost, hangs, or returns nothing.
    fn receive(&mut self) -> Result<Answers, BackendError>;

    /// Returns the bytes of rounds sent to the device so far: works, rows, factors, planes, lists.
    fn sent(&self) -> u64;

    /// Sets the points of one slot, before its first round, for [`Basis::Own`].
    ///
    /// Returns a bound on the absolute error of one `h_i(x)` of this slot, which depends on the points.
    ///
    /// # Errors
    /// if the source has no form, or no memory is left.
    fn set_points(&mut self, slot: usize, gram: &dyn GramSource) -> Result<f64, BackendError>;
}
