//! Writes the ledger of interactions.

use crate::{Adversary, Calibration, Delta, Epsilon, Event, Growth, Ledger, Statement, ThreatModel, Unit};

/// Carries a mechanism's own statement.
#[derive(Debug, Clone)]
pub struct InteractionStatement {
    /// Name of the mechanism.
    pub mechanism: &'static str,
    /// How the paper's formulas are calibrated.
    pub calibration: Calibration,
    /// What is done to the stream.
    pub event: Event,
    /// Claimed (epsilon, delta); `None` if nothing is claimed.
    pub budget: Option<(Epsilon, Delta)>,
    /// Range to which rewards are clipped; `None` if they are not clipped.
    pub clip: Option<(f64, f64)>,
    /// The formula that sets the noise.
    pub noise_formula: String,
    /// Why the claim is false, and the erratum that says so.
    /// Used only where the price shows that the claim is false.
    pub doubt: Option<(&'static str, &'static str)>,
    /// True if every user adds their own noise.
    pub local: bool,
    /// Further notes.
    pub notes: Vec<String>,
}

/// Builds the ledger: claim and price, in the words of the joint or the local model.
#[must_use]
pub fn interaction_ledger(said: InteractionStatement) -> Ledger {
    let InteractionStatement { mechanism, calibration, event, budget, clip, noise_formula, doubt, local, notes } = said;
    let threat_model = if local {
        ThreatModel::replaced(Adversary::Server, Unit::Interaction, Growth::SeparateReleases)
    } else {
        // All interactions of a user enter one stream, where their effects add up.
        ThreatModel::replaced(Adversary::OtherUsers, Unit::Interaction, Growth::OneStream)
    };
    Ledger::of(Statement {
        mechanism,
        calibration,
        threat_model,
        event,
        epsilon: budget.map(|(epsilon, _)| epsilon),
        delta: budget.map(|(_, delta)| delta),
        clip,
        noise_formula,
        doubt,
        notes,
    })
}
