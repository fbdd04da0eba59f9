//! Screens trials on a device and turns its inexact results into certain candidates.
//!
//! A device keeps mean and posterior variance of every point of many trials in f32 or f64, one trial per device slot. The
//! device keeps, for each point, a bound on the rounding error of its variance, and the host sends with every round by what it
//! grows. Only candidates return.
//!
//! * **Band.** The device keeps a bound on the error of each posterior variance, which grows by `c0 + c1 |scale p| + c2 v + c3
//!   sqrt(v + e)` in a round; the error of a mean is at most `c` (`slot`). They include the f64 state's own rounding
//!   ([`ScoreModel::state_error`](privateer_gp::score::ScoreModel::state_error)), the tie tolerance, and the roundings of the
//!   score.
//! * **Resets** cost a factor on the device or `n_points` exact scores on the host; without a reset every candidate beyond
//!   the first costs an exact score. A slot is reset when it has paid as much for candidates as a reset costs, so the total
//!   is at most twice the smaller cost. If a round has more candidates than a device reports, the slot is scored again from
//!   a factor, or scanned in f64.
//! * **Type.** Kernels are screened in f64 where a device has it, because their differences cancel; features in f32 until
//!   its candidates have cost as much as f64 would have (`ledger`).
//! * **Trust.** Every answer must carry its round's stamp, have scored every point, and name points that exist. Every
//!   `CHECK_EVERY` rounds of a slot, exact scores of its candidates and of some other points are compared with the device's
//!   claims. A failure is [`BackendError::Untrusted`](crate::BackendError::Untrusted), because earlier answers may be
//!   wrong as well.
//!
//! Derivation: `docs/derivations/device-error-band.md`.

mod backend;
mod lanes;
mod ledger;
mod plan;
mod screen;
mod shared;
mod slot_plan;
mod trust;

pub use backend::Batched;
