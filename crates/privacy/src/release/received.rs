//! A released value on its way from a data holder to a session: what it states about itself, and the check of that.

use crate::{Guarantee, Ledger, Released, Signal};
use serde::{Deserialize, Serialize};

/// What `privateer release` hands out for one record in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HolderRelease {
    /// Always [`HolderRelease::FORMAT`].
    pub format: String,
    /// Version of this layout.
    pub version: u32,
    /// Random name of the release state that the value came from.
    pub source: String,
    /// Digest of this answer in the data holder's file, which depends on every answer before it: its name.
    pub name: String,
    /// The newest answer of the file when it gave this one out, by its number and name: an older copy of it knows of fewer answers, or
    /// of another one.
    pub newest: (u64, String),
    /// The record, 0-based; where records are named by ids, the number that the data holder's file gives it.
    pub row: u64,
    /// Id of the record, where the data holder names records by ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The round in which it was asked for, from 1.
    pub round: u64,
    /// What the value is of.
    pub column: String,
    /// The value with its noise.
    pub released: f64,
    /// Name of the mechanism.
    pub mechanism: String,
    /// Privacy loss of this answer.
    pub epsilon: f64,
    /// Failure probability; 0 for a pure mechanism.
    pub delta: f64,
    /// Range to which the value was clipped.
    pub clip: [f64; 2],
}

impl HolderRelease {
    /// Tells these texts from others.
    pub const FORMAT: &'static str = "privateer released value";
    /// The version that this program writes and reads.
    pub const VERSION: u32 = 4;

    /// The value as a signal for a policy, after a check that it states what the session of `ledger` asked for. That noise was added
    /// cannot be checked.
    ///
    /// # Errors
    /// Every difference, in words.
    pub fn checked(&self, ledger: &Ledger, row: u64, round: u64) -> Result<Released<Signal>, Vec<String>> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, stated: String, declared: String| {
            if stated != declared {
                differences.push(format!("{what} is {stated}, and the session declares {declared}"));
            }
        };
        compare("format", self.format.clone(), Self::FORMAT.to_owned());
        compare("version", self.version.to_string(), Self::VERSION.to_string());
        compare("row", self.row.to_string(), row.to_string());
        compare("round", self.round.to_string(), round.to_string());
        compare("mechanism", self.mechanism.clone(), ledger.mechanism.clone());
        compare("epsilon", self.epsilon.to_string(), ledger.epsilon.map_or("none".to_owned(), |epsilon| epsilon.to_string()));
        compare("delta", self.delta.to_string(), ledger.delta.to_string());
        compare("clip", format!("{:?}", self.clip), ledger.clip.map_or("none".to_owned(), |clip| format!("{clip:?}")));
        if !self.released.is_finite() {
            differences.push(format!("the value is {}, and a released value is finite", self.released));
        }
        if ledger.guarantee != Guarantee::Holds {
            differences.push("the session has no mechanism whose claim holds".to_owned());
        }
        if differences.is_empty() { Ok(Released::mark(Signal::Reward(self.released))) } else { Err(differences) }
    }
}
