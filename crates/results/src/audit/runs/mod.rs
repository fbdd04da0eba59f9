//! Audits whole runs: the real engine plays a spec's policies and learners on neighbouring inputs.
//!
//! One user's data are planted in round 1, and in all further rounds of that user which the claim covers. **White box**: a score of what was released to the policy. **Black box**: a logistic
//! fit on what the policy did with it. Fits use one half of the replays; the other half is judged.
//!
//! In reading order: all cells of a sweep (`sweep`), the replays of one (`replay`), points with rewards (`bandit`, `planted`),
//! inputs of a curator (`curated`), users with contexts (`users`), samples (`samples`), their records (`transcript`), and the scores of transcripts
//! (`fit`, `logistic`).

mod bandit;
mod curated;
mod fit;
mod logistic;
mod participation;
mod planted;
mod replay;
mod samples;
mod sweep;
mod transcript;
mod users;

pub use sweep::{RunsAudit, of_runs};
