//! Attacks the releases of mechanisms, and whole runs: every stated epsilon must survive one.
//!
//! An attack is a neighbouring pair, as bad as known, and a score of one transcript: the likelihood ratio of the two sides
//! wherever that has a closed form. Both sides are replayed many times. A threshold is chosen on a tenth of the replays, and
//! exact binomial bounds on the rest give a lower bound on epsilon. A claim below that bound is **refuted**. A claim that
//! survives is **consistent** with the attack, which is no proof: the proofs are in `docs/proofs`.
//!
//! In reading order: exact tails (`tail`), a case ([`Case`]), the discriminant of transcripts (`fit`), the bound (`bound`),
//! many cases together ([`audit`]), the registered audits ([`AUDITS`]), the false claims of the papers ([`PRINTED`]), whole
//! runs of a spec through the real engine ([`of_runs`]), and what a deployment states ([`deployment`]).
//!
//! **Invariant:** an attack uses only public functions, seals inputs and reads releases. It shares no formula with the
//! calibration.

mod bound;
mod caps;
mod case;
mod curators;
pub mod deployment;
mod finding;
mod fit;
mod ftrl;
mod gradients;
mod hidden;
mod interactions;
mod list;
#[doc(hidden)]
pub mod prefix;
mod printed;
mod recommendation;
mod release;
#[doc(hidden)]
pub mod rewards;
mod runs;
mod steps;
mod study;
mod sums;
mod tail;
mod vertices;

pub use case::{Attack, Case, Claim, Play, Score, Side};
pub use finding::{AuditFile, Finding, PassedOver, Verdict};
pub use list::{AUDITS, AuditEntry, PRINTED, find};
pub use runs::{RunsAudit, of_runs};
pub use study::{FalseAlarms, Settings, audit, false_alarms};
pub use tail::{clopper_pearson_lower, clopper_pearson_upper};
