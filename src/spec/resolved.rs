//! Defines the parameters of a cell as sections, which the cells of a sweep share.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
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

/// Gives equal values one place in memory.
#[derive(Debug, Default)]
pub struct SharedValues {
    by_text: BTreeMap<String, Arc<Value>>,
}

impl SharedValues {
    /// Returns the value, shared with every equal one that was passed before.
    pub fn share(&mut self, value: Value) -> Arc<Value> {
        Arc::clone(self.by_text.entry(value.to_string()).or_insert_with(|| Arc::new(value)))
    }

    /// Returns the members of an object as shared sections.
    pub fn sections(&mut self, value: Value) -> Resolved {
        let Value::Object(members) = value else { return Resolved::default() };
        Resolved(members.into_iter().map(|(name, section)| (name, self.share(section))).collect())
    }
}
