//! Ties each proof to the text that it is about. White space, commas and braces do not count, so that formatting moves no pin.

use sha2::{Digest, Sha256};

/// Pinned file under `src/privacy`, its text, the proof under `docs/proofs`, its text.
const PAIRS: [(&str, &str, &str, &str); 49] = [
    ("mechanism/laplace.rs", include_str!("laplace.rs"), "laplace", LAPLACE),
    ("mechanism/window.rs", include_str!("window.rs"), "laplace", LAPLACE),
    ("mechanism/duchi.rs", include_str!("duchi.rs"), "duchi", include_str!("../../../docs/proofs/duchi.md")),
    ("mechanism/on_window.rs", include_str!("on_window.rs"), "duchi", include_str!("../../../docs/proofs/duchi.md")),
    ("mechanism/piecewise.rs", include_str!("piecewise.rs"), "piecewise", include_str!("../../../docs/proofs/piecewise.md")),
    ("mechanism/hybrid.rs", include_str!("hybrid.rs"), "hybrid", include_str!("../../../docs/proofs/hybrid.md")),
    ("mechanism/gaussian.rs", include_str!("gaussian.rs"), "gaussian", GAUSSIAN),
    ("calibration.rs", include_str!("../calibration.rs"), "gaussian", GAUSSIAN),
    ("release/entropy.rs", include_str!("../release/entropy.rs"), "discrete", DISCRETE),
    ("release/bernoulli.rs", include_str!("../release/bernoulli.rs"), "discrete", DISCRETE),
    ("release/discrete.rs", include_str!("../release/discrete.rs"), "discrete", DISCRETE),
    ("release/grid.rs", include_str!("../release/grid.rs"), "discrete", DISCRETE),
    ("release/vector.rs", include_str!("../release/vector.rs"), "discrete", DISCRETE),
    ("release/laplace.rs", include_str!("../release/laplace.rs"), "discrete", DISCRETE),
    ("release/tree.rs", include_str!("../release/tree.rs"), "discrete", DISCRETE),
    ("release/choice.rs", include_str!("../release/choice.rs"), "discrete", DISCRETE),
    ("release/density.rs", include_str!("../release/density.rs"), "discrete", DISCRETE),
    ("release/rows.rs", include_str!("../release/rows.rs"), "rows", ROWS),
    ("curator/input_noise.rs", include_str!("../curator/input_noise.rs"), "rows", ROWS),
    ("release/sums.rs", include_str!("../release/sums.rs"), "released-sums", RELEASED_SUMS),
    ("streams/transform.rs", include_str!("../streams/transform.rs"), "released-sums", RELEASED_SUMS),
    ("streams/contract.rs", include_str!("../streams/contract.rs"), "streams", STREAMS),
    ("streams/tree.rs", include_str!("../streams/tree.rs"), "streams", STREAMS),
    ("streams/honaker.rs", include_str!("../streams/honaker.rs"), "streams", STREAMS),
    ("streams/toeplitz.rs", include_str!("../streams/toeplitz.rs"), "streams", STREAMS),
    ("streams/blt.rs", include_str!("../streams/blt.rs"), "streams", STREAMS),
    ("streams/prefix.rs", include_str!("../streams/prefix.rs"), "streams", STREAMS),
    ("sums/joint.rs", include_str!("../sums/joint.rs"), "sums", SUMS),
    ("sums/local.rs", include_str!("../sums/local.rs"), "sums", SUMS),
    ("sums/person.rs", include_str!("../sums/person.rs"), "sums", SUMS),
    ("event.rs", include_str!("../event.rs"), "sums", SUMS),
    ("accounting/pld.rs", include_str!("../accounting/pld.rs"), "accounting", ACCOUNTING),
    ("accounting/loss.rs", include_str!("../accounting/loss.rs"), "accounting", ACCOUNTING),
    ("accounting/zcdp.rs", include_str!("../accounting/zcdp.rs"), "accounting", ACCOUNTING),
    ("accounting/renyi.rs", include_str!("../accounting/renyi.rs"), "accounting", ACCOUNTING),
    ("accounting/composition.rs", include_str!("../accounting/composition.rs"), "accounting", ACCOUNTING),
    ("accounting/sensitivity.rs", include_str!("../accounting/sensitivity.rs"), "accounting", ACCOUNTING),
    ("gradients/leaf.rs", include_str!("../gradients/leaf.rs"), "gradients", GRADIENTS),
    ("gradients/prefix.rs", include_str!("../gradients/prefix.rs"), "gradients", GRADIENTS),
    ("gradients/vertex.rs", include_str!("../gradients/vertex.rs"), "gradients", GRADIENTS),
    ("gradients/batch.rs", include_str!("../gradients/batch.rs"), "gradients", GRADIENTS),
    ("gradients/stored.rs", include_str!("../gradients/stored.rs"), "gradients", GRADIENTS),
    ("gradients/terms.rs", include_str!("../gradients/terms.rs"), "gradients", GRADIENTS),
    ("visits/contract.rs", include_str!("../visits/contract.rs"), "visits", VISITS),
    ("visits/sums.rs", include_str!("../visits/sums.rs"), "visits", VISITS),
    ("visits/choices.rs", include_str!("../visits/choices.rs"), "visits", VISITS),
    ("visits/link.rs", include_str!("../visits/link.rs"), "visits", VISITS),
    ("visits/statement.rs", include_str!("../visits/statement.rs"), "visits", VISITS),
    ("accounting/subsampled.rs", include_str!("../accounting/subsampled.rs"), "gradients", GRADIENTS),
];
const LAPLACE: &str = include_str!("../../../docs/proofs/laplace.md");
const DISCRETE: &str = include_str!("../../../docs/proofs/discrete.md");
const ROWS: &str = include_str!("../../../docs/proofs/rows.md");
const RELEASED_SUMS: &str = include_str!("../../../docs/proofs/released-sums.md");
const STREAMS: &str = include_str!("../../../docs/proofs/streams.md");
const SUMS: &str = include_str!("../../../docs/proofs/sums.md");
const ACCOUNTING: &str = include_str!("../../../docs/proofs/accounting.md");
const GRADIENTS: &str = include_str!("../../../docs/proofs/gradients.md");
const VISITS: &str = include_str!("../../../docs/proofs/visits.md");
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
