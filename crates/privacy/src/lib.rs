//! Implements differential privacy: sealed values, mechanisms, continual release and accounting.
//! Ledgers state what a result claims and delivers; release-grade noise serves real data.
//!
//! Reading order:
//!
//! 1. the privacy request of a specification ([`Request`]);
//! 2. the calibration of the noise ([`analytic_gaussian_sigma`] and the files of [`mechanism`]);
//! 3. the record of what a mechanism did ([`Event`]) and its price ([`price`]; [`accounting`] for compositions);
//! 4. the statement that every result carries ([`Ledger`], with a [`ThreatModel`]).
//!
//! [`streams`] releases prefix sums, [`gradients`] privatises online convex optimisation, [`printed`] holds the papers'
//! formulas, [`quote`] prices a mechanism without running it, and [`release`] draws exact noise for real data.
//!
//! **Invariant:** only this crate opens a [`Raw`] value and makes a [`Released`] or a [`release::Release`]. Everything outside
//! [`release`] simulates with reproducible random streams and is never a release of real data.
//!
#![doc = include_str!("../README.md")]

mod accountant;
pub mod accounting;
mod analytic_gaussian;
mod automatic;
mod budget;
mod calibration;
#[cfg(test)]
mod calibration_tests;
mod channel;
mod claim_unit;
pub mod curator;
mod event;
pub mod gradients;
pub mod gram;
mod guarantee;
pub mod interactions;
mod ledger;
pub mod mechanism;
mod memo;
pub mod noise;
pub mod odometer;
pub mod planted;
pub mod printed;
pub mod priv_unit;
mod privatizer;
pub mod quote;
mod refusal;
pub mod release;
mod request;
mod seal;
pub mod streams;
pub mod sums;
#[cfg(test)]
mod testing;
mod threat_model;

pub use accountant::{PrivacyLoss, price};
pub use analytic_gaussian::{analytic_gaussian_sigma, gaussian_delta, gdp_epsilon, gdp_mu};
pub use automatic::{Protects, automatic, automatic_for_items, automatic_for_rewards, automatic_for_streams};
pub use budget::{BadNumber, Budget, Delta, Epsilon};
pub use calibration::{Calibration, Scale};
pub use channel::Channel;
pub use claim_unit::ClaimUnit;
pub use event::{Event, Factor};
pub use guarantee::Guarantee;
pub use ledger::{Claim, Ledger, Provenance};
pub use mechanism::{MechanismEntry, RewardMechanism};
pub use privatizer::{Privatizer, Protection, Query, ReleaseCounts};
pub use refusal::Refusal;
pub use request::{Calibrated, Request, RewardFacts};
pub use seal::{Raw, Released, Signal};
pub use threat_model::{Adversary, Growth, Neighbours, Participations, RadiusUnits, ThreatModel, Unit};
