//! Releases interactions unchanged, without privacy; the ledger says so.

use super::{Interaction, InteractionPrivatizer, InteractionSignal};
use crate::noise::Noise;
use crate::{Calibration, Claim, ClaimUnit, Event, Ledger, Raw, Released, Request};

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
    let unit = ClaimUnit::Interaction { clip: None, local: false };
    Ledger::of(Claim::of(&Request { calibration, ..Request::NONE }, unit, Event::NonPrivate, "none"))
}
