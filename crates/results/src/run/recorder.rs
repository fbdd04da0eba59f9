//! Stores what the engine finishes.

use super::observer::{ReleaseSummary, RunObserver};
use crate::record::{
    self, DeviceFigures, FinishedPart, Manifest, Parameters, PartId, PartRows, PartTiming, PartWriter, TrialParameters,
    WrittenRows,
};
use privateer_backend::Counters;
use privateer_config::error::Error;
use privateer_engine::engine::{Observer, Trace, TrialEnd, Unit};
use privateer_engine::spec::Sweep;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Writes the finished units of a run into its folder.
pub(super) struct Recorder<'a> {
    out: &'a Path,
    manifest: &'a Manifest,
    sweep: &'a Sweep,
    open: PartRows,
    parts: PartWriter,
    observer: &'a dyn RunObserver,
    released: Mutex<BTreeMap<u32, ReleaseSummary>>,
    written: Mutex<Vec<PartId>>,
    rows: Mutex<WrittenRows>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(out: &'a Path, manifest: &'a Manifest, sweep: &'a Sweep, observer: &'a dyn RunObserver) -> Self {
        Self {
            out,
            manifest,
            sweep,
            open: PartRows::default(),
            parts: PartWriter::new(out),
            observer,
            released: Mutex::default(),
            written: Mutex::default(),
            rows: Mutex::default(),
        }
    }

    /// Removes the parts of this run and returns their number.
    ///
    /// A device that gave a wrong answer may have given others before.
    pub(super) fn remove_written(&self) -> Result<usize, Error> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for &id in written.iter() {
            record::remove_listed(self.out, &id.listed_name(), "remove the part")?;
            record::remove_listed(self.out, &Parameters::listed_name(id), "remove the parameters")?;
        }
        Ok(written.len())
    }

    /// Returns the number of parts of this run.
    pub(super) fn n_written(&self) -> usize {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Writes the parts that wait for others.
    pub(super) fn finish(&self) -> Result<(), Error> {
        self.parts.finish()
    }

    /// Returns the counts of the privatizers, by cell, and the rows that were written.
    pub(super) fn into_results(self) -> (BTreeMap<u32, ReleaseSummary>, WrittenRows) {
        let released = self.released.into_inner().unwrap_or_else(PoisonError::into_inner);
        (released, self.rows.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Recorder<'_> {
    fn progressed(&self, trial_rounds: u64) {
        self.observer.progressed(trial_rounds);
    }

    fn ended(&self, unit: Unit, trials: &[TrialEnd]) -> Result<(), Error> {
        let mut released = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        for trial in trials.iter().filter(|trial| 0 < trial.counts.rewards) {
            let summary = released.entry(unit.cell).or_default();
            summary.counts.add(&trial.counts);
            summary.repaired += trial.repaired;
        }
        drop(released);
        let kept =
            trials.iter().filter_map(|trial| Some(TrialParameters { trial: trial.trial, parameters: trial.parameters.clone()? }));
        let kept: Vec<TrialParameters> = kept.collect();
        if kept.is_empty() {
            return Ok(());
        }
        let (text, label) = (self.sweep.resolved.clone(), self.sweep.cells[unit.cell as usize].label());
        Parameters::new(text, unit.cell, label, kept).save(self.out, PartId { cell: unit.cell, block: unit.block })
    }

    fn finished(&self, unit: Unit, rows: Trace, seconds: f64, counters: &Counters) -> Result<(), Error> {
        let Some(part) = self.open.add(self.manifest, (unit.cell, unit.block), rows, seconds, counters) else { return Ok(()) };
        let FinishedPart { id, rows, seconds, counters } = part;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        let first = u64::from(unit.block) * self.sweep.block;
        let n_trials = self.sweep.block.min(self.sweep.trials - first) as u32;
        let rounds = self.sweep.cells_of_part(id.cell).iter().map(|cell| cell.rounds).sum();
        let device = DeviceFigures::of(&counters, rounds);
        let timing = PartTiming { seconds, n_trials, n_rounds: rounds as u32, device };
        self.parts.add(&self.sweep.hash, id, self.manifest.cells_of(id), &rows, timing)?;
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).add(id, rows);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::manifest::manifest;
    use super::*;
    use crate::record::Folder;
    use privateer_backend::Cpu;
    use privateer_engine::engine::{self, Options, Preparation, Stop};
    use privateer_engine::env::DataFolder;
    use std::collections::BTreeSet;

    /// After a wrong answer of a device nothing of the run may stay.
    #[test]
    fn the_parts_of_a_run_can_be_removed() {
        let text = "rounds = 5\ntrials = 4\nblock = 2\n[environment]\nkind = \"rkhs\"\ndomain = { kind = \"grid\", points = 9 }\n\
            kernel = { kind = \"squared-exponential\", lengthscale = 0.2 }\nnoise = { kind = \"gaussian\", sd = 0.1 }\n[[policy]]\nkind = \"uniform\"\n";
        let sweep = Sweep::parse("small.toml", text, &[]).expect("a spec");
        let (data, backend, folder) = (DataFolder::default(), Cpu::default(), tempfile::tempdir().expect("a folder"));
        let preparation = Preparation::new(&sweep, &data, &backend);
        let cells = preparation.cell_infos(&|_| ()).expect("cells");
        let manifest = manifest(&sweep, cells);
        let out = folder.path().join("out");
        Folder::open(&out, &manifest).expect("a new folder");
        let recorder = Recorder::new(&out, &manifest, &sweep, &());
        engine::run(&sweep, &preparation, Options::default(), &BTreeSet::new(), &Stop::new(), &recorder).expect("a run");
        recorder.finish().expect("written");
        assert_eq!(Folder::open(&out, &manifest).expect("the folder").done.len(), 2);
        assert_eq!(recorder.remove_written().expect("removed"), 2);
        assert_eq!(Folder::open(&out, &manifest).expect("the folder").done.len(), 0);
    }
}
