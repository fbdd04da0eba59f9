//! Every mechanism has an audit and survives it; every printed claim that is known to be false is refuted.

use privateer::audit::{AUDITS, AuditEntry, Case, PRINTED, Settings, Verdict, audit};
use privateer::privacy::quote::FACTORISATIONS;
use privateer::registry::{CURATORS, MECHANISMS, SUMS};

/// Releases of real data: keyed by the operating system, so that no seed fixes what they do.
const RELEASES: [&str; 8] = [
    "discrete-laplace",
    "bit",
    "hybrid-on-a-grid",
    "discrete-gaussian-vector",
    "discrete-gaussian-tree",
    "discrete-gaussian-rows",
    "discrete-gaussian-sums",
    "exponential",
];

fn cases<'a>(entries: impl IntoIterator<Item = &'a AuditEntry>) -> Vec<Case> {
    entries.into_iter().flat_map(|entry| (entry.cases)().expect("an audit of its own mechanism")).collect()
}

#[test]
fn every_mechanism_has_an_audit() {
    let registered = MECHANISMS.iter().map(|entry| entry.name).chain(FACTORISATIONS).chain(["gram-prefix"]).chain(RELEASES);
    let sums: Vec<String> = SUMS.iter().map(|entry| format!("sums-{}", entry.name)).collect();
    for name in registered.chain(sums.iter().map(String::as_str)) {
        let entry = AUDITS.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("`{name}` has no audit"));
        let cases = cases([entry]);
        assert!(!cases.is_empty(), "{name}");
        for case in cases {
            assert_eq!(case.claim.epsilon.is_finite(), !name.ends_with("none"), "{name} claims something");
            assert!(case.name.starts_with(name) && !case.pair.is_empty() && !case.score.is_empty(), "{case:?}");
            assert_eq!(case.erratum, None, "{name}");
        }
    }
    // Curators without a guarantee are among the false claims.
    for curator in CURATORS {
        assert!(AUDITS.iter().chain(PRINTED).any(|entry| entry.name == curator.name), "`{}` has no audit", curator.name);
    }
    let mut names: Vec<String> = cases(AUDITS.iter().chain(PRINTED)).into_iter().map(|case| case.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two cases share a name, and with it their streams");
}

/// With fixed seeds. The attacks reach most of what is claimed: they are not blunt.
#[test]
fn claims_survive() {
    let simulated = cases(AUDITS.iter().filter(|entry| !RELEASES.contains(&entry.name)));
    let findings = audit(&simulated, Settings { samples: 20_000, ..Settings::default() }).expect("scores");
    for found in &findings {
        let expected = if found.epsilon.is_some() { Verdict::Consistent } else { Verdict::NoClaim };
        assert_eq!(found.verdict, expected, "{found:?}");
        assert!(found.as_known());
    }
    for (name, least) in
        [("laplace at 2", 0.85), ("duchi at 2", 0.9), ("hybrid at 2", 0.85), ("tree", 0.8), ("gram-prefix", 0.85)]
    {
        let found = findings.iter().find(|found| found.name == name).expect("a finding");
        assert!(found.reached().is_some_and(|reached| least < reached), "{name}: {found:?}");
    }
}

/// Entropy of the operating system: false alarm below 1e-6 in all.
#[test]
fn releases_survive() {
    let releases = cases(AUDITS.iter().filter(|entry| RELEASES.contains(&entry.name)));
    let settings = Settings { samples: 10_000, confidence: 1.0 - 1e-6, ..Settings::default() };
    for found in audit(&releases, settings).expect("scores") {
        assert_eq!(found.verdict, Verdict::Consistent, "{found:?}");
        assert!(found.reached().is_some_and(|reached| 0.5 < reached), "{found:?}");
    }
}

#[test]
fn false_printed_claims_are_refuted() {
    for found in audit(&cases(PRINTED), Settings { samples: 20_000, ..Settings::default() }).expect("scores") {
        assert_eq!(found.verdict, Verdict::Refuted, "{found:?}");
        assert!(found.as_known() && found.erratum.is_some() && !found.source.is_empty());
    }
}
