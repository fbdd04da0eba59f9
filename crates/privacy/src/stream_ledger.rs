//! Builds the ledger of a stream of samples.
//! The unit is one user's sample, protected over the whole run.

use super::{Adversary, Calibration, Delta, Epsilon, Event, Growth, Ledger, Statement, ThreatModel, Unit};

/// Carries a stream privatizer's own statement; [`Ledger::of_stream`] adds the price.
#[derive(Debug, Clone)]
pub struct StreamStatement {
    /// Name of the noise.
    pub mechanism: &'static str,
    /// How the paper's formulas are calibrated.
    pub calibration: Calibration,
    /// What is done to the stream.
    pub event: Event,
    /// Claimed (epsilon, delta); `None` if nothing is claimed.
    pub budget: Option<(Epsilon, Delta)>,
    /// Whether features and gradients are clipped.
    pub clipped: bool,
    /// True if every sample gets its own noise before it leaves its user.
    pub local: bool,
    /// The formula that sets the noise.
    pub noise_formula: String,
    /// Further notes.
    pub notes: Vec<String>,
}

impl Ledger {
    /// Prices the event and records the claim next to the price.
    #[must_use]
    pub fn of_stream(statement: StreamStatement) -> Self {
        let StreamStatement { mechanism, calibration, event, budget, clipped, local, noise_formula, mut notes } = statement;
        if clipped {
            notes.push(
                "features, slopes and contributions are clipped before the noise: a bias, and no loss of privacy".to_owned(),
            );
        }
        // A sample with its own noise is a separate release; all other samples enter one stream.
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

/// Returns why a claim about a stream is false, and the erratum that says so.
fn doubt(event: &Event, clipped: bool) -> (&'static str, &'static str) {
    match event {
        _ if !clipped => ("gradients are not clipped, and responses are not bounded", "E3"),
        Event::GeneralizedGaussian { kappa: None, .. } => ("the exponent of the noise is that of no smooth norm", "E22"),
        Event::GeneralizedGaussian { .. } => {
            ("the noise is too small: the Gamma law has scale 2 sigma instead of 2 sigma²", "E23")
        }
        Event::Choices { .. } => ("the noise is too small for a first gradient that counts twice", "E28"),
        _ => ("the noise is too small for the gradients' range", "E25"),
    }
}
