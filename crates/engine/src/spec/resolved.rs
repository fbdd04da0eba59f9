//! Defines the parameters of a cell as sections, which the cells of a sweep share.

use privateer_config::facts::FactValue;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::iter::zip;
use std::ops::Index;
use std::sync::Arc;

const SECTIONS: [&str; 7] = ["curator", "defaults", "environment", "policy", "privacy", "problem", "rounds"];

/// Holds all parameters of a cell by section, such as `environment` and `policy`, defaults included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved([Option<Arc<FactValue>>; SECTIONS.len()]);

impl Resolved {
    /// Returns the sections with their names, in the order of names.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &Arc<FactValue>)> {
        zip(SECTIONS, &self.0).filter_map(|(name, section)| Some((name, section.as_ref()?)))
    }

    /// Returns the sections, to replace them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Arc<FactValue>> {
        self.0.iter_mut().flatten()
    }
}

impl<N: AsRef<str>> FromIterator<(N, Arc<FactValue>)> for Resolved {
    /// Takes the sections that a cell can have.
    fn from_iter<I: IntoIterator<Item = (N, Arc<FactValue>)>>(sections: I) -> Self {
        let mut resolved = Self::default();
        for (name, section) in sections {
            if let Some(place) = SECTIONS.iter().position(|known| *known == name.as_ref()) {
                resolved.0[place] = Some(section);
            }
        }
        resolved
    }
}

impl Serialize for Resolved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.sections())
    }
}

impl Index<&str> for Resolved {
    type Output = FactValue;

    /// Returns a section; nothing if the cell has none of this name.
    fn index(&self, section: &str) -> &FactValue {
        self.sections().find(|(name, _)| *name == section).map_or(&FactValue::Missing, |(_, section)| section)
    }
}

/// Finds values by their texts, of which it keeps the digests alone: many cells have many long texts.
#[derive(Debug)]
pub struct ByText<T> {
    known: BTreeMap<[u8; 32], T>,
    /// The text of the last value.
    text: Vec<u8>,
}

impl<T> Default for ByText<T> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), text: Vec::new() }
    }
}

impl<T> ByText<T> {
    /// Returns the number of different texts.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns what stands for the text of a value.
    pub fn entry(&mut self, value: &impl Serialize) -> Entry<'_, [u8; 32], T> {
        self.text.clear();
        // Writing a value to memory does not fail.
        let _ = serde_json::to_writer(&mut self.text, value);
        self.known.entry(Sha256::digest(&self.text).into())
    }
}

impl ByText<usize> {
    /// Returns the number of a value's text, from 0 in the order in which different texts came.
    pub fn number(&mut self, value: &impl Serialize) -> usize {
        let next = self.len();
        *self.entry(value).or_insert(next)
    }
}

/// Gives equal values one place in memory.
#[derive(Debug)]
pub struct SharedValues<T = FactValue>(ByText<Arc<T>>);

impl<T> Default for SharedValues<T> {
    fn default() -> Self {
        Self(ByText::default())
    }
}

impl<T: Serialize> SharedValues<T> {
    /// Returns the value, shared with every equal one that was passed before.
    pub fn share(&mut self, value: T) -> Arc<T> {
        Arc::clone(self.0.entry(&value).or_insert_with(|| Arc::new(value)))
    }
}
