//! The ledger of a stream of samples: one person's sample is protected over the whole run.

use super::ledger::{Provenance, short};
use super::{Delta, Epsilon, Event, Guarantee, Ledger, Reading, price};

/// What a privatizer of a stream states about itself; [`Ledger::of_stream`] adds the price.
#[derive(Debug, Clone)]
pub struct StreamStatement {
    /// Name of the noise.
    pub mechanism: &'static str,
    /// Which reading.
    pub reading: Reading,
    /// What is done to the stream.
    pub event: Event,
    /// The claim; `None` if nothing is claimed.
    pub budget: Option<(Epsilon, Delta)>,
    /// Whether features and gradients are clipped.
    pub clipped: bool,
    /// The formula that sets the noise.
    pub calibration: String,
    /// Further notes.
    pub notes: Vec<String>,
}

impl Ledger {
    /// Prices the event and sets the claim beside it.
    #[must_use]
    pub fn of_stream(statement: StreamStatement) -> Self {
        let StreamStatement { mechanism, reading, event, budget, clipped, calibration, mut notes } = statement;
        let delivered = price(&event).epsilon(budget.map(|(_, delta)| delta)).filter(|epsilon| epsilon.is_finite());
        let guarantee = match (budget, delivered) {
            (None, _) => Guarantee::NotPrivate,
            // As in `Ledger::of`: slack for rounding alone.
            (Some((claimed, _)), Some(delivered)) if delivered <= claimed.get() * (1.0 + 1e-9) + 1e-14 => Guarantee::Holds,
            (Some(_), _) => {
                let (reason, erratum) = doubt(&event, clipped);
                Guarantee::NoGuarantee { reason: reason.to_owned(), erratum: erratum.to_owned() }
            }
        };
        if clipped {
            notes.push(
                "features, slopes and contributions are clipped before the noise: a bias, and no loss of privacy".to_owned(),
            );
        }
        if budget.is_some() {
            notes.push(
                "noise is drawn on doubles from a reproducible stream: low bits and the seed give the input away, so no real data \
                 may pass this path"
                    .to_owned(),
            );
        }
        let worded = |epsilon: f64, delta: Delta| {
            format!("(epsilon, delta) = ({}, {}) per sample, all rounds together", short(epsilon), short(delta.get()))
        };
        Self {
            mechanism: mechanism.to_owned(),
            reading,
            protects:
                "one person's sample (features and response), over all that is ever released; the number of samples is public"
                    .to_owned(),
            neighbours: "one sample of the stream replaced by any other".to_owned(),
            event,
            epsilon: budget.map(|(epsilon, _)| epsilon.get()),
            delta: budget.map_or(0.0, |(_, delta)| delta.get()),
            claimed: budget.map_or("nothing".to_owned(), |(epsilon, delta)| worded(epsilon.get(), delta)),
            delivered: match (budget, delivered) {
                (None, _) => "not private".to_owned(),
                (Some(_), None) => "epsilon = infinity".to_owned(),
                (Some((claimed, delta)), Some(e)) => {
                    worded(if (e - claimed.get()).abs() <= 1e-6 * claimed.get() { claimed.get() } else { e }, delta)
                }
            },
            delivered_epsilon: delivered,
            guarantee,
            clip: None,
            provenance: Provenance::Simulated,
            calibration,
            notes,
        }
    }
}

/// Why a claim about a stream is false.
fn doubt(event: &Event, clipped: bool) -> (&'static str, &'static str) {
    match event {
        _ if !clipped => ("gradients are not clipped, and responses are not bounded", "E3"),
        Event::GeneralizedGaussian { kappa: None, .. } => ("the exponent of the noise is that of no smooth norm", "E22"),
        Event::GeneralizedGaussian { .. } => {
            ("the noise is too small: the Gamma law has the scale 2 sigma in the place of 2 sigma²", "E23")
        }
        Event::Choices { .. } => ("the noise is too small for a first gradient that counts twice", "E28"),
        _ => ("the noise is too small for the gradients' range", "E25"),
    }
}
