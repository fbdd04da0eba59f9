//! `docs/reference.md` and the typed builders are what the registry says: written by this test with `PRIVATEER_UPDATE=1`, compared without it.

use privateer::config::params::{KeyDoc, KeyType};
use privateer::registry::{Kind, Registry, kinds};
use privateer::spec::listing;
use std::fmt::Write;
use std::path::PathBuf;

fn page() -> String {
    let mut page = String::from(
        "# Reference: what a spec can name\n\nMade from the registry (`PRIVATEER_UPDATE=1 cargo test reference`); `privateer list NAME` prints \
         the same. Nested keys are written with dots: `domain.points` is `points` in the table `domain`.\n",
    );
    for kind in kinds() {
        let _ = write!(page, "\n## {kind}\n");
        for entry in listing(&Registry::builtin(), kind) {
            let paper = if entry.paper.is_empty() { String::new() } else { format!(" [{}]", entry.paper) };
            let _ = write!(page, "\n### `{}`\n\n{}{paper}\n", entry.name, entry.summary);
            let keys: Vec<_> = entry.keys.iter().filter(|key| key.path != "kind").collect();
            if keys.is_empty() {
                continue;
            }
            page.push_str("\n| key | accepts | default | meaning |\n|---|---|---|---|\n");
            for key in keys {
                let default = key.default.as_deref().map_or_else(String::new, |default| default.replace('|', "\\|"));
                let _ = writeln!(
                    page,
                    "| `{}` | {} | {default} | {} |",
                    key.path,
                    key.accepts.replace('|', "\\|"),
                    key.doc.replace('|', "\\|")
                );
            }
        }
    }
    page
}

#[test]
fn the_reference_page_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/reference.md");
    let now = page();
    if std::env::var_os("PRIVATEER_UPDATE").is_some() {
        std::fs::write(&path, &now).expect("docs is writable");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == now, "docs/reference.md is out of date: run `PRIVATEER_UPDATE=1 cargo test reference`");
}

/// Returns the name of an item's type: words joined, with the kind where names of different kinds meet.
fn type_name(kind: &str, name: &str) -> String {
    let suffix = match kind {
        "noise" => "Noise",
        "features" => "Features",
        "loss" => "Loss",
        _ => "",
    };
    let words = name.split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect::<String>() + suffix
}

/// Returns the lines of one type.
fn builder(name: &str, doc: &str, begin: &str, keys: &[KeyDoc], more: &[(&str, &str, &str)]) -> String {
    let mut text = format!("    /// {doc}.\n    {name} = {begin}; {{\n");
    for key in keys.iter().filter(|key| key.path != "kind" && !key.path.contains('.')) {
        let of = match key.of {
            KeyType::Number => "f64",
            KeyType::Count => "u64",
            KeyType::Word | KeyType::Text => "&str",
            KeyType::Flag => "bool",
            KeyType::Numbers => "Vec<f64>",
            KeyType::Texts => "Vec<&str>",
            KeyType::Table => "Item",
            KeyType::NumberOrWord | KeyType::Item | KeyType::Described => "impl Into<SettingValue>",
        };
        let meaning = if key.doc.is_empty() { "" } else { &format!(": {}", key.doc) };
        let default = key.default.as_ref().map(|default| format!("; default: {default}")).unwrap_or_default();
        let line =
            format!("Sets `{}`{meaning}. Accepts {}{default}.", key.path, key.accepts).replace('[', "\\[").replace(']', "\\]");
        let _ = writeln!(text, "        /// {line}\n        {}(\"{}\"): {of},", key.path.replace('-', "_"), key.path);
    }
    for (method, of, doc) in more.iter().filter(|(method, ..)| keys.iter().all(|key| key.path != *method)) {
        let _ = writeln!(text, "        /// {doc}\n        {method}(\"{method}\"): {of},");
    }
    text + "    }\n"
}

/// The two files of typed builders.
const BUILDERS: [(&str, &str, &[&str]); 2] = [
    ("problems", "what is optimised", &["environment", "contextual-environment", "kernel", "noise", "problem", "set", "loss"]),
    ("methods", "what optimises, and of its privacy", &["policy", "contextual-policy", "features", "learner"]),
];

/// The typed builders of the items of some kinds; with the policies, those of the tables `[privacy]` and `[curator]`.
fn builders(about: &str, chosen: &[&str]) -> String {
    let mut text = format!(
        "//! Typed builders of {about}, made from the lists (`PRIVATEER_UPDATE=1 cargo test reference`).\n\n\
         use super::super::macros::items;\nuse super::super::{{Item, SettingValue}};\n\nitems! {{\n",
    );
    let label = ("label", "&str", "Sets `label`, the name in results and of the random streams.");
    let privacy = ("privacy", "impl Into<SettingValue>", "Sets `privacy`: keys that override those of the spec.");
    let curator = ("curator", "impl Into<SettingValue>", "Sets `curator`: keys that override those of the spec.");
    for kind in kinds().into_iter().filter(|kind| chosen.contains(kind)) {
        let more: &[_] = match kind {
            "environment" | "contextual-environment" | "problem" => &[label],
            "policy" => &[label, privacy, curator],
            "contextual-policy" | "learner" => &[label, privacy],
            _ => &[],
        };
        for Kind { name, summary, keys, .. } in listing(&Registry::builtin(), kind) {
            let doc = format!("`{name}`: {}", summary.replace('[', "\\[").replace(']', "\\]"));
            text += &builder(&type_name(kind, name), &doc, &format!("Item::of(\"{name}\")"), &keys, more);
        }
    }
    let tables: &[(&str, &str, &str)] = &[
        ("Privacy", "mechanism", "The table `[privacy]` of bandits"),
        ("GradientPrivacy", "gradient-noise", "The table `[privacy]` of online convex optimization"),
        ("Curator", "curator", "The table `[curator]`"),
    ];
    for &(name, kind, doc) in tables.iter().filter(|_| chosen.contains(&"policy")) {
        let keys = listing(&Registry::builtin(), kind).swap_remove(0).keys;
        text += &builder(name, doc, "Item::table_of_keys()", &keys, &[]);
    }
    text + "}\n"
}

#[test]
fn the_builders_are_current() {
    for (file, about, chosen) in BUILDERS {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("src/spec/builder/items/{file}.rs"));
        let now = builders(about, chosen);
        if std::env::var_os("PRIVATEER_UPDATE").is_some() {
            std::fs::write(&path, &now).expect("the builders");
        }
        let stored = std::fs::read_to_string(&path).expect("a file of builders");
        assert_eq!(stored, now, "the lists changed: `PRIVATEER_UPDATE=1 cargo test reference` writes the builders");
    }
}
