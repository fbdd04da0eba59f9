//! Writes the ledger of private sums.

use super::user::Clipping;
use crate::{Adversary, Calibration, Delta, Epsilon, Event, Growth, Ledger, Statement, ThreatModel, Unit};

/// Carries a mechanism's own statement.
pub(super) struct SumsStatement {
    pub(super) mechanism: &'static str,
    pub(super) calibration: Calibration,
    pub(super) event: Event,
    pub(super) epsilon: Option<Epsilon>,
    pub(super) delta: Option<Delta>,
    pub(super) clipping: Clipping,
    pub(super) noise_formula: String,
    pub(super) local: bool,
    pub(super) notes: Vec<String>,
}

/// Builds the ledger: claim and price, in the words of the joint or the local model.
pub(super) fn ledger(said: SumsStatement) -> Ledger {
    let SumsStatement { mechanism, calibration, event, epsilon, delta, clipping, noise_formula, local, mut notes } = said;
    let unbounded = matches!(event, Event::Sums { reward: None, .. });
    let doubt = if unbounded {
        ("rewards are not bounded and not clipped; with high probability is no guarantee", "E3")
    } else {
        ("the noise is too small for L2 sensitivities of sqrt(2) and 2Y", "E13, E14")
    };
    if let Some(delta) = delta {
        if clipping.centre != 0.0 {
            notes.push(format!("rewards are centred by {}, a public constant (E7)", clipping.centre));
        }
        if 0.05 <= delta.get() {
            notes.push(format!(
                "delta = {} is no privacy level: a mechanism that publishes one user in {:.0} keeps it too (E12)",
                delta.get(),
                1.0 / delta.get()
            ));
        }
    }
    let threat_model = if local {
        ThreatModel::replaced(Adversary::Server, Unit::DecisionSetAndReward, Growth::SeparateReleases)
    } else {
        // Several rounds of a user may enter one release, or successive ones: their effects on the stream add up.
        ThreatModel::replaced(Adversary::OtherUsers, Unit::DecisionSetAndReward, Growth::OneStream)
    };
    Ledger::of(Statement {
        mechanism,
        calibration,
        threat_model,
        event,
        epsilon,
        delta,
        clip: clipping.range,
        noise_formula,
        doubt: Some(doubt),
        notes,
    })
}
