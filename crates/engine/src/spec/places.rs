//! Places refusals at the keys that caused them.

use privateer_config::error::{Diagnostic, Error, Place};
use privateer_config::params::{Args, KeyDoc, Table};
use privateer_privacy::Refusal;

/// Holds the place of each key that was read of a table; the table's own for keys that are not written.
#[derive(Debug, Clone)]
pub(super) struct KeyPlaces(Vec<(String, Place)>);

impl KeyPlaces {
    pub(super) fn of(args: &Args<'_>, table: &Table) -> Self {
        let place = |key: KeyDoc| {
            let span = table.get(&key.path).and_then(|node| node.span.as_ref()).or(table.span.as_ref())?;
            Some((key.path, args.sink().sources().place(span)))
        };
        Self(args.documented().into_iter().filter_map(place).collect())
    }

    /// Places a refusal at the key that caused it, or else at `other`.
    pub(super) fn place(&self, refusal: Refusal, other: Option<&Place>) -> Error {
        let of_key = self.0.iter().find(|(key, _)| *key == refusal.key).map(|(_, place)| place);
        let mut diagnostic = Diagnostic::new(refusal.message).expected(refusal.expected);
        diagnostic.hint = refusal.hint;
        diagnostic.place = of_key.or(other).map(|place| Box::new(place.clone()));
        Error::input(diagnostic)
    }
}
