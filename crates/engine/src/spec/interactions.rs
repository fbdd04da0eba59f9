//! Reads the `[privacy]` table of contextual runs: mechanism, calibration and budget.
//!
//! The budget is for one user's interaction.

use super::places::{KeyPlaces, Placed};
use super::privacy::{RequestDocs, clip_range, participation, protected, request};
use privateer_config::params::{Args, Table};
use privateer_privacy::Request;
use privateer_privacy::accounting::sensitivity::Participation;

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

/// A privacy request of a contextual run, as read from a spec.
pub type InteractionPlan = Placed<Request>;

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
        Self { request, places: KeyPlaces::of(args, table).or_of(args, policy, &policy.entries) }
    }
}
