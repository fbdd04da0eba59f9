//! Defines the result of a release and its ledger.

use crate::accounting::Composition;
use crate::{Provenance, ThreatModel};
use serde::{Deserialize, Serialize};

/// States the privacy of one release; it holds no data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleaseLedger {
    /// Name of the mechanism.
    pub mechanism: String,
    /// Adversary, neighbouring inputs, protected unit and covered participations.
    /// The neighbouring inputs include the clip range and the radius.
    pub threat_model: ThreatModel,
    /// Privacy loss of one unit.
    pub epsilon: f64,
    /// Failure probability; 0 for a pure guarantee.
    pub delta: f64,
    /// The noise in words.
    pub noise: String,
    /// Step of the grid, in units of the value; `None` if the output is not a number.
    pub grid: Option<f64>,
    /// Each loss and its count, as another accountant needs them.
    pub composition: Composition,
    /// Always [`Provenance::Released`].
    pub provenance: Provenance,
}

/// Holds a value released with exact noise, and its ledger.
/// Only the mechanisms of this crate make one; nobody can make one by hand:
///
/// ```compile_fail,E0423
/// let forged = privateer_privacy::release::Release(1.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Release<T> {
    value: T,
    ledger: ReleaseLedger,
}

impl<T> Release<T> {
    pub(super) fn new(value: T, ledger: ReleaseLedger) -> Self {
        Self { value, ledger }
    }

    /// Returns the released value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// Returns the ledger of the release.
    pub fn ledger(&self) -> &ReleaseLedger {
        &self.ledger
    }
}

/// Writes value and ledger as one line of JSON, the only output path for real data.
///
/// It accepts releases only:
///
/// ```
/// use privateer_privacy::release::{RowsRelease, publish};
/// use privateer_privacy::{Delta, Epsilon, Raw};
/// let (epsilon, delta) = (Epsilon::try_from(1.0)?, Delta::try_from(1e-6)?);
/// let mechanism = RowsRelease::calibrated(epsilon, delta, 2.0, 1.0, 2)?;
/// let release = mechanism.release(Raw::seal(vec![0.3, -0.2]))?;
/// assert!(publish(&release.rows).contains("\"provenance\":\"released\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A simulated value is refused at compile time:
///
/// ```compile_fail,E0308
/// use privateer_privacy::release::{Release, publish};
/// use privateer_privacy::{Released, Signal};
/// fn leave(simulated: &Released<Signal>) -> String {
///     publish(simulated) // expected `&Release<_>`, found `&Released<Signal>`
/// }
/// ```
#[must_use]
pub fn publish<T: Serialize>(release: &Release<T>) -> String {
    serde_json::json!({ "value": release.value, "ledger": release.ledger }).to_string()
}
