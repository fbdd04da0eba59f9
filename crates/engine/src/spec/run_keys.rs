//! Reads the keys of the whole run, which stand at the top of a spec.

use super::{Misleading, Recorded, Sweep};
use crate::registry::Registry;
use privateer_config::params::{Args, KeyDoc};
use std::sync::Arc;

/// Reads the keys of the whole run; returns the sweep without cells, and whether guessing and private policies without privacy are
/// added to them. The key `rounds` is read again for each cell.
pub(super) fn parse(top: &Args<'_>, stem: String) -> (Sweep, bool) {
    let name = top.one_line("name", "title of the report; absent: the name of the spec's file").unwrap_or(stem);
    let seed = seed(top);
    let trials = top.count("trials", "independent repetitions of every cell").between(1, u64::from(u32::MAX)).or(10);
    let block = top.count("block", "trials of one part file").between(1, u64::from(u32::MAX)).or(50);
    top.count("rounds", "horizon T").between(1, u64::from(u32::MAX)).required();
    let (recorded, parameters) = Recorded::parse(top);
    let audited = top.table("audit");
    let audit = audited
        .count(
            "samples",
            "attack every policy after the run, with this number of replays of each side; the report shows the findings",
        )
        .between(200, 1_000_000)
        .optional("none: no audit");
    audited.finish();
    top.absorb(&audited);
    let accepted = Misleading::accepted(top);
    let plays_references = top.flag(
            "references",
            "whether guessing, and each private policy without privacy, are played too where the spec does not list them, once for each problem: prices are measured against them",
            true,
        );
    let limits = top.table("limits");
    let memory =
        limits.number("memory_gib", "most memory that one shared table or one trial may take").above(0.0).at_most(1e6).or(8.0);
    limits.finish();
    top.absorb(&limits);
    let memory_bytes = memory * 1024.0 * 1024.0 * 1024.0;
    let sweep = Sweep {
        name,
        seed,
        trials,
        block,
        recorded,
        audit,
        parameters,
        accepted,
        memory_bytes,
        cells: Arc::default(),
        cells_a_part: 1,
        resolved: String::new(),
        hash: String::new(),
    };
    (sweep, plays_references)
}

pub(super) fn seed(top: &Args<'_>) -> u64 {
    top.count("seed", "seed of all streams").between(0, i64::MAX as u64).or(1)
}

/// Returns the documentation of the keys of the whole run.
pub fn run_keys() -> Vec<KeyDoc> {
    Registry::builtin().documented(|top| drop(parse(top, String::new())))
}
