//! Ties each proof to the text that it is about. White space, commas and braces do not count, so that formatting moves no pin.

use sha2::{Digest, Sha256};

/// Pinned file under `src/privacy`, its text, the proof under `docs/proofs`, its text.
const PAIRS: [(&str, &str, &str, &str); 8] = [
    ("mechanism/laplace.rs", include_str!("laplace.rs"), "laplace", LAPLACE),
    ("mechanism/window.rs", include_str!("window.rs"), "laplace", LAPLACE),
    ("mechanism/duchi.rs", include_str!("duchi.rs"), "duchi", include_str!("../../../docs/proofs/duchi.md")),
    ("mechanism/on_window.rs", include_str!("on_window.rs"), "duchi", include_str!("../../../docs/proofs/duchi.md")),
    ("mechanism/piecewise.rs", include_str!("piecewise.rs"), "piecewise", include_str!("../../../docs/proofs/piecewise.md")),
    ("mechanism/hybrid.rs", include_str!("hybrid.rs"), "hybrid", include_str!("../../../docs/proofs/hybrid.md")),
    ("mechanism/gaussian.rs", include_str!("gaussian.rs"), "gaussian", GAUSSIAN),
    ("calibration.rs", include_str!("../calibration.rs"), "gaussian", GAUSSIAN),
];
const LAPLACE: &str = include_str!("../../../docs/proofs/laplace.md");
const GAUSSIAN: &str = include_str!("../../../docs/proofs/gaussian.md");

fn pin(source: &str) -> String {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let essence: String = code.chars().filter(|c| !c.is_whitespace() && !",{}".contains(*c)).collect();
    Sha256::digest(essence.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn proofs_are_about_the_present_code() {
    let mut stale = Vec::new();
    for (file, source, name, proof) in PAIRS {
        let line = format!("pins: src/privacy/{file} sha256 {}", pin(source));
        if !proof.lines().any(|found| found == line) {
            stale.push(format!("source changed: re-read the proof docs/proofs/{name}.md, then update the pin to\n{line}"));
        }
    }
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

#[test]
fn pins_see_words_and_not_layout() {
    assert_eq!(pin("a(b,\n c)\n#[cfg(test)] x"), pin("a(b, c,)"));
    assert_ne!(pin("2.0 * x"), pin("1.0 * x"));
}
