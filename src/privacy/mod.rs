//! Where epsilon becomes noise: sealed values, readings, reward mechanisms, ledgers.
//!
//! In reading order: what a spec asks for ([`Request`]), how an epsilon becomes a scale ([`analytic_gaussian_sigma`] and
//! the files of `mechanism`), what was done ([`Event`]), what it costs ([`price`], and [`accounting`] for many releases together) and what
//! a result says about both ([`Ledger`]). [`streams`] has noise for prefix sums, [`gradients`] the privatizers of online convex optimization, [`printed`] the papers' formulas, [`quote`]
//! prices without running, [`odometer`] accounts for what each record of a deployment has spent.
//!
//! **Invariant:** only this room opens a [`Raw`] and makes a [`Released`]. Knows no policy. Every path but [`release`] is a
//! simulation over reproducible streams: nothing it releases is a private release of real data.

mod accountant;
pub mod accounting;
mod budget;
mod calibration;
pub mod curator;
mod event;
pub mod gradients;
mod guarantee;
mod ledger;
pub mod mechanism;
pub mod odometer;
pub mod printed;
mod privatizer;
pub mod quote;
mod reading;
pub mod release;
mod request;
mod seal;
mod stream_ledger;
pub mod streams;
pub mod sums;
mod threat_model;
pub mod visits;

pub use accountant::{PrivacyLoss, price};
pub use budget::{BadDelta, BadEpsilon, Delta, Epsilon};
pub use calibration::{analytic_gaussian_sigma, gaussian_delta, gdp_epsilon, gdp_mu};
pub use event::{Event, Factor};
pub use guarantee::Guarantee;
pub use ledger::{Ledger, Provenance, SIMULATED_NOISE, Statement};
pub use mechanism::{MechanismEntry, RewardMechanism, resolve_auto};
pub use privatizer::{Channel, Privatizer, Protection, Query, ReleaseCounts};
pub use reading::{Reading, UnknownReading};
pub use request::{Refusal, Request, RewardFacts};
pub use seal::{Raw, Released, Signal};
pub use stream_ledger::StreamStatement;
pub use threat_model::{Adversary, Growth, Neighbours, Participations, RadiusUnits, ThreatModel, Unit};
