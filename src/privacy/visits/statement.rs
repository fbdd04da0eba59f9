//! What a ledger says of visits.

use crate::privacy::{Delta, Epsilon, Event, Ledger, Reading, Statement};

/// What a mechanism states about itself.
#[derive(Debug, Clone)]
pub struct VisitStatement {
    /// Name of the mechanism.
    pub mechanism: &'static str,
    /// Which reading.
    pub reading: Reading,
    /// What is done to the stream.
    pub event: Event,
    /// What is claimed; `None` if nothing.
    pub budget: Option<(Epsilon, Delta)>,
    /// Range to which rewards are clipped.
    pub clip: Option<(f64, f64)>,
    /// The formula that sets the noise.
    pub calibration: String,
    /// Why the claim is false and which erratum says so, where the price shows that it is.
    pub doubt: Option<(&'static str, &'static str)>,
    /// Whether everybody adds their own noise.
    pub local: bool,
    /// Further notes.
    pub notes: Vec<String>,
}

/// The ledger: claim beside price, in the words of the joint or the local model.
#[must_use]
pub fn visit_ledger(said: VisitStatement) -> Ledger {
    let VisitStatement { mechanism, reading, event, budget, clip, calibration, doubt, local, notes } = said;
    let mut ledger = Ledger::of(Statement {
        mechanism,
        reading,
        event,
        epsilon: budget.map(|(epsilon, _)| epsilon),
        delta: budget.map(|(_, delta)| delta),
        clip,
        calibration,
        doubt,
        notes: Vec::new(),
    });
    // Who comes twice moves overlapping sums: not the price of independent answers.
    ledger.notes.retain(|note| !note.contains("(E5)"));
    if budget.is_some() {
        ledger.notes.push("a fresh person per round is assumed: k visits of one person cost up to k times as much".to_owned());
    }
    let (protects, neighbours) = if local {
        (
            "one person's context, arm and reward, against everybody else, the server among them",
            "any two contexts, arms and rewards of one person (local model)",
        )
    } else {
        (
            "one person's context, arm and reward, in all that is shown to others; the person's own arm follows their context in the clear",
            "two streams that differ in one person's context and reward, replaced by any other's (joint model)",
        )
    };
    ledger.protects = protects.to_owned();
    ledger.neighbours = neighbours.to_owned();
    ledger.notes.extend(notes);
    ledger
}
