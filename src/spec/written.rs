//! Combines and records the tables that a spec writes, with the defaults of keys that it leaves out.

use privateer_config::params::{KeyDoc, Table, Value};
use std::collections::BTreeMap;

/// Returns the spec's table under `key`, overridden by the policy's own keys.
///
/// The flag says whether the policy has own keys.
pub(super) fn overlaid(base: Option<&Table>, policy: &Table, key: &str) -> (Table, bool) {
    let mut table = base.cloned().unwrap_or_default();
    let own = match policy.get(key).map(|node| &node.value) {
        Some(Value::Table(own)) => Some(own),
        _ => None,
    };
    if let Some(own) = own {
        table.span = own.span.clone();
    }
    for entry in own.iter().flat_map(|own| &own.entries) {
        table.set(&entry.key, entry.node.clone());
    }
    (table, own.is_some())
}

/// Returns the table under `key` as JSON; null without one.
pub(super) fn json_of(table: &Table, key: &str) -> serde_json::Value {
    match table.get(key).map(|node| &node.value) {
        Some(Value::Table(nested)) => serde_json::to_value(nested.to_toml()).unwrap_or(serde_json::Value::Null),
        _ => serde_json::Value::Null,
    }
}

/// Returns a table as JSON, with the keys that are written.
pub(super) fn written_json(table: &Table) -> serde_json::Value {
    serde_json::to_value(table.to_toml()).unwrap_or(serde_json::Value::Null)
}

/// Records the keys that were not written, with their default values.
pub(super) fn note_defaults(
    prefix: &str,
    documented: &[KeyDoc],
    written: &serde_json::Value,
    defaults: &mut BTreeMap<String, String>,
) {
    for doc in documented {
        let is_written = written.pointer(&format!("/{}", doc.path.replace('.', "/"))).is_some();
        if let (Some(default), false) = (&doc.default, is_written) {
            defaults.insert(format!("{prefix}.{}", doc.path), default.clone());
        }
    }
}
