//! Defines the parameters of a cell as sections, which the cells of a sweep share.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Index;
use std::sync::Arc;

/// Holds all parameters of a cell by section, such as `environment` and `policy`, defaults included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resolved(pub BTreeMap<String, Arc<Value>>);

impl Index<&str> for Resolved {
    type Output = Value;

    /// Returns a section; null if the cell has none of this name.
    fn index(&self, section: &str) -> &Value {
        self.0.get(section).map_or(&Value::Null, Arc::as_ref)
    }
}

impl From<Value> for Resolved {
    /// Takes the members of an object as sections; any other value has none.
    fn from(value: Value) -> Self {
        SharedValues::default().sections(value)
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
    /// Returns what stands for the text of a value.
    pub fn entry(&mut self, value: &impl Serialize) -> Entry<'_, [u8; 32], T> {
        self.text.clear();
        // Writing a value to memory does not fail.
        let _ = serde_json::to_writer(&mut self.text, value);
        self.known.entry(Sha256::digest(&self.text).into())
    }
}

/// Gives equal values one place in memory.
#[derive(Debug)]
pub struct SharedValues<T = Value>(ByText<Arc<T>>);

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

impl SharedValues {
    /// Returns the members of an object as shared sections.
    pub fn sections(&mut self, value: Value) -> Resolved {
        let Value::Object(members) = value else { return Resolved::default() };
        Resolved(members.into_iter().map(|(name, section)| (name, self.share(section))).collect())
    }
}
