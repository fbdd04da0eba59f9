//! `privateer list`: the registry with the keys that each entry reads.

use super::output::say;
use crate::registry::{Kind, Registry, kinds};
use crate::spec::listing;
use privateer_config::error::{Diagnostic, Error, closest};
use privateer_config::facts::FactValue;
use std::collections::BTreeMap;

/// Lists all kinds, one kind, or one name.
pub fn list(registry: &Registry, what: Option<&str>, json: bool) -> Result<(), Error> {
    let chosen: Vec<(&str, Vec<Kind>)> = kinds()
        .into_iter()
        .filter_map(|kind| {
            let mut entries = listing(registry, kind);
            if let Some(what) = what
                && what != kind
            {
                entries.retain(|entry| entry.name == what);
            }
            (!entries.is_empty()).then_some((kind, entries))
        })
        .collect();
    if chosen.is_empty() {
        let what = what.unwrap_or_default();
        let all: Vec<&str> = kinds()
            .into_iter()
            .chain(kinds().into_iter().flat_map(|kind| listing(registry, kind).into_iter().map(|entry| entry.name)))
            .collect();
        let problem = Diagnostic::new(format!("nothing is called `{what}`"))
            .expected(format!("one of {}, or a name that `privateer list` shows", kinds().join(", ")));
        let hint = closest(what, all.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        return Diagnostic { hint, ..problem }.refuse();
    }
    if json {
        say(&FactValue::of(&chosen.into_iter().collect::<BTreeMap<_, _>>()).to_string());
        return Ok(());
    }
    for (kind, entries) in &chosen {
        say(kind);
        let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        for entry in entries {
            let paper = if entry.paper.is_empty() { String::new() } else { format!(" [{}]", entry.paper) };
            say(&format!("  {:width$}  {}{paper}", entry.name, entry.summary));
            if what.is_some() {
                for key in &entry.keys {
                    let default = key.default.as_deref().map(|default| format!("; default {default}")).unwrap_or_default();
                    say(&format!("      {} = {}{default}", key.path, key.accepts));
                    if !key.doc.is_empty() {
                        say(&format!("          {}", key.doc));
                    }
                }
            }
        }
    }
    if what.is_none() {
        say("\n`privateer list NAME` shows the keys of one entry.");
    }
    Ok(())
}
