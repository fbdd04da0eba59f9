//! Runs the small sweeps of the contracts.

use crate::run::{MemoryRun, RunOptions, run_in_memory};
use privateer_engine::engine::{Stop, Trace};
use privateer_engine::registry::Registry;

/// Runs a spec in memory, on this many trials at a time.
pub(super) fn run(registry: &Registry, text: &str, batch: Option<usize>, threads: usize) -> Result<MemoryRun, String> {
    let sweep = registry.parse("contract.toml", text, &[]).map_err(|error| error.to_string())?;
    let options = RunOptions { batch, threads: Some(threads), ..RunOptions::default() };
    run_in_memory(&sweep, &options, &Stop::new(), &()).map_err(|error| error.to_string())
}

/// Returns whether two traces hold the same bits.
pub(super) fn same(a: &Trace, b: &Trace) -> bool {
    let bits = |trace: &Trace| -> Vec<Vec<u64>> {
        trace.measured().iter().map(|column| column.iter().map(|value| value.to_bits()).collect()).collect()
    };
    a.trial == b.trial && a.round == b.round && a.point == b.point && bits(a) == bits(b)
}

/// Returns nothing, or the broken promises as one text.
pub(super) fn verdict(faults: Vec<String>) -> Result<(), String> {
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}
