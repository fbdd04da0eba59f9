//! The `[privacy]` table: which mechanism, which reading, what budget.

use crate::error::{Diagnostic, Error, Place, Sources};
use crate::params::{Args, KeyDoc, Sink, Table, Value};
use crate::privacy::{MechanismEntry, Reading, Refusal, Request, RewardFacts, RewardMechanism, resolve_auto};
use crate::registry::MECHANISMS;
use std::sync::Arc;

/// A privacy request as read from a spec.
#[derive(Debug, Clone)]
pub struct PrivacyPlan {
    entry: &'static MechanismEntry,
    reading: Reading,
    epsilon: Option<f64>,
    delta: Option<f64>,
    clip: Option<(f64, f64)>,
    /// Where each key stands, for refusals that only a trial's facts can give.
    places: Vec<(&'static str, Place)>,
}

/// The keys of the table, for listings.
#[must_use]
pub fn privacy_keys() -> Vec<KeyDoc> {
    let sink = Sink::new(Sources::default());
    let args = Args::dry(&sink);
    PrivacyPlan::parse(&args, &Table::default(), true);
    args.documented()
}

const KEYS: [&str; 5] = ["mechanism", "reading", "epsilon", "delta", "clip"];

impl PrivacyPlan {
    /// Reads the table's keys. `None` after a mistake.
    pub fn parse(args: &Args<'_>, table: &Table, stated: bool) -> Option<Self> {
        let mut words = vec!["auto"];
        words.extend(MECHANISMS.iter().map(|entry| entry.name));
        let default = if stated { "auto" } else { "none" };
        let mechanism = args.word("mechanism", "how rewards are randomised; `auto`: the reading picks", &words, Some(default));
        let reading = reading(args);
        let epsilon = args
            .number("epsilon", "privacy loss of one user's reward")
            .above(0.0)
            .optional("none; every mechanism but `none` requires it");
        let delta = args
            .number("delta", "failure probability of the claim")
            .above(0.0)
            .below(1.0)
            .optional("none; `gaussian` requires it");
        let clip = clip_range(args, table);
        args.finish();
        let name = if mechanism == "auto" { resolve_auto(reading) } else { mechanism };
        let Some(entry) = MECHANISMS.iter().find(|entry| entry.name == name) else {
            args.reject("mechanism", format!("mechanism `{name}` is not registered"), "a registered mechanism");
            return None;
        };
        if name != "none" && !args.has("epsilon") {
            args.missing("epsilon", "a finite number > 0, the privacy loss of one user's reward");
            return None;
        }
        let places = places_of(args, table);
        Some(Self { entry, reading, epsilon, delta, clip, places })
    }

    /// Name of the mechanism, `auto` resolved.
    #[must_use]
    pub fn mechanism_name(&self) -> &'static str {
        self.entry.name
    }

    /// Whether the spec states the clip range.
    #[must_use]
    pub fn states_clip(&self) -> bool {
        self.clip.is_some()
    }

    /// The mechanism for rewards about which these facts are public.
    ///
    /// # Errors
    /// A refusal, at the key of the spec that it is about.
    pub fn mechanism(&self, facts: &RewardFacts, bound_stated: bool) -> Result<Arc<dyn RewardMechanism>, Error> {
        // The printed scale follows B and R; a fixed clip range beside a B that changes with the trial would keep the promise
        // in some trials and break it in others.
        let varies =
            self.reading == Reading::Printed && self.entry.name == "laplace" && facts.noise_bound.is_some() && !bound_stated;
        if varies && self.clip.is_some() {
            let refusal = Refusal::new(
                "clip",
                "the printed reading sets its noise by each trial's own B, and `clip` is the same for all",
                "no `clip`, or a stated `environment.bound`",
            );
            return Err(self.place(refusal.hint("leave `clip` out: the range is then [-(B + R), B + R] of the trial")));
        }
        let request = Request {
            mechanism: self.entry.name.to_owned(),
            reading: self.reading,
            epsilon: self.epsilon,
            delta: self.delta,
            clip: self.clip,
            facts: facts.clone(),
        };
        (self.entry.build)(&request).map_err(|refusal| self.place(refusal))
    }

    fn place(&self, refusal: Refusal) -> Error {
        place_of(refusal, &self.places)
    }
}

/// Reads the key `reading`.
pub(super) fn reading(args: &Args<'_>) -> Reading {
    match args.word(
        "reading",
        "the paper to the letter, the least repair, or the least noise",
        &["printed", "corrected", "tight"],
        Some("tight"),
    ) {
        "printed" => Reading::Printed,
        "corrected" => Reading::Corrected,
        _ => Reading::Tight,
    }
}

/// Reads the key `clip`.
pub(super) fn clip_range(args: &Args<'_>, table: &Table) -> Option<(f64, f64)> {
    match args.numbers("clip", "[lo, hi]: rewards are clipped to this range before the mechanism").as_deref() {
        None => None,
        Some(&[lo, hi]) if lo < hi => Some((lo, hi)),
        Some(found) => {
            let written = table.get("clip").map(|node| &node.value);
            // An item that is no number has been reported.
            if let Some(value @ Value::Array(items)) = written
                && items.len() == found.len()
            {
                let message = format!("`privacy.clip` is `{}`", value.shown());
                args.reject("clip", message, "two numbers [lo, hi] with lo < hi");
            }
            None
        }
    }
}

/// Where each key stands; the table's own place for keys that are not written.
pub(super) fn places_of(args: &Args<'_>, table: &Table) -> Vec<(&'static str, Place)> {
    let sources = args.sink().sources();
    let of = |&key: &&'static str| {
        let span = table.get(key).and_then(|node| node.span.as_ref()).or(table.span.as_ref())?;
        Some((key, sources.place(span)))
    };
    KEYS.iter().filter_map(|key| of(&key)).collect()
}

/// A refusal at the key that it is about.
pub(super) fn place_of(refusal: Refusal, places: &[(&'static str, Place)]) -> Error {
    let mut diagnostic = Diagnostic::new(refusal.message).expected(refusal.expected);
    diagnostic.hint = refusal.hint;
    diagnostic.place = places.iter().find(|(key, _)| *key == refusal.key).map(|(_, place)| Box::new(place.clone()));
    Error::input(diagnostic)
}
