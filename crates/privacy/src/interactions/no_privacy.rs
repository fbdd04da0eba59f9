//! Releases interactions unchanged, without privacy; the ledger says so.

use super::{Interaction, InteractionPrivatizer, InteractionSignal};
use crate::noise::Noise;
use crate::{Budget, Calibration, Claim, ClaimUnit, Event, Ledger, Raw, Released};

/// Passes interactions on unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrivacy;

impl InteractionPrivatizer for NoPrivacy {
    fn release<'a>(&'a mut self, interaction: Raw<Interaction<'a>>, _noise: Noise<'_>) -> Released<InteractionSignal<'a>> {
        Released::mark(InteractionSignal::Interaction(interaction.open()))
    }
}

/// Returns the ledger of an experiment without privacy.
pub fn ledger(calibration: Calibration) -> Ledger {
    Ledger::of(Claim {
        mechanism: "none",
        calibration,
        event: Event::NonPrivate,
        budget: Budget::default(),
        unit: ClaimUnit::Interaction { clip: None, local: false },
        noise_formula: "none".to_owned(),
        doubt: None,
        notes: Vec::new(),
    })
}
