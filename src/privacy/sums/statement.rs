//! What a ledger says of private sums.

use super::person::Clipping;
use crate::privacy::{Delta, Epsilon, Event, Ledger, Reading, Statement};

/// What a mechanism states about itself.
pub(super) struct Said {
    pub(super) mechanism: &'static str,
    pub(super) reading: Reading,
    pub(super) event: Event,
    pub(super) epsilon: Option<Epsilon>,
    pub(super) delta: Option<Delta>,
    pub(super) clipping: Clipping,
    pub(super) calibration: String,
    pub(super) local: bool,
    pub(super) notes: Vec<String>,
}

/// The ledger: claim beside price, in the words of the model.
pub(super) fn ledger(said: Said) -> Ledger {
    let Said { mechanism, reading, event, epsilon, delta, clipping, calibration, local, notes } = said;
    let unbounded = matches!(event, Event::Sums { reward: None, .. });
    let doubt = if unbounded {
        ("rewards are not bounded and not clipped; with high probability is no guarantee", "E3")
    } else {
        ("the noise is too small for L2 sensitivities of sqrt(2) and 2Y", "E13, E14")
    };
    let mut ledger = Ledger::of(Statement {
        mechanism,
        reading,
        event,
        epsilon,
        delta,
        clip: clipping.range,
        calibration,
        doubt: Some(doubt),
        notes: Vec::new(),
    });
    // Who takes part more than once moves overlapping sums: not the price of independent answers.
    ledger.notes.retain(|note| !note.contains("(E5)"));
    if epsilon.is_some() {
        ledger.notes.push(
            "a fresh person per round is assumed: k rounds of one person cost up to k times mu (`privateer account --participations`)"
                .to_owned(),
        );
        if clipping.centre != 0.0 {
            ledger.notes.push(format!("rewards are centred by {}, a public constant (E7)", clipping.centre));
        }
        if delta.is_some_and(|delta| 0.05 <= delta.get()) {
            ledger.notes.push(format!(
                "delta = {} is no privacy level: a mechanism that publishes one person in {:.0} keeps it too (E12)",
                delta.map_or(f64::NAN, Delta::get),
                1.0 / delta.map_or(f64::NAN, Delta::get)
            ));
        }
    }
    ledger.protects = if local {
        "one person's decision set and reward (D_t, y_t), against everybody else, the server among them; the point x_t is shown to that person alone"
    } else {
        "one person's decision set and reward (D_t, y_t), in all that is shown to others; the person's own point x_t is not protected"
    }
    .to_owned();
    ledger.neighbours =
        "two streams that differ in one person's decision set and reward, replaced by any other's (joint model)".to_owned();
    if local {
        ledger.neighbours = "any two decision sets and rewards of one person (local joint model)".to_owned();
    }
    ledger.notes.extend(notes);
    ledger
}
