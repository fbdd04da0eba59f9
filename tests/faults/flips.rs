//! Flipped bits: every file of every kind is noticed, or does not matter.

use super::campaign::{fine, is_complete, privateer};
use privateer::env::CuratedLedger;
use privateer::record::{DigestList, Folder, verify};
use privateer::report::compare_report;
use std::fs;
use std::path::Path;

/// Flips bits of a file one at a time, at every byte where all are asked for, and hands the bit's number to `check`.
fn flipped(path: &Path, n_sampled: usize, check: impl Fn(usize)) -> usize {
    let whole = fs::read(path).expect("a file");
    let n_bits = 8 * whole.len();
    let step = if is_complete() { 1 } else { (n_bits / n_sampled).max(1) | 1 };
    let mut n_run = 0;
    for bit in (0..n_bits).step_by(step) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(path, bytes).expect("written");
        check(bit);
        n_run += 1;
    }
    fs::write(path, whole).expect("restored");
    n_run
}

#[test]
fn results_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("spec.toml"), super::folders::spec()).expect("written");
    fine(folder.path(), &["run", "spec.toml", "--out", "out", "--quiet"]);
    let out = folder.path().join("out");
    let n_parts = Folder::existing(&out).expect("intact").1.len();
    assert!(verify(&out, &|_| ()).expect("readable").problems.is_empty());
    let mut kinds = vec!["manifest.json", "SHA256SUMS", "cells/c0000-b0000.parquet", "cells/c0001-b0001.parquet"];
    if out.join("parameters/c0000-b0000.json").exists() {
        kinds.push("parameters/c0000-b0000.json");
    }
    for name in kinds {
        let n_run = flipped(&out.join(name), 2000, |bit| {
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
        println!("{name}: {n_run} bits, none unnoticed");
    }
    let n_run = flipped(&out.join("spec.resolved.toml"), 500, |bit| {
        assert!(!verify(&out, &|_| ()).expect("readable").problems.is_empty(), "spec.resolved.toml bit {bit}");
    });
    println!("spec.resolved.toml: {n_run} bits, none unnoticed by `verify`");
    for name in ["summary.csv", "report.html", "plots/curves.csv", "plots/curves.svg"] {
        let n_run = flipped(&out.join(name), 100, |bit| {
            assert_eq!(compare_report(&out, &|_| ()).expect("readable").altered, [name], "{name} bit {bit}");
        });
        println!("{name}: {n_run} bits, none unnoticed by `verify`");
    }
    // A resumed run makes the folder what it was.
    let part = out.join("cells/c0001-b0000.parquet");
    let whole = fs::read(&part).expect("a part");
    for bit in (3..8 * whole.len()).step_by(if is_complete() { 97 } else { 1999 }) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&part, bytes).expect("written");
        let resumed = privateer(folder.path(), &["run", "spec.toml", "--out", "out", "--quiet"], None).output().expect("started");
        assert!(resumed.status.success(), "bit {bit}");
        assert!(fs::read(&part).expect("a part") == whole, "bit {bit}");
    }
}

#[test]
fn sessions_and_ledgers() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let rows: String = (0..30).map(|i| format!("{},{}\n", f64::from(i % 6) * 0.3, f64::from(i / 6) * 0.3)).collect();
    fs::write(here.join("data.csv"), format!("x,y\n{rows}")).expect("written");
    let curate = "curate data.csv --columns x,y --epsilon 8 --delta 1e-6 --radius 0.2 --bound 2.5 -o released.csv";
    fine(here, &curate.split(' ').collect::<Vec<_>>());
    let text = "rounds = 8\n[environment]\nkind = \"points-table\"\nfile = \"released.csv\"\nreleased = \"released.csv.ledger.json\"\n\
                inputs = [\"x\", \"y\"]\nkernel = { kind = \"squared-exponential\", lengthscale = 1.0 }\n\
                noise = { kind = \"gaussian\", sd = 0.05 }\nbound = 1.0\n[privacy]\nmechanism = \"laplace\"\nepsilon = 1.0\nclip = [0.0, 1.0]\n[[policy]]\nkind = \"igp-ucb\"\n";
    fs::write(here.join("modeler.toml"), text).expect("written");
    fine(here, &["init", "state", "modeler.toml"]);
    let state = here.join("state");
    let row = fine(here, &["ask", "state"]).stdout;
    fine(here, &["tell", "state", String::from_utf8_lossy(&row).trim(), "0.5"]);
    // Free space in pages means nothing: what is read is what was written, or nothing is.
    let ledger = |name: &str| privateer(here, &["ledger", "--json", name], None).output().expect("started");
    let whole = ledger("state");
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let n_run = flipped(&state, 300, |bit| {
        let found = ledger("state");
        assert!(!found.status.success() || found.stdout == whole.stdout, "state bit {bit}");
        assert!(!String::from_utf8_lossy(&found.stderr).contains("panicked"), "state bit {bit}");
    });
    println!("state: {n_run} bits, none with another meaning unnoticed");

    let (released_inputs, ledger) = (here.join("released.csv"), here.join("released.csv.ledger.json"));
    let inputs = ["x".to_owned(), "y".to_owned()];
    let sound = CuratedLedger::read(&ledger).expect("a ledger");
    let fits = || {
        CuratedLedger::read(&ledger)
            .and_then(|ledger| ledger.noise_variance(Path::new("ledger"), &released_inputs, &inputs).map(|_| ledger))
    };
    let n_run = flipped(&released_inputs, 2000, |bit| assert!(fits().is_err(), "released inputs bit {bit}"));
    println!("released.csv: {n_run} bits, none unnoticed");
    // White space between the members of JSON means nothing.
    let n_run = flipped(&ledger, 4000, |bit| {
        if let Ok(read) = fits() {
            assert_eq!(read, sound, "ledger bit {bit}");
        }
    });
    println!("released.csv.ledger.json: {n_run} bits, none with another meaning unnoticed");
}
