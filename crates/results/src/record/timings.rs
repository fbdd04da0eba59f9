//! How long parts took: `timings.csv`, apart from the parts because it differs from run to run.

use super::{PartId, disk};
use privateer_backend::Counters;
use privateer_config::error::Error;
use std::collections::BTreeSet;
use std::path::Path;

/// States how long a part took.
#[derive(Debug, Clone, Copy)]
pub struct PartTiming {
    /// Seconds on the clock.
    pub seconds: f64,
    /// Number of trials.
    pub n_trials: u32,
    /// Number of rounds of each trial.
    pub n_rounds: u32,
    /// The part's share of the rounds on a device, if it ran on one.
    pub device: Option<DeviceFigures>,
}

/// Name of the file in a results folder.
pub const FILE_NAME: &str = "timings.csv";
pub(super) const HEADER: &str = "cell,block,seconds,trial_rounds_per_s,host_cpu_us_per_trial_round,lanes_per_submission,\
    submissions_per_round,bytes_up_per_trial_round,bytes_down_per_trial_round\n";

/// Returns the line about one finished part. A part computed twice has two lines.
pub(super) fn line(id: PartId, timing: PartTiming) -> String {
    let PartTiming { seconds, n_trials, n_rounds, device } = timing;
    let rate = f64::from(n_trials) * f64::from(n_rounds) / seconds.max(1e-9);
    let device = device.map_or_else(|| ",,,,".to_owned(), DeviceFigures::csv);
    format!("{},{},{seconds:.6},{rate:.1},{device}\n", id.cell, id.block)
}

/// What rounds on a device cost the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceFigures {
    /// Microseconds of CPU time of the engine's threads, per round of a trial.
    pub host_cpu_us: f64,
    /// Trials in a submission.
    pub lanes: f64,
    /// Submissions in a round of all trials.
    pub submissions: f64,
    /// Bytes sent to the device, per round of a trial.
    pub bytes_up: f64,
    /// Bytes received from it, per round of a trial.
    pub bytes_down: f64,
}

impl DeviceFigures {
    /// Returns the figures of counts; `None` if nothing was submitted, or for rounds that no backend scores beside others that one does.
    ///
    /// * `rounds` — rounds of one trial
    pub fn of(counters: &Counters, rounds: u64) -> Option<Self> {
        let (submissions, trial_rounds) = (counters.submissions as f64, counters.rounds as f64);
        (0.0 < submissions && 0.0 < trial_rounds).then(|| Self {
            host_cpu_us: counters.host_us as f64 / trial_rounds,
            lanes: counters.lanes as f64 / submissions,
            submissions: submissions / rounds.max(1) as f64,
            bytes_up: counters.sent as f64 / trial_rounds,
            bytes_down: counters.received as f64 / trial_rounds,
        })
    }

    fn csv(self) -> String {
        let Self { host_cpu_us, lanes, submissions, bytes_up, bytes_down } = self;
        format!("{host_cpu_us:.3},{lanes:.1},{submissions:.3},{bytes_up:.1},{bytes_down:.1}")
    }
}

/// Adds the lines that the file does not have yet: merging the same shards twice doubles nothing.
pub(super) fn append_missing(out: &Path, lines: &str) -> Result<(), Error> {
    let present = disk::read(&out.join(FILE_NAME), "read the timings").unwrap_or_default();
    let present = String::from_utf8_lossy(&present);
    let present: BTreeSet<&str> = present.lines().collect();
    let missing: String = lines.lines().filter(|line| !present.contains(line)).map(|line| format!("{line}\n")).collect();
    if missing.is_empty() { Ok(()) } else { append(out, &missing) }
}

/// Adds lines, below the header.
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
            let timing = PartTiming { seconds: 0.5, n_trials: 10, n_rounds: 100, device: None };
            append(folder.path(), &line(PartId { cell: 3, block }, timing)).expect("written");
        }
        let counters = Counters {
            rounds: 1000,
            submissions: 50,
            lanes: 500,
            sent: 4000,
            received: 288_000,
            host_us: 2500,
            ..Counters::default()
        };
        let timing = PartTiming { seconds: 0.5, n_trials: 10, n_rounds: 100, device: DeviceFigures::of(&counters, 100) };
        append(folder.path(), &line(PartId { cell: 4, block: 0 }, timing)).expect("written");
        assert_eq!(DeviceFigures::of(&Counters { rounds: 0, ..counters }, 100), None);
        let text = std::fs::read_to_string(folder.path().join(FILE_NAME)).expect("text");
        let lines = "3,0,0.500000,2000.0,,,,,\n3,1,0.500000,2000.0,,,,,\n4,0,0.500000,2000.0,2.500,10.0,0.500,4.0,288.0\n";
        assert_eq!(text, format!("{HEADER}{lines}"));
    }
}
