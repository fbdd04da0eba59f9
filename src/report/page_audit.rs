//! Writes the page's section on audits, from `audit.json` in the folder.
//!
//! The section appears where the run's spec requested an audit.

use super::text::escape;
use crate::audit::{AuditFile, Finding, PassedOver, Verdict};
use crate::record::read_listed;
use privateer_config::error::Error;
use std::path::Path;

/// Returns the section's body; `None` if the folder has no audit.
///
/// # Errors
/// If the file cannot be read or has another format.
pub(super) fn section(out: &Path) -> Result<Option<String>, Error> {
    let path = out.join(AuditFile::NAME);
    let Some(bytes) = read_listed(out, AuditFile::NAME, "read the audit")? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    let file: AuditFile = serde_json::from_str(&text).map_err(|error| Error::Corrupt {
        path,
        problem: format!("is no audit: {error}"),
        hint: "remove it and run the spec again".to_owned(),
    })?;
    Ok(Some(body(&file)))
}

fn body(file: &AuditFile) -> String {
    let mut html = format!(
        "<p>The real engine was run on both sides of each pair of neighbours; {} runs a side or more were judged, beside those that an attack was \
         fitted to. Noise is that of the rounds stated with the pair: what would fail only over a longer run is not seen. An attack shows what epsilon is at least; it can refute a \
         claim and never prove one. A true claim among these is refuted with probability at most {}.</p>\n\
         <div class=\"scroll\"><table><thead><tr><th>claim</th><th>neighbours</th><th>score</th><th class=\"n\">epsilon</th>\
         <th class=\"n\">at least</th><th>verdict</th></tr></thead><tbody>",
        file.findings.iter().map(|found| found.samples).min().unwrap_or(0),
        (1e9 * (1.0 - file.confidence)).round() / 1e9,
    );
    for found in &file.findings {
        html += &row(found);
    }
    html += "</tbody></table></div>\n";
    for PassedOver { name, reason } in &file.passed_over {
        html += &format!("<p>Not attacked: {}: {}.</p>\n", escape(name), escape(reason));
    }
    html
}

fn row(found: &Finding) -> String {
    let claimed = match found.epsilon {
        None => "–".to_owned(),
        Some(epsilon) if found.delta == 0.0 => format!("{epsilon}"),
        Some(epsilon) => format!("{epsilon} at {}", found.delta),
    };
    let verdict = if found.verdict == Verdict::Refuted { "<b>refuted</b>".to_owned() } else { found.verdict.to_string() };
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"n\">{claimed}</td><td class=\"n\">{:.3}</td><td>{verdict}</td></tr>",
        escape(&found.name),
        escape(&found.pair),
        escape(&found.score),
        found.at_least,
    )
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
        let html = section(folder.path()).expect("read").expect("a section");
        for part in ["a &lt;policy&gt;", "<b>refuted</b>", "2.500", "at most 0.01", "Not attacked: b: claims nothing."] {
            assert!(html.contains(part), "{part}: {html}");
        }
        // One epsilon of the file was altered.
        fs::write(&path, text.replace("2.5", "0.5")).expect("written");
        assert!(matches!(section(folder.path()), Err(Error::Corrupt { .. })));
        rewrite_listed(folder.path(), AuditFile::NAME, b"{}", "write").expect("written");
        assert!(matches!(section(folder.path()), Err(Error::Corrupt { .. })));
    }
}
