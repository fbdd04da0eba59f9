//! Places refusals at the keys that caused them.

use privateer_config::error::{Diagnostic, Error, Place, Span};
use privateer_config::params::{Args, Entry, KeyDoc, Table};
use privateer_privacy::Refusal;

/// Holds the place of each key that was read of a table, the table's own for keys that are not written, and that of all others.
#[derive(Debug, Clone)]
pub(super) struct KeyPlaces(Vec<(String, Place)>, Option<Place>);

impl KeyPlaces {
    pub(super) fn of(args: &Args<'_>, table: &Table) -> Self {
        let place = |key: KeyDoc| {
            let span = table.get(&key.path).and_then(|node| node.span.as_ref()).or(table.span.as_ref())?;
            Some((key.path, args.sink().sources().place(span)))
        };
        Self(args.documented().into_iter().filter_map(place).collect(), None)
    }

    /// Adds the place of a policy's table, and of these of its keys.
    pub(super) fn or_of(mut self, args: &Args<'_>, policy: &Table, keys: &[Entry]) -> Self {
        let place = |span: &Option<Span>| Some(args.sink().sources().place(span.as_ref()?));
        self.0.extend(keys.iter().filter_map(|entry| Some((entry.key.clone(), place(&entry.node.span)?))));
        Self(self.0, place(&policy.span))
    }

    /// Places a refusal at the key that caused it.
    pub(super) fn place(&self, refusal: Refusal) -> Error {
        let of_key = self.0.iter().find(|(key, _)| *key == refusal.key).map(|(_, place)| place);
        let mut diagnostic = Diagnostic::new(refusal.message).expected(refusal.expected);
        diagnostic.hint = refusal.hint;
        diagnostic.place = of_key.or(self.1.as_ref()).map(|place| Box::new(place.clone()));
        Error::input(diagnostic)
    }
}

/// Holds what a `[privacy]` table requests, with the places of its keys and of those of the policy.
#[derive(Debug, Clone)]
pub struct Placed<R> {
    pub request: R,
    pub(super) places: KeyPlaces,
}

impl<R> Placed<R> {
    /// Places a refusal at the key of `[privacy]` or of the policy that caused it.
    ///
    /// If nobody wrote that key, the place is the policy's.
    pub fn place(&self, refusal: Refusal) -> Error {
        self.places.place(refusal)
    }
}
