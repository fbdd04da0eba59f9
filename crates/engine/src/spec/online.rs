//! Reads what specs of `[problem]` and `[[learner]]`, not `[environment]` and `[[policy]]`, request of privacy.

use super::places::{KeyPlaces, Placed};
use super::privacy::{self, RequestDocs};
use crate::oco::learner::GradientRequest;
use privateer_config::params::{Args, Table};
use privateer_privacy::accounting::sensitivity::Participation;

/// A privacy request of a run of learners, as read from a spec.
pub type GradientPlan = Placed<GradientRequest>;

impl GradientPlan {
    /// Reads the table's keys; `None` after a mistake.
    ///
    /// * `learner` — its table, and whether it is private
    pub(super) fn parse(
        args: &Args<'_>,
        table: &Table,
        stated: bool,
        (learner, is_private): (&Table, bool),
        people: Participation,
    ) -> Option<Self> {
        let request = request(args, stated, people);
        if is_private && request.spec.mechanism != "none" && !args.has("epsilon") {
            args.missing("epsilon", "a finite number > 0, the privacy loss of one sample over the whole run");
            return None;
        }
        Some(Self { request, places: KeyPlaces::of(args, table).or_of(args, learner, &[]) })
    }
}

pub(super) fn request(args: &Args<'_>, stated: bool, people: Participation) -> GradientRequest {
    let words = ["auto", "none", "gaussian", "generalized-gaussian", "privunit", "laplace", "gumbel"];
    let mut spec = privacy::request(
        args,
        &words,
        if stated { "auto" } else { "none" },
        &RequestDocs {
            mechanism: "noise on gradients or choices; `auto`: calibration and learner pick",
            epsilon: ["privacy loss of one sample, over the whole run", "none; every mechanism but `none` requires it"],
            ..RequestDocs::DEFAULT
        },
    );
    spec.budget.participation = privacy::participation(args, &spec, people);
    let clips = args.choice(
        "clip",
        "whether features and gradients are clipped; `auto`: not in the as-printed calibration",
        &[("auto", None), ("on", Some(true)), ("off", Some(false))],
        "auto",
    );
    let mut factorisations = vec!["auto"];
    factorisations.extend(privateer_privacy::quote::FACTORISATIONS);
    let doc = "how the noise of prefix sums is made; `auto`: the tree; in the tight calibration normalised-toeplitz, and where users return or samples are passed again the one with the least error, but for the square root";
    let factorisation = args.word("factorisation", doc, &factorisations, Some("auto"));
    let stated_smoothness =
        args.number("stated_smoothness", "smoothness that the printed formulas are given").above(0.0).at_most(1e9).or(1.0);
    let stated_lipschitz =
        args.number("stated_lipschitz", "Lipschitz constant that the printed formulas are given").above(0.0).at_most(1e9).or(1.0);
    args.finish();
    GradientRequest { spec, clips, factorisation, stated_smoothness, stated_lipschitz }
}
