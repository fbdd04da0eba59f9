//! Limits the part files of a sweep: their number, and their rows. Tiny cells share files.

use super::{CellPlan, Sweep, Task};
use privateer_config::params::Args;
use std::collections::BTreeSet;
use std::mem::discriminant;
use std::sync::Arc;

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

/// Number of cells from which on tiny ones share part files: about as many files as a large sweep of them has.
const N_FILES: usize = 512;
/// Most rounds, over all cells and trials, whose rows share a file: what is lost if a run is killed.
const MOST_SHARED_ROUNDS: u64 = 1 << 14;
/// Number of environments that are kept ready, so that cells may come to them in any order.
pub(crate) const MOST_PROBLEMS: usize = 8;

/// Returns how many consecutive cells share a part file: file systems and programs that read a folder suffer from many files.
///
/// It follows from the spec alone, so that every shard, backend and thread writes the same files. Released parameters have a
/// file for each cell in any case.
pub(super) fn cells_a_part(sweep: &Sweep) -> u32 {
    let cells = sweep.cells.as_slice();
    let longest = cells.iter().map(|cell| cell.rounds).max().unwrap_or(1);
    let most = MOST_SHARED_ROUNDS / longest.saturating_mul(sweep.trials).max(1);
    let wanted = most.min(cells.len().div_ceil(N_FILES) as u64) as u32;
    let may_share =
        1 < wanted && sweep.trials <= sweep.block && !sweep.parameters && measure_alike(cells) && stand_together(cells);
    if may_share { wanted } else { 1 }
}

/// Returns whether the cells record the same quantities.
fn measure_alike(cells: &[CellPlan]) -> bool {
    let kind = |cell: &CellPlan| {
        let replays = matches!(&cell.task, Task::Contextual(task) if task.environment_plan.replays);
        (discriminant(&cell.task), replays)
    };
    cells.iter().all(|cell| kind(cell) == kind(&cells[0]))
}

/// Returns whether cells can be played in their order, and each environment still be prepared about once.
fn stand_together(cells: &[CellPlan]) -> bool {
    let is_same = |left: &CellPlan, right: &CellPlan| {
        Arc::ptr_eq(&left.environment, &right.environment) || left.environment.key == right.environment.key
    };
    let (mut known, mut n_runs) = (BTreeSet::new(), 0);
    for run in cells.chunk_by(is_same) {
        known.insert(&run[0].environment.key);
        n_runs += 1;
    }
    // The references of each environment stand behind all others.
    known.len() <= MOST_PROBLEMS || n_runs <= 2 * known.len()
}

#[cfg(test)]
mod tests {
    use super::super::Sweep;

    /// Returns how many cells share a file where two keys are swept, the first outside.
    fn shared(top: &str, outer: (&str, usize), inner: (&str, usize)) -> u32 {
        let values = |n: usize| (1..=n).map(|i| format!("{}", 0.1 + 0.001 * i as f64)).collect::<Vec<_>>().join(", ");
        let text = format!(
            "references = false\n{top}\n[environment]\nkind = \"rkhs\"\ndomain = {{ kind = \"grid\", points = 5 }}\n\
             kernel = {{ kind = \"squared-exponential\", lengthscale = 0.2 }}\nnoise = {{ kind = \"gaussian\", sd = 0.1 }}\n\
             [[policy]]\nkind = \"igp-ucb\"\n[sweep.product]\n\"{}\" = [{}]\n\"{}\" = [{}]\n",
            outer.0,
            values(outer.1),
            inner.0,
            values(inner.1)
        );
        let sweep = Sweep::parse("t.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert!(sweep.cells.iter().all(|cell| {
            let of_part = sweep.cells_of_part(sweep.first_of_part(cell.index));
            of_part.iter().any(|other| other.index == cell.index) && of_part.len() <= sweep.cells_a_part as usize
        }));
        sweep.cells_a_part
    }

    #[test]
    fn many_tiny_cells_share_files() {
        let (ridge, sd) = ("policy.*.ridge", "environment.noise.sd");
        let tiny = "rounds = 3\ntrials = 2";
        assert_eq!(shared(tiny, (sd, 16), (ridge, 32)), 1, "as many cells as files");
        assert_eq!(shared(tiny, (sd, 16), (ridge, 33)), 2);
        assert_eq!(shared(tiny, (sd, 40), (ridge, 40)), 4);
        assert_eq!(shared("rounds = 1000\ntrials = 8", (sd, 40), (ridge, 40)), 2, "as many rounds as a file may lose");
        assert_eq!(shared("rounds = 1000\ntrials = 9", (sd, 40), (ridge, 40)), 1);
        assert_eq!(shared("rounds = 3\ntrials = 2\nblock = 1", (sd, 40), (ridge, 40)), 1, "several blocks");
        assert_eq!(shared("rounds = 3\ntrials = 2\nrecord = { parameters = true }", (sd, 40), (ridge, 40)), 1);
        assert_eq!(shared(tiny, (ridge, 200), (sd, 8)), 4, "all environments are kept");
        assert_eq!(shared(tiny, (ridge, 40), (sd, 40)), 1, "each environment would be prepared in every part");
    }
}
