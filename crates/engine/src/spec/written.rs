//! Combines and records the tables that a spec writes, with the defaults of keys that it leaves out.

use super::path;
use privateer_config::error::{Diagnostic, Place};
use privateer_config::facts::FactValue;
use privateer_config::params::{Args, KeyDoc, Node, Table, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn nested<'t>(table: &'t Table, key: &str) -> Option<&'t Table> {
    table.get(key)?.value.as_table()
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

/// Holds an environment or a problem as a spec writes it.
#[derive(Clone)]
pub(super) struct PartRead<T> {
    pub(super) label: Arc<str>,
    pub(super) plan: T,
    pub(super) place: Option<Arc<Place>>,
    pub(super) defaults: BTreeMap<String, String>,
}

/// Reads the table under `key`; `None` after a mistake.
pub(super) fn part<T>(
    (top, table): (&Args<'_>, &Table),
    key: &'static str,
    label_doc: &'static str,
    kinds: &[&'static str],
    read: impl FnOnce(&str, &Args<'_>) -> Option<T>,
) -> Option<PartRead<T>> {
    let written = nested(table, key)?;
    let args = top.table(key);
    let kind = args.kind(key, kinds)?;
    let label = args.one_line("label", label_doc).unwrap_or_else(|| kind.clone()).into();
    let plan = read(&kind, &args)?;
    args.finish();
    let mut defaults = BTreeMap::new();
    note_defaults(key, &args.documented(), &recorded(written), &mut defaults);
    let place = written.span.as_ref().map(|span| top.sink().sources().place(span).into());
    Some(PartRead { label, plan, place, defaults })
}

/// Holds one of the tables `[[policy]]` or `[[learner]]`.
pub(super) struct Listed<'t> {
    pub(super) table: &'t Table,
    pub(super) args: Args<'t>,
    pub(super) path: String,
    pub(super) kind: String,
    pub(super) label: String,
}

/// The words for the tables of one list.
pub(super) struct ListWords {
    pub(super) key: &'static str,
    pub(super) plural: &'static str,
    pub(super) label_doc: &'static str,
    /// Expected in place of a label that is empty, or taken.
    pub(super) expected: [&'static str; 2],
}

/// Reads kind and label of the table at place `i` of a list; `None` after a mistake.
///
/// * `labels` — those that are taken
pub(super) fn listed<'t>(
    top: &Args<'t>,
    (i, item): (usize, &'t Node),
    words: &ListWords,
    kinds: &[&'static str],
    labels: &[impl AsRef<str>],
) -> Option<Listed<'t>> {
    let &ListWords { key, plural, label_doc, expected } = words;
    let Value::Table(table) = &item.value else {
        let diagnostic = Diagnostic::new(format!("a {key} is not a table")).expected(format!("`[[{key}]]` with a `kind`"));
        top.sink().push_at(item.span.as_ref(), diagnostic);
        return None;
    };
    let path = format!("{key}.{}", path::name_of(item).map_or_else(|| i.to_string(), str::to_owned));
    let args = Args::new(table, path.clone(), top.sink());
    let kind = args.kind(key, kinds)?;
    let label = args.one_line("label", label_doc).unwrap_or_else(|| kind.clone());
    let (problem, expected) = if label.trim().is_empty() {
        (format!("the {key}'s label is empty"), expected[0])
    } else if labels.iter().any(|known| known.as_ref() == label) {
        (format!("two {plural} have the label `{label}`"), expected[1])
    } else {
        return Some(Listed { table, args, path, kind, label });
    };
    args.reject(if args.has("label") { "label" } else { "kind" }, problem, expected);
    None
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

/// Returns the table under `key` as it is recorded; nothing without one.
pub(super) fn recorded_of(table: &Table, key: &str) -> FactValue {
    nested(table, key).map_or(FactValue::Missing, recorded)
}

pub(super) fn recorded(table: &Table) -> FactValue {
    FactValue::of(&table.to_toml())
}

/// Records the keys that were not written, with their default values.
pub(super) fn note_defaults(prefix: &str, documented: &[KeyDoc], written: &FactValue, defaults: &mut BTreeMap<String, String>) {
    for doc in documented {
        let is_written = doc.path.split('.').try_fold(written, |table, key| table.get(key)).is_some();
        if let (Some(default), false) = (&doc.default, is_written) {
            defaults.insert(format!("{prefix}.{}", doc.path), default.clone());
        }
    }
}
