//! Makes the texts of a folder safe to show, because a folder may be untrusted.

use crate::record::{CellInfo, Manifest};
use privateer_config::error::{Error, printable};
use privateer_config::params::Scalar;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the manifest with every text made safe to show, because a folder may be untrusted.
pub(super) fn shown(manifest: Manifest) -> Result<Manifest, Error> {
    let failed = |source| Error::Failed { problem: format!("the manifest: {source}"), hint: "please report this".to_owned() };
    let mut value = serde_json::to_value(manifest).map_err(failed)?;
    show_value(&mut value);
    serde_json::from_value(value).map_err(failed)
}

/// Makes every text of the cells safe to show; values that cells share stay shared.
pub(super) fn show_cells(cells: &mut [CellInfo]) {
    // The values before, which must live so that no other one gets their address, and after.
    let mut known: BTreeMap<usize, [Arc<Value>; 2]> = BTreeMap::new();
    let mut show_shared = |value: &mut Arc<Value>| {
        let [_, shown] = known.entry(Arc::as_ptr(value).addr()).or_insert_with(|| {
            let mut shown = (**value).clone();
            show_value(&mut shown);
            let shown = if shown == **value { Arc::clone(value) } else { Arc::new(shown) };
            [Arc::clone(value), shown]
        });
        *value = Arc::clone(shown);
    };
    for cell in cells {
        [&mut cell.ledger, &mut cell.facts].into_iter().chain(cell.resolved.0.values_mut()).for_each(&mut show_shared);
        [&mut cell.label, &mut cell.policy, &mut cell.environment].into_iter().for_each(show_text);
        for (key, value) in &mut cell.swept {
            show_text(key);
            if let Scalar::Text(text) = value {
                show_text(text);
            }
        }
        for warning in &mut cell.warnings {
            show_text(&mut warning.text);
        }
    }
}

fn show_text(text: &mut String) {
    if let Cow::Owned(shown) = printable(text) {
        *text = shown;
    }
}

fn show_value(value: &mut Value) {
    match value {
        Value::String(text) => show_text(text),
        Value::Array(values) => values.iter_mut().for_each(show_value),
        Value::Object(members) => members.values_mut().for_each(show_value),
        _ => {}
    }
}
