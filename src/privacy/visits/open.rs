//! No privacy: the visit as it is, and a ledger that says so.

use super::{Visit, VisitPrivatizer, VisitSignal, VisitStatement, visit_ledger};
use crate::privacy::{Calibration, Event, Ledger, Raw, Released};
use crate::rng::Stream;

/// Passes visits on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

impl VisitPrivatizer for Open {
    fn release<'a>(&'a mut self, visit: Raw<Visit<'a>>, _stream: &mut Stream) -> Released<VisitSignal<'a>> {
        Released::mark(VisitSignal::Visit(visit.open()))
    }
}

/// The ledger of a run without privacy.
#[must_use]
pub fn ledger(calibration: Calibration) -> Ledger {
    visit_ledger(VisitStatement {
        mechanism: "none",
        calibration,
        event: Event::NonPrivate,
        budget: None,
        clip: None,
        noise_formula: "none".to_owned(),
        doubt: None,
        local: false,
        notes: Vec::new(),
    })
}
