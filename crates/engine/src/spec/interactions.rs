//! Reads the `[privacy]` table of contextual runs: mechanism, calibration and budget.
//!
//! The budget is for one user's interaction.

use super::places::KeyPlaces;
use super::privacy::{RequestDocs, clip_range, participation, protected, request};
use privateer_config::error::{Error, Place, Span};
use privateer_config::params::{Args, Table};
use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::{Refusal, Request};

/// Mechanisms that a spec can name for interactions.
pub const INTERACTION_MECHANISMS: [&str; 12] = [
    "auto",
    "none",
    "tree",
    "honaker",
    "blt",
    "sqrt-toeplitz",
    "banded-toeplitz",
    "normalised-toeplitz",
    "local-gaussian",
    "privunit",
    "laplace",
    "gumbel",
];

/// Holds a privacy request as read from a spec, with the places of its keys.
#[derive(Debug, Clone)]
pub struct InteractionPlan {
    request: Request,
    places: KeyPlaces,
    /// Places of the policy's own keys, and of its table.
    of_policy: (Vec<(String, Place)>, Option<Place>),
}

impl InteractionPlan {
    /// Reads the table's keys; without a `[privacy]` table nothing is private.
    ///
    /// * `policy` — supplies the places of the policy's keys
    pub fn parse(args: &Args<'_>, table: &Table, stated: bool, policy: &Table, people: Participation) -> Self {
        let mut request = request(
            args,
            &INTERACTION_MECHANISMS,
            if stated { "auto" } else { "none" },
            &RequestDocs {
                mechanism: "noise of private policies; `auto`: the calibration picks",
                epsilon: ["privacy loss of one user", "none; private policies require it"],
                ..RequestDocs::DEFAULT
            },
        );
        request.clip = clip_range(args, table);
        request.budget.participation = participation(args, &request, people);
        if protected(args) == Some(true) && request.mechanism != "none" {
            args.reject("protects", "contexts are the users' own, and are protected", "`contexts and rewards`, or no `protects`");
        }
        args.finish();
        let place = |span: &Span| args.sink().sources().place(span);
        let keys = policy.entries.iter().filter_map(|entry| Some((entry.key.clone(), place(entry.node.span.as_ref()?))));
        Self { request, places: KeyPlaces::of(args, table), of_policy: (keys.collect(), policy.span.as_ref().map(place)) }
    }

    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Places a refusal at the key of `[privacy]` or of the policy that caused it.
    ///
    /// If nobody wrote that key, the place is the policy's.
    pub fn place(&self, refusal: Refusal) -> Error {
        let (keys, table) = &self.of_policy;
        let own = keys.iter().find(|(known, _)| known == refusal.key).map(|(_, place)| place);
        self.places.place(refusal, own.or(table.as_ref()))
    }
}
