//! Reads the `[privacy]` table of contextual runs: mechanism, calibration and budget.
//!
//! The budget is for one user's interaction.

use super::privacy::{calibration, clip_range, place_of, places_of};
use privateer_config::error::{Error, Place, Span};
use privateer_config::params::{Args, Table};
use privateer_privacy::Refusal;
use privateer_privacy::interactions::InteractionRequest;

/// Holds a privacy request as read from a spec, with the places of its keys.
#[derive(Debug, Clone)]
pub struct InteractionPlan {
    request: InteractionRequest,
    places: Vec<(&'static str, Place)>,
    /// Places of the policy's own keys, and of its table.
    of_policy: (Vec<(String, Place)>, Option<Place>),
}

impl InteractionPlan {
    /// Reads the table's keys; without a `[privacy]` table nothing is private.
    ///
    /// `policy` supplies the places of the policy's keys.
    pub fn parse(args: &Args<'_>, table: &Table, stated: bool, policy: &Table) -> Self {
        let default = if stated { "auto" } else { "none" };
        let mechanism = args.word(
            "mechanism",
            "noise of private policies; `auto`: the calibration picks",
            &InteractionRequest::MECHANISMS,
            Some(default),
        );
        let calibration = calibration(args);
        let epsilon = args.number("epsilon", "privacy loss of one user").above(0.0).optional("none; private policies require it");
        let delta = args
            .number("delta", "failure probability of the claim")
            .above(0.0)
            .below(1.0)
            .optional("one over the number of rounds");
        let clip = clip_range(args, table);
        args.finish();
        let place = |span: &Span| args.sink().sources().place(span);
        let keys = policy.entries.iter().filter_map(|entry| Some((entry.key.clone(), place(entry.node.span.as_ref()?))));
        Self {
            request: InteractionRequest { mechanism, calibration, epsilon, delta, clip },
            places: places_of(args, table),
            of_policy: (keys.collect(), policy.span.as_ref().map(place)),
        }
    }

    /// Returns the request.
    #[must_use]
    pub fn request(&self) -> &InteractionRequest {
        &self.request
    }

    /// Places a refusal at the key of `[privacy]` or of the policy that caused it.
    ///
    /// If nobody wrote that key, the place is the policy's.
    #[must_use]
    pub fn place(&self, refusal: Refusal) -> Error {
        let (keys, table) = &self.of_policy;
        let key = refusal.key;
        let own = || keys.iter().find(|(known, _)| known == key).map(|(_, place)| place).or(table.as_ref());
        match (self.places.iter().any(|(known, _)| *known == key), own()) {
            (false, Some(place)) => place_of(refusal, &[(key, place.clone())]),
            _ => place_of(refusal, &self.places),
        }
    }
}
