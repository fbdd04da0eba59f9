//! Attacks on what mechanisms release, and on whole runs: every stated epsilon has to survive one.
//!
//! An attack is a neighbouring pair, as bad as we know it, and a score of one transcript, the likelihood ratio of the two sides wherever
//! that has a closed form. Both sides are replayed many times; a threshold is chosen on a tenth of the replays, and exact binomial
//! bounds on the rest give a number that epsilon is not below. A claim below that number is **refuted**. One that survives is
//! **consistent** with the attack, which is no proof: the proofs are in `docs/proofs`.
//!
//! In reading order: exact tails (`tail`), a case ([`Case`]), the discriminant of transcripts (`fit`), the bound (`bound`), many cases together ([`audit`]), what was registered
//! ([`AUDITS`]), the claims of the papers that are false ([`PRINTED`]), and whole runs of a spec through the real engine ([`of_runs`]).
//!
//! **Invariant:** uses what anyone can use: seals inputs, reads releases. Shares no formula with calibration.

mod bound;
mod case;
pub mod choice;
pub mod curators;
mod finding;
mod fit;
pub mod gradients;
pub mod interactions;
mod list;
pub mod prefix;
pub mod printed;
pub mod release;
pub mod rewards;
mod runs;
pub mod steps;
mod study;
pub mod sums;
mod tail;
pub mod vertices;

pub use case::{Attack, Case, Claim, Play, Score, Side};
pub use finding::{AuditFile, Finding, PassedOver, Verdict};
pub use list::{AUDITS, AuditEntry, PRINTED, find};
pub use runs::{RunsAudit, of_runs};
pub use study::{FalseAlarms, Settings, audit, false_alarms};
pub use tail::{clopper_pearson_lower, clopper_pearson_upper};
