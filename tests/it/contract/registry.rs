//! Names, summaries, documentation. That every list is documented under its kind, `docs/reference.md` shows.

use privateer::registry::{Kind, POLICIES, Registry, documentation, kinds, names};

fn documented() -> impl Iterator<Item = (&'static str, Vec<Kind>)> {
    kinds().into_iter().map(|kind| (kind, documentation(&Registry::builtin(), kind)))
}

#[test]
fn names_and_summaries() {
    for (kind, entries) in documented() {
        assert!(!entries.is_empty(), "{kind}");
        let mut names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), entries.len(), "a {kind} is registered twice");
        for Kind { name, summary, .. } in entries {
            let words = name.split('-');
            let kebab = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
            assert!(words.clone().count() != 0 && words.clone().all(kebab), "{kind} `{name}` is not kebab-case");
            assert!(!summary.is_empty() && !summary.ends_with('.') && !summary.contains('\n'), "{kind} `{name}`: {summary}");
        }
    }
}

#[test]
fn every_key_is_documented_once() {
    for (kind, entries) in documented() {
        for found in entries {
            let mut paths: Vec<&str> = found.keys.iter().map(|key| key.path.as_str()).collect();
            paths.sort_unstable();
            paths.dedup();
            assert_eq!(paths.len(), found.keys.len(), "{kind} `{}` documents a key twice", found.name);
            for key in &found.keys {
                assert!(!key.path.is_empty() && !key.accepts.is_empty(), "{kind} `{}`: {key:?}", found.name);
                assert!(!key.doc.ends_with('.'), "{kind} `{}`: {key:?}", found.name);
            }
        }
    }
    assert!(documentation(&Registry::builtin(), "unheard-of").is_empty());
    assert_eq!(names(POLICIES).len(), POLICIES.len());
}
