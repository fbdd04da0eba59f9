//! The recorded numbers of every shipped spec, in a small version, as hashes: a change of names, words or structure must not move one of them.
//!
//! A hash covers cell, block, trial, round, point and every measure of one cell, in the order of the rows, whatever columns and labels are
//! called. Where recorded bits change on purpose, they are listed under "Changed results" in the changelog, and `PRIVATEER_UPDATE=1 cargo test recorded`
//! stores the new ones.

use crate::examples::{changes, examples};
use crate::program::{assert_none, data, difference};
use crate::support::{Ran, run_all};
use privateer::engine::Options;
use privateer::engine::Quantity;
use privateer::env::DataFolder;
use privateer::spec::Sweep;
use privateer_backend::Cpu;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Sixteen hexadecimal digits a cell.
fn cells(ran: &Ran) -> BTreeMap<u32, String> {
    let mut by_cell: BTreeMap<u32, Sha256> = BTreeMap::new();
    for (unit, bits) in ran.bits_by_unit() {
        let hash = by_cell.entry(unit.cell).or_default();
        bits.iter().for_each(|word| hash.update(word.to_le_bytes()));
    }
    let short = |hash: Sha256| hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    by_cell.into_iter().map(|(cell, hash)| (cell, short(hash))).collect()
}

#[test]
fn recorded_numbers_of_shipped_specs_stay() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for path in examples() {
        let spec = std::fs::read_to_string(&path).expect("a spec");
        let mut sets: Vec<(String, String, String)> =
            changes(&spec).into_iter().map(|(key, value)| (format!("--set {key}="), key.to_owned(), value.to_owned())).collect();
        let mut set = |key: &str, value: &str| sets.push((format!("--set {key}="), key.to_owned(), value.to_owned()));
        set("trials", "2");
        if !spec.contains("rounds = [1000") {
            // MoMA with the theorem's number of users needs as many rounds.
            set("rounds", if spec.contains("334]") { "340" } else { "40" });
        }
        let sweep = Sweep::parse(&path.display().to_string(), &spec, &sets).unwrap_or_else(|error| panic!("{error}"));
        let ran = run_all(&sweep, &DataFolder::default(), &Cpu::default(), Options::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let name = path.strip_prefix(root).expect("an example").display().to_string();
        let _ = writeln!(text, "{name}");
        for (cell, hash) in cells(&ran) {
            let _ = writeln!(text, "  {cell} {hash}");
        }
    }
    assert_none(&difference(&data().join("recorded.txt"), &text).into_iter().collect::<Vec<_>>());
}

/// A hash sees one changed bit of one number.
#[test]
fn a_changed_number_changes_its_cell() {
    let spec = "rounds = 5\ntrials = 1\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", dimension = 1, points = 10 }\n\
                kernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\nnoise = { kind = \"uniform\", bound = 1.0 }\n[[policy]]\nkind = \"uniform\"\n";
    let mut ran = crate::support::ran(spec);
    let before = cells(&ran);
    let rows = ran.rows.values_mut().next().expect("rows");
    rows[Quantity::Regret][2] = f64::from_bits(rows[Quantity::Regret][2].to_bits() ^ 1);
    assert_ne!(cells(&ran), before);
}
