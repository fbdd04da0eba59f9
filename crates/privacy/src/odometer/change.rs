//! How a record may change between two neighbouring tables.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The change of one record that a release protects: which neighbours its loss is proved for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RecordChange {
    /// Any values of the record that were or could be told, in any column; its inputs stay.
    Values,
    /// The inputs of the record, moved by at most a radius; its values stay.
    InputsWithin {
        /// Largest L2 distance, in units of the space.
        radius: f64,
        /// Tells spaces apart: columns, centre and scales of the inputs.
        space: String,
    },
    /// The record as a whole, replaced by any other.
    Record,
}

impl RecordChange {
    /// Whether every pair of neighbours under `other` is one under this change too, so that a loss proved for this change also holds for
    /// `other`.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Record, _) | (Self::Values, Self::Values) => true,
            (Self::InputsWithin { radius, space }, Self::InputsWithin { radius: smaller, space: same }) => {
                smaller <= radius && space == same
            }
            (Self::Values | Self::InputsWithin { .. }, _) => false,
        }
    }

    /// Whether both are about inputs, in units that do not compare: a loss for one says nothing about the other.
    #[must_use]
    pub fn is_in_other_units(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::InputsWithin { space, .. }, Self::InputsWithin { space: same, .. }) => space != same,
            _ => false,
        }
    }
}

impl fmt::Display for RecordChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Values => f.write_str("any values of one record, in any column"),
            Self::InputsWithin { radius, .. } => write!(f, "the inputs of one record, moved by at most {radius} (L2)"),
            Self::Record => f.write_str("one record, replaced by any other"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_covers_its_parts_and_parts_do_not_cover_each_other() {
        let within = |radius, space: &str| RecordChange::InputsWithin { radius, space: space.to_owned() };
        for part in [RecordChange::Values, within(0.5, "a"), RecordChange::Record] {
            assert!(RecordChange::Record.covers(&part) && part.covers(&part));
            assert_eq!(part.covers(&RecordChange::Record), part == RecordChange::Record);
        }
        assert!(!RecordChange::Values.covers(&within(0.5, "a")) && !within(0.5, "a").covers(&RecordChange::Values));
        assert!(within(0.5, "a").covers(&within(0.2, "a")) && !within(0.2, "a").covers(&within(0.5, "a")));
        assert!(!within(0.5, "a").covers(&within(0.2, "b")), "radii of different units do not compare");
    }
}
