//! Writes the page's section on audits, from `audit.json` in the folder.
//!
//! The section appears where the run's spec requested an audit.

use super::grid::Grid;
use super::text::short;
use crate::audit::{AuditFile, Finding, PassedOver, Verdict};
use crate::record::read_listed;
use maud::{Markup, html};
use privateer_config::error::Error;
use std::path::Path;

/// Returns the section's body; `None` if the folder has no audit.
pub(super) fn section(out: &Path) -> Result<Option<Markup>, Error> {
    let path = out.join(AuditFile::NAME);
    let Some(bytes) = read_listed(out, AuditFile::NAME, "read the audit")? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let file: AuditFile = serde_json::from_str(&text)
        .map_err(|error| Error::corrupt(path, format!("is no audit: {error}"), "remove it and run the spec again"))?;
    Ok(Some(body(&file)))
}

fn body(file: &AuditFile) -> Markup {
    let least = file.findings.iter().map(|found| found.samples).min().unwrap_or(0);
    html! {
        p {
            "The real engine was run on both sides of each pair of neighbours; " (least) " runs a side or more were judged, beside those \
             that an attack was fitted to. Noise is that of the rounds stated with the pair: what would fail only over a longer run is not \
             seen. An attack shows what epsilon is at least; it can refute a claim and never prove one. A true claim among these is refuted \
             with probability at most " ((1e9 * (1.0 - file.confidence)).round() / 1e9) "."
        }
        (findings(&file.findings).html())
        @for PassedOver { name, reason } in &file.passed_over {
            p { "Not attacked: " (name) ": " (reason) "." }
        }
    }
}

fn findings(found: &[Finding]) -> Grid {
    let titles =
        [("claim", false), ("neighbours", false), ("score", false), ("epsilon", true), ("at least", true), ("verdict", false)];
    let row = |found: &Finding| {
        let epsilon = found.epsilon.map_or("–".to_owned(), |epsilon| match found.delta {
            0.0 => short(epsilon),
            delta => format!("{} at {}", short(epsilon), short(delta)),
        });
        let verdict = if found.verdict == Verdict::Refuted { "REFUTED".to_owned() } else { found.verdict.to_string() };
        vec![found.name.clone(), found.pair.clone(), found.score.clone(), epsilon, format!("{:.3}", found.at_least), verdict]
    };
    Grid::of(titles, found.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::rewrite_listed;
    use std::fs;

    #[test]
    fn a_refuted_claim_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(section(folder.path()).expect("none").map(|_| ()), None);
        let found = Finding {
            name: "a <policy>".to_owned(),
            epsilon: Some(1.0),
            delta: 0.0,
            direct: 2.5,
            gaussian: None,
            at_least: 2.5,
            samples: 100,
            confidence: 0.99,
            verdict: Verdict::Refuted,
            erratum: None,
            source: String::new(),
            pair: "1 against -1".to_owned(),
            score: "the value".to_owned(),
        };
        let file = AuditFile {
            confidence: 0.99,
            seed: 1,
            findings: vec![found],
            passed_over: vec![PassedOver { name: "b".to_owned(), reason: "claims nothing".to_owned() }],
        };
        let path = folder.path().join(AuditFile::NAME);
        let text = serde_json::to_string(&file).expect("json");
        rewrite_listed(folder.path(), AuditFile::NAME, text.as_bytes(), "write").expect("written");
        let html = section(folder.path()).expect("read").expect("a section").into_string();
        for part in ["a &lt;policy&gt;", "REFUTED", "2.500", "at most 0.01", "Not attacked: b: claims nothing."] {
            assert!(html.contains(part), "{part}: {html}");
        }
        // One epsilon of the file was altered.
        fs::write(&path, text.replace("2.5", "0.5")).expect("written");
        assert!(matches!(section(folder.path()), Err(Error::Corrupt { .. })));
        rewrite_listed(folder.path(), AuditFile::NAME, b"{}", "write").expect("written");
        assert!(matches!(section(folder.path()), Err(Error::Corrupt { .. })));
    }
}
