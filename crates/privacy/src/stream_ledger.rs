//! The ledger of a stream of samples: one user's sample is protected over the whole run.

use super::{Adversary, Calibration, Delta, Epsilon, Event, Growth, Ledger, Statement, ThreatModel, Unit};

/// What a privatizer of a stream states about itself; [`Ledger::of_stream`] adds the price.
#[derive(Debug, Clone)]
pub struct StreamStatement {
    /// Name of the noise.
    pub mechanism: &'static str,
    /// Which calibration.
    pub calibration: Calibration,
    /// What is done to the stream.
    pub event: Event,
    /// The claim; `None` if nothing is claimed.
    pub budget: Option<(Epsilon, Delta)>,
    /// Whether features and gradients are clipped.
    pub clipped: bool,
    /// Whether every sample has noise of its own, added before it leaves its user.
    pub local: bool,
    /// The formula that sets the noise.
    pub noise_formula: String,
    /// Further notes.
    pub notes: Vec<String>,
}

impl Ledger {
    /// Prices the event and sets the claim beside it.
    #[must_use]
    pub fn of_stream(statement: StreamStatement) -> Self {
        let StreamStatement { mechanism, calibration, event, budget, clipped, local, noise_formula, mut notes } = statement;
        if clipped {
            notes.push(
                "features, slopes and contributions are clipped before the noise: a bias, and no loss of privacy".to_owned(),
            );
        }
        // A sample with noise of its own is a release of its own; all others enter the one stream.
        let threat_model = if local {
            ThreatModel::replaced(Adversary::Server, Unit::Sample, Growth::SeparateReleases)
        } else {
            ThreatModel::replaced(Adversary::Observer, Unit::Sample, Growth::OneStream)
        };
        Self::of(Statement {
            mechanism,
            calibration,
            threat_model,
            epsilon: budget.map(|(epsilon, _)| epsilon),
            delta: budget.map(|(_, delta)| delta),
            clip: None,
            noise_formula,
            doubt: Some(doubt(&event, clipped)),
            event,
            notes,
        })
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
