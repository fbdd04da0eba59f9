//! Flipped bits: every file of every kind is noticed, or does not matter.

use super::campaign::{ask, fine, is_complete, privateer};
use privateer::env::CuratedLedger;
use privateer::record::{DigestList, Folder, verify};
use privateer::report::compare_report;
use std::fs;
use std::path::Path;

/// Flips bits of a file one at a time, at every byte where all are asked for, and hands the bit's number to `check`.
fn flipped(path: &Path, n_sampled: usize, check: impl Fn(usize)) {
    let whole = fs::read(path).expect("a file");
    let n_bits = 8 * whole.len();
    let step = if is_complete() { 1 } else { (n_bits / n_sampled).max(1) | 1 };
    for bit in (0..n_bits).step_by(step) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(path, bytes).expect("written");
        check(bit);
    }
    fs::write(path, whole).expect("restored");
    println!("{}: {} bits, none unnoticed", path.display(), n_bits.div_ceil(step));
}

#[test]
fn results_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("spec.toml"), super::folders::spec()).expect("written");
    let run = ["run", "spec.toml", "--out", "out", "--quiet"];
    fine(folder.path(), &run);
    let out = folder.path().join("out");
    let n_parts = Folder::existing(&out).expect("intact").1.len();
    assert!(verify(&out, &|_| ()).expect("readable").problems.is_empty());
    let parts = ["cells/c0000-b0000.parquet", "cells/c0001-b0001.parquet", "parameters/c0000-b0000.json"];
    for name in ["manifest.json", "SHA256SUMS"].into_iter().chain(parts) {
        flipped(&out.join(name), 2000, |bit| {
            // Merging and reporting read a folder so: a part that is not believed is missing or an error.
            let believed = Folder::existing(&out).is_ok_and(|(_, done)| done.len() == n_parts);
            // Parameters are read by nobody but `predict` and `verify`; the list may lose a line that only they need.
            let matters = name != "SHA256SUMS"
                || DigestList::load(&out)
                    .is_ok_and(|list| list.names().filter(|name| name.starts_with("cells/")).count() != n_parts);
            assert!(!believed || !matters, "{name} bit {bit} passes");
            let verified = verify(&out, &|_| ()).is_ok_and(|found| found.problems.is_empty() && found.done.len() == n_parts);
            assert!(!verified, "{name} bit {bit} passes `verify`");
        });
    }
    flipped(&out.join("spec.resolved.toml"), 500, |bit| {
        assert!(!verify(&out, &|_| ()).expect("readable").problems.is_empty(), "spec.resolved.toml bit {bit}");
    });
    for name in ["summary.csv", "report.html", "plots/curves.csv", "plots/curves.svg"] {
        flipped(&out.join(name), 100, |bit| {
            assert_eq!(compare_report(&out, &|_| ()).expect("readable").altered, [name], "{name} bit {bit}");
        });
    }
    // A resumed run makes the folder what it was.
    let part = out.join("cells/c0001-b0000.parquet");
    let whole = fs::read(&part).expect("a part");
    for bit in (3..8 * whole.len()).step_by(if is_complete() { 97 } else { 1999 }) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&part, bytes).expect("written");
        println!("bit {bit}");
        fine(folder.path(), &run);
        assert!(fs::read(&part).expect("a part") == whole, "bit {bit}");
    }
}

#[test]
fn sessions_and_ledgers() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    super::releases::modeler(here, super::problems::LAPLACE, "kind = \"igp-ucb\"");
    fine(here, &["init", "state", "modeler.toml"]);
    let state = here.join("state");
    fine(here, &["tell", "state", &ask(here), "0.5"]);
    // Free space in pages means nothing: what is read is what was written, or nothing is.
    let ledger = |name: &str| privateer(here, &["ledger", "--json", name]).output().expect("started");
    let whole = ledger("state");
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    flipped(&state, 300, |bit| {
        let found = ledger("state");
        assert!(!found.status.success() || found.stdout == whole.stdout, "state bit {bit}");
        assert!(!String::from_utf8_lossy(&found.stderr).contains("panicked"), "state bit {bit}");
    });

    let (released_inputs, ledger) = (here.join("released.csv"), here.join("released.csv.ledger.json"));
    let inputs = ["x".to_owned(), "y".to_owned()];
    let sound = CuratedLedger::read(&ledger).expect("a ledger");
    let fits = || {
        CuratedLedger::read(&ledger)
            .and_then(|ledger| ledger.noise_variance(Path::new("ledger"), &released_inputs, &inputs).map(|_| ledger))
    };
    flipped(&released_inputs, 2000, |bit| assert!(fits().is_err(), "released inputs bit {bit}"));
    // White space between the members of JSON means nothing.
    flipped(&ledger, 4000, |bit| {
        if let Ok(read) = fits() {
            assert_eq!(read, sound, "ledger bit {bit}");
        }
    });
}
