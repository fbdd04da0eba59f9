//! Writes down what is run and by which program, and apart from it what the machine did.

use crate::record::{self, Manifest, RunRecord};
use privateer_backend::Backend;
use privateer_engine::engine::CellInfo;
use privateer_engine::engine::Share;
use privateer_engine::spec::{Recorded, Sweep};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn run_record(backend: &dyn Backend, threads: usize, share: &Share) -> RunRecord {
    let mut record = RunRecord::new(backend.name().to_owned(), backend.adapter(), cpu_features(), threads);
    record.shard = (*share != Share::All).then(|| share.to_string());
    record
}

pub(super) fn manifest(sweep: &Sweep, cells: Vec<CellInfo>) -> Manifest {
    let environments: BTreeSet<&str> = cells.iter().map(|cell| &*cell.environment).collect();
    Manifest {
        schema_version: record::FOLDER_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        spec_hash: sweep.hash.clone(),
        spec_name: sweep.name.clone(),
        seed: sweep.seed.to_string(),
        environment_summary: environments.into_iter().collect::<Vec<_>>().join(", "),
        trials: sweep.trials as u32,
        rounds: sweep.cells.iter().map(|cell| cell.rounds).max().unwrap_or(0) as u32,
        block: sweep.block as u32,
        n_blocks: sweep.trials.div_ceil(sweep.block) as u32,
        cells_a_part: sweep.cells_a_part,
        recorded: match sweep.recorded {
            Recorded::All => "every round".to_owned(),
            Recorded::Log { per_decade } => format!("about {per_decade} rounds for each factor of ten"),
        },
        spec_text: sweep.resolved.clone(),
        cells,
        tuned_rates: BTreeMap::new(),
    }
}

/// Returns the vector instructions of this processor: they change speed, never a recorded byte.
fn cpu_features() -> Vec<String> {
    #[cfg(target_arch = "x86_64")]
    let known = [
        ("sse4.2", std::is_x86_feature_detected!("sse4.2")),
        ("avx", std::is_x86_feature_detected!("avx")),
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("fma", std::is_x86_feature_detected!("fma")),
        ("avx512f", std::is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let known: [(&str, bool); 0] = [];
    known.into_iter().filter(|(_, has)| *has).map(|(name, _)| name.to_owned()).collect()
}
