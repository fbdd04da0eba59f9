//! Differential privacy: sealed values, mechanisms, continual release, accounting, ledgers and release-grade noise.
//!
//! Reading order: the request of a specification ([`Request`]); calibration of noise ([`analytic_gaussian_sigma`] and the files
//! of [`mechanism`]); the record of what a mechanism did ([`Event`]); its price ([`price`], and [`accounting`] for
//! compositions); the statement that results carry ([`Ledger`], with a [`ThreatModel`]). [`streams`] releases prefix sums,
//! [`gradients`] privatizes online convex optimization, [`printed`] holds the papers' formulas, [`quote`] prices without
//! running, [`release`] draws exact noise for real data.
//!
//! **Invariant:** only this crate opens a [`Raw`] and makes a [`Released`] or a [`release::Release`]. Everything outside of
//! [`release`] simulates with reproducible streams and is never a release of real data.
//!
#![doc = include_str!("../README.md")]

mod accountant;
pub mod accounting;
mod analytic_gaussian;
mod budget;
mod calibration;
pub mod curator;
mod event;
pub mod gradients;
mod guarantee;
pub mod interactions;
mod ledger;
pub mod mechanism;
pub mod planted;
pub mod printed;
mod privatizer;
pub mod quote;
pub mod release;
mod request;
mod seal;
mod stream_ledger;
pub mod streams;
pub mod sums;
mod threat_model;

pub use accountant::{PrivacyLoss, price};
pub use analytic_gaussian::{analytic_gaussian_sigma, gaussian_delta, gdp_epsilon, gdp_mu};
pub use budget::{BadDelta, BadEpsilon, Delta, Epsilon};
pub use calibration::{Calibration, UnknownCalibration};
pub use event::{Event, Factor};
pub use guarantee::Guarantee;
pub use ledger::{Ledger, Provenance, SIMULATED_NOISE, Statement};
pub use mechanism::{MechanismEntry, RewardMechanism, resolve_auto};
pub use privatizer::{Channel, Privatizer, Protection, Query, ReleaseCounts};
pub use request::{Refusal, Request, RewardFacts};
pub use seal::{Raw, Released, Signal};
pub use stream_ledger::StreamStatement;
pub use threat_model::{Adversary, Growth, Neighbours, Participations, RadiusUnits, ThreatModel, Unit};
