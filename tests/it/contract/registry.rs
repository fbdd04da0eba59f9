//! Names, summaries, documentation.

use privateer::registry::{
    CONTEXTUAL_ENVIRONMENTS, CONTEXTUAL_POLICIES, CURATORS, ENVIRONMENTS, FEATURES, GRADIENT_NOISES, KERNELS, LEARNERS, LOSSES,
    MECHANISMS, NOISES, POLICIES, PROBLEMS, Registry, SETS, SUMS, documentation, kinds, names,
};

/// Each kind with its names and summaries, as the lists have them.
fn lists() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    vec![
        ("environment", ENVIRONMENTS.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("contextual-environment", CONTEXTUAL_ENVIRONMENTS.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("kernel", KERNELS.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("noise", NOISES.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("mechanism", {
            // `none` serves both kinds.
            let sums = SUMS.iter().filter(|entry| entry.name != "none").map(|entry| (entry.name, entry.summary));
            MECHANISMS.iter().map(|entry| (entry.name, entry.summary)).chain(sums).collect()
        }),
        ("curator", CURATORS.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("policy", POLICIES.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("contextual-policy", CONTEXTUAL_POLICIES.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("features", FEATURES.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("problem", PROBLEMS.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("set", SETS.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("loss", LOSSES.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("gradient-noise", GRADIENT_NOISES.iter().map(|entry| (entry.name, entry.summary)).collect()),
        ("learner", LEARNERS.iter().map(|entry| (entry.name, entry.summary)).collect()),
    ]
}

#[test]
fn names_and_summaries() {
    for (kind, entries) in lists() {
        assert!(!entries.is_empty(), "{kind}");
        let mut names: Vec<&str> = entries.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), entries.len(), "a {kind} is registered twice");
        for (name, summary) in entries {
            let words = name.split('-');
            let kebab = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
            assert!(words.clone().count() != 0 && words.clone().all(kebab), "{kind} `{name}` is not kebab-case");
            assert!(!summary.is_empty() && !summary.ends_with('.') && !summary.contains('\n'), "{kind} `{name}`: {summary}");
        }
    }
}

#[test]
fn every_name_is_documented() {
    assert_eq!(kinds().to_vec(), lists().iter().map(|(kind, _)| *kind).collect::<Vec<_>>());
    for (kind, entries) in lists() {
        let documented = documentation(&Registry::builtin(), kind);
        assert_eq!(
            documented.iter().map(|found| (found.name, found.summary)).collect::<Vec<_>>(),
            entries,
            "the documentation of {kind} follows the list"
        );
        for found in documented {
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
