//! Combines and records the tables that a spec writes, with the defaults of keys that it leaves out.

use privateer_config::params::{Args, KeyDoc, Node, Table, Value};
use std::collections::BTreeMap;

/// Returns the table under `key`.
pub(super) fn nested<'t>(table: &'t Table, key: &str) -> Option<&'t Table> {
    match table.get(key).map(|node| &node.value) {
        Some(Value::Table(nested)) => Some(nested),
        _ => None,
    }
}

/// Returns the tables `[[key]]`; refuses anything else under the key.
pub(super) fn tables<'t>(top: &Args<'_>, table: &'t Table, key: &str) -> Option<&'t [Node]> {
    match &table.get(key)?.value {
        Value::Array(tables) if !tables.is_empty() => Some(tables),
        _ => {
            let message = format!("`{key}` is not an array of tables");
            top.reject(key, message, format!("`[[{key}]]` tables with a `kind` each, at least one"));
            None
        }
    }
}

/// Returns the spec's table under `key`, overridden by the policy's own keys.
///
/// The flag says whether the policy has own keys.
pub(super) fn overlaid(base: Option<&Table>, policy: &Table, key: &str) -> (Table, bool) {
    let mut table = base.cloned().unwrap_or_default();
    let own = nested(policy, key);
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
    nested(table, key).map_or(serde_json::Value::Null, written_json)
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
