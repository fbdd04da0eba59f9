//! Releases interactions unchanged, without privacy; the ledger says so.

use super::{Visit, VisitPrivatizer, VisitSignal, VisitStatement, visit_ledger};
use crate::{Event, Ledger, Raw, Reading, Released};
use privateer_numerics::rng::Stream;

/// Passes interactions on unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

impl VisitPrivatizer for Open {
    fn release<'a>(&'a mut self, visit: Raw<Visit<'a>>, _stream: &mut Stream) -> Released<VisitSignal<'a>> {
        Released::mark(VisitSignal::Visit(visit.open()))
    }
}

/// Returns the ledger of an experiment without privacy.
#[must_use]
pub fn ledger(reading: Reading) -> Ledger {
    visit_ledger(VisitStatement {
        mechanism: "none",
        reading,
        event: Event::NonPrivate,
        budget: None,
        clip: None,
        calibration: "none".to_owned(),
        doubt: None,
        local: false,
        notes: Vec::new(),
    })
}
