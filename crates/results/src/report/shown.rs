//! Makes the texts of a folder safe to show, because a folder may be untrusted.

use crate::record::CellInfo;
use privateer_config::error::{Error, printable};
use privateer_config::facts::FactValue;
use privateer_config::params::Scalar;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// Returns a part of the manifest with every text made safe to show, because a folder may be untrusted.
pub(super) fn shown<T: Serialize + DeserializeOwned>(value: &T) -> Result<T, Error> {
    let mut value = FactValue::of(value);
    show_value(&mut value);
    value.read().map_err(|source| Error::failed(format!("the manifest: {source}"), "please report this"))
}

/// Makes every text of the cells safe to show; values that cells share stay shared.
pub(super) fn show_cells(cells: &mut [CellInfo]) -> Result<(), Error> {
    let (mut ledgers, mut facts) = (ShownValues(BTreeMap::new()), ShownValues(BTreeMap::new()));
    let (mut values, mut warnings) = (ShownValues(BTreeMap::new()), ShownValues(BTreeMap::new()));
    for cell in cells {
        ledgers.show(&mut cell.ledger)?;
        facts.show(&mut cell.facts)?;
        cell.resolved.values_mut().try_for_each(|section| values.show(section))?;
        warnings.show(&mut cell.warnings)?;
        [&mut cell.policy, &mut cell.environment].into_iter().for_each(show_word);
        let is_plain = |text: &str| matches!(printable(text), Cow::Borrowed(_));
        if cell.swept.iter().any(|(key, value)| !is_plain(key) || matches!(value, Scalar::Text(text) if !is_plain(text))) {
            for (key, value) in Arc::make_mut(&mut cell.swept) {
                show_word(key);
                if let Scalar::Text(text) = value {
                    show_text(text);
                }
            }
        }
    }
    Ok(())
}

/// Holds shared values by their addresses: those before, which must live so that no other one gets their address, and after.
struct ShownValues<T>(BTreeMap<usize, [Arc<T>; 2]>);

impl<T: Serialize + DeserializeOwned + PartialEq> ShownValues<T> {
    fn show(&mut self, value: &mut Arc<T>) -> Result<(), Error> {
        let shown = match self.0.entry(Arc::as_ptr(value).addr()) {
            Entry::Occupied(known) => Arc::clone(&known.get()[1]),
            Entry::Vacant(free) => {
                let shown = shown(value.as_ref())?;
                let shown = if shown == **value { Arc::clone(value) } else { Arc::new(shown) };
                free.insert([Arc::clone(value), Arc::clone(&shown)]);
                shown
            }
        };
        *value = shown;
        Ok(())
    }
}

fn show_text(text: &mut String) {
    if let Cow::Owned(shown) = printable(text) {
        *text = shown;
    }
}

fn show_word(word: &mut Arc<str>) {
    if let Cow::Owned(shown) = printable(word) {
        *word = shown.into();
    }
}

fn show_value(value: &mut FactValue) {
    match value {
        FactValue::Text(text) => show_text(text),
        FactValue::List(values) => values.iter_mut().for_each(show_value),
        FactValue::Table(members) => members.values_mut().for_each(show_value),
        _ => {}
    }
}
