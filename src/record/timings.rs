//! How long parts took: `timings.csv`, apart from the parts because it differs from run to run.

use super::{PartId, PartTiming, disk};
use privateer_config::error::Error;
use std::collections::BTreeSet;
use std::path::Path;

pub(super) const FILE_NAME: &str = "timings.csv";
pub(super) const HEADER: &str = "cell,block,seconds,trial_rounds_per_s\n";

/// Returns the line about one finished part. A part computed twice has two lines.
pub(super) fn line(id: PartId, timing: PartTiming) -> String {
    let PartTiming { seconds, n_trials, n_rounds } = timing;
    let rate = f64::from(n_trials) * f64::from(n_rounds) / seconds.max(1e-9);
    format!("{},{},{seconds:.6},{rate:.1}\n", id.cell, id.block)
}

/// Adds the lines that the file does not have yet: merging the same shards twice doubles nothing.
pub(super) fn append_missing(out: &Path, lines: &str) -> Result<(), Error> {
    let present = std::fs::read_to_string(out.join(FILE_NAME)).unwrap_or_default();
    let present: BTreeSet<&str> = present.lines().collect();
    let missing: String = lines.lines().filter(|line| !present.contains(line)).map(|line| format!("{line}\n")).collect();
    if missing.is_empty() { Ok(()) } else { append(out, &missing) }
}

/// Adds lines, below the header.
///
/// # Errors
/// [`Error::Io`] where the file cannot be written.
pub(super) fn append(out: &Path, lines: &str) -> Result<(), Error> {
    let path = out.join(FILE_NAME);
    let append = || {
        let mut file = disk::open_append(&path)?;
        let header = if file.metadata()?.len() == 0 { HEADER } else { "" };
        disk::write(&mut file, &path, format!("{header}{lines}").as_bytes())
    };
    append().map_err(|source| Error::io("write the timings", &path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_follow_one_header() {
        let folder = tempfile::tempdir().expect("a folder");
        for block in 0..2 {
            let timing = PartTiming { seconds: 0.5, n_trials: 10, n_rounds: 100 };
            append(folder.path(), &line(PartId { cell: 3, block }, timing)).expect("written");
        }
        let text = std::fs::read_to_string(folder.path().join(FILE_NAME)).expect("text");
        assert_eq!(text, "cell,block,seconds,trial_rounds_per_s\n3,0,0.500000,2000.0\n3,1,0.500000,2000.0\n");
    }
}
