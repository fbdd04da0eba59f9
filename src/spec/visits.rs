//! The `[privacy]` table of contextual runs: which mechanism, which reading, what budget for one person's visit.

use super::privacy::{clip_range, place_of, places_of, reading};
use crate::error::{Error, Place};
use crate::params::{Args, Table};
use crate::privacy::Refusal;
use crate::privacy::visits::VisitRequest;

/// A request as read from a spec, with the places of its keys.
#[derive(Debug, Clone)]
pub struct VisitPlan {
    request: VisitRequest,
    places: Vec<(&'static str, Place)>,
}

impl VisitPlan {
    /// Reads the table's keys. Without a `[privacy]` table nothing is private.
    pub fn parse(args: &Args<'_>, table: &Table, stated: bool) -> Self {
        let default = if stated { "auto" } else { "none" };
        let mechanism = args.word(
            "mechanism",
            "noise of private policies; `auto`: the reading picks",
            &VisitRequest::MECHANISMS,
            Some(default),
        );
        let reading = reading(args);
        let epsilon =
            args.number("epsilon", "privacy loss of one person").above(0.0).optional("none; private policies require it");
        let delta = args
            .number("delta", "failure probability of the claim")
            .above(0.0)
            .below(1.0)
            .optional("one over the number of rounds");
        let clip = clip_range(args, table);
        args.finish();
        Self { request: VisitRequest { mechanism, reading, epsilon, delta, clip }, places: places_of(args, table) }
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &VisitRequest {
        &self.request
    }

    /// A refusal at the key that it is about.
    #[must_use]
    pub fn place(&self, refusal: Refusal) -> Error {
        place_of(refusal, &self.places)
    }
}
