//! Audits of whole runs: the real engine plays every policy and learner of a spec on two neighbouring inputs, a user's data planted in
//! round 1. **White box**: a score of what was released to the policy. **Black box**: a logistic fit on what it did with it. Fits are
//! made on a half of the replays that is not judged.
//!
//! In reading order: all cells of a sweep (`sweep`), the replays of one (`replay`), points with rewards (`bandit`, `planted`), inputs
//! of a curator (`curated`), users with contexts (`users`), samples (`samples`), and how transcripts are scored (`fit`, `logistic`).

mod bandit;
mod curated;
mod fit;
mod logistic;
mod planted;
mod replay;
mod samples;
mod sweep;
mod users;

pub use sweep::{RunsAudit, of_runs};
