//! Reads the keys of the whole run, which stand at the top of a spec.

use super::{Misleading, Recorded};
use privateer_config::error::Sources;
use privateer_config::params::{Args, KeyDoc, Sink};

/// Holds the keys of the whole run, except `rounds`, which is read again for each cell.
pub(super) struct RunKeys {
    pub(super) name: String,
    pub(super) seed: u64,
    pub(super) trials: u64,
    pub(super) block: u64,
    pub(super) recorded: Recorded,
    pub(super) parameters: bool,
    pub(super) audit: Option<u64>,
    pub(super) accepted: Vec<Misleading>,
    /// Most memory of one shared table or one trial, in GiB.
    pub(super) memory: f64,
    /// Whether guessing and private policies without privacy are added.
    pub(super) plays_references: bool,
}

impl RunKeys {
    /// Reads the keys; `stem` is the name of the spec's file.
    pub(super) fn parse(top: &Args<'_>, stem: String) -> Self {
        let name = top.one_line("name", "title of the report; absent: the name of the spec's file").unwrap_or(stem);
        let seed = top.count("seed", "seed of all streams").between(0, i64::MAX as u64).or(1);
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
        let memory = limits
            .number("memory_gib", "most memory that one shared table or one trial may take")
            .above(0.0)
            .at_most(1e6)
            .or(8.0);
        limits.finish();
        top.absorb(&limits);
        Self { name, seed, trials, block, recorded, parameters, audit, accepted, memory, plays_references }
    }
}

/// Returns the documentation of the keys of the whole run.
pub fn run_keys() -> Vec<KeyDoc> {
    let sink = Sink::new(Sources::default());
    let top = Args::dry(&sink);
    RunKeys::parse(&top, String::new());
    top.documented()
}
