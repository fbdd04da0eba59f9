//! Limits the part files of a sweep: their number, and their rows.

use super::Sweep;
use privateer_config::params::Args;

const MOST_PARTS: f64 = 1e6;
/// Memory for a recorded row while its part is built and encoded, in bytes.
const BYTES_PER_ROW: f64 = 160.0;

/// Reports a sweep of this many cells that would have too many parts; returns whether it may have them.
pub(super) fn allow_parts(top: &Args<'_>, sweep: &Sweep, n_cells: f64) -> bool {
    let blocks = sweep.trials.div_ceil(sweep.block);
    let parts = blocks as f64 * n_cells;
    if MOST_PARTS < parts {
        let (key, hint) = match (blocks, top.has("block")) {
            (1, _) => ("sweep", "sweep fewer values, list fewer policies, or divide them among several specs"),
            (_, true) => ("block", "raise `block` (trials of one part), or lower `trials`"),
            (_, false) => ("trials", "raise `block` (trials of one part), or lower `trials`"),
        };
        let message = format!("the sweep would have {parts:.0} parts");
        top.reject_with_hint(key, message, format!("at most {MOST_PARTS:.0} parts"), Some(hint.to_owned()));
    }
    parts <= MOST_PARTS
}

pub(super) fn allow_rows(top: &Args<'_>, sweep: &Sweep) {
    let Sweep { ref cells, trials, block, recorded, memory_bytes, .. } = *sweep;
    let longest = cells.iter().map(|cell| cell.rounds).max().unwrap_or(0);
    let (n_trials, n_rounds) = (trials.min(block), recorded.n_rounds(longest));
    let needs = BYTES_PER_ROW * n_trials as f64 * n_rounds as f64;
    if memory_bytes < needs {
        let message = format!(
            "one part would have {:.0} rows ({n_trials} trials x {n_rounds} recorded rounds)",
            n_trials as f64 * n_rounds as f64
        );
        let hint = "lower `block`, record fewer rounds with `record = { rounds = \"log\" }`, or raise `limits.memory_gib`";
        let key = ["block", "record", "rounds"].into_iter().find(|key| top.has(key)).unwrap_or("trials");
        let most = memory_bytes / BYTES_PER_ROW;
        top.reject_with_hint(key, message, format!("at most {most:.0} rows in a part"), Some(hint.to_owned()));
    }
}
