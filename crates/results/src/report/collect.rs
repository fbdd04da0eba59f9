//! Reads a folder, part by part, and reduces it to the data of the report.

use super::cell_data::{CellData, CellIndex, ReportTrialEnd, once_each, problem_of};
use super::curves::CurveBuilder;
use super::shown::{show_cells, shown};
use super::text::{short_key, swept_text};
use super::words::ReportWords;
use crate::record::{CellInfo, Folder, Manifest, Measures, PartId, Quantity, Role, Trace, WrittenRows};
use privateer_config::error::{Diagnostic, Error, suggestion};
use privateer_config::params::Scalar;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Holds a whole run, reduced to the data of the report.
#[derive(Clone, Debug)]
pub(super) struct ReportRun {
    /// Without its cells.
    pub(super) manifest: Manifest,
    pub(super) cells: Vec<CellData>,
    pub(super) words: ReportWords,
    pub(super) index: CellIndex,
}

impl ReportRun {
    /// Reads a folder for a report on `measure`, or on the usual quantity of this kind of run.
    ///
    /// Calls `each` after every cell, with the number of cells.
    pub(super) fn read(out: &Path, measure: Option<&str>, each: &(dyn Fn(u64) + Sync)) -> Result<Self, Error> {
        let (manifest, done) = Folder::unread(out)?;
        let total = manifest.parts().len();
        let n_missing = total - done.len();
        if 0 < n_missing {
            let first = manifest.parts().find(|id| !done.contains(id)).map_or(String::new(), |id| id.to_string());
            let (noun, verb) = if n_missing == 1 { ("block", "is") } else { ("blocks", "are") };
            return Err(Error::Incomplete {
                done: done.len(),
                total,
                reason: format!("{n_missing} {noun} {verb} missing, the first is {first}"),
                hint: "finish the run with the command that started it, or merge its shards; then report".to_owned(),
            });
        }
        Self::reduced(out, manifest, measure, |manifest, id, n_cells| manifest.read_cells(out, id, n_cells), each)
    }

    /// Reads a folder for a report on the usual quantity; takes the rows of its parts from those written, if they are whole.
    pub(super) fn of_written(out: &Path, mut written: WrittenRows, each: &(dyn Fn(u64) + Sync)) -> Result<Self, Error> {
        let manifest = Folder::manifest(out)?;
        if !written.are_of_all(&manifest) {
            drop((manifest, written));
            return Self::read(out, None, each);
        }
        let rows = |manifest: &Manifest, id, n_cells| written.take(id).map_or_else(|| manifest.read_cells(out, id, n_cells), Ok);
        Self::reduced(out, manifest, None, rows, each)
    }

    /// Reduces the rows of every part, which `rows` returns for each of its cells.
    fn reduced(
        out: &Path,
        mut manifest: Manifest,
        measure: Option<&str>,
        mut rows: impl FnMut(&Manifest, PartId, usize) -> Result<Vec<Trace>, Error>,
        each: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, Error> {
        let mut infos = std::mem::take(&mut manifest.cells);
        show_cells(&mut infos)?;
        let manifest = shown(&manifest)?;
        let words = words(&infos, measure)?;
        let n_cells = infos.len();
        // A part is read with its first cell, and those of the others are held.
        let mut held = Vec::new().into_iter();
        let mut rows_of = |id: PartId| {
            if manifest.first_of_part(id.cell) == id.cell {
                let n_cells_of_part = (n_cells - id.cell as usize).min(manifest.cells_a_part as usize);
                held = rows(&manifest, id, n_cells_of_part)?.into_iter();
            }
            Ok(held.next().unwrap_or_default())
        };
        let mut cells = Vec::with_capacity(n_cells);
        for info in infos {
            let last = cells.last();
            cells.push(cell(out, (info, last), words.measure, manifest.n_blocks, &mut rows_of)?);
            each(n_cells as u64);
        }
        Ok(Self { index: CellIndex::of(&cells), manifest, cells, words })
    }

    /// Returns the run with its references at every sweep point of their problem, as if the spec listed them.
    pub(super) fn with_references_everywhere(&self) -> Cow<'_, Self> {
        let mut points_of: BTreeMap<String, Vec<&CellData>> = BTreeMap::new();
        for cell in self.cells.iter().filter(|cell| cell.info.role == Role::Listed) {
            let points = points_of.entry(problem_of(cell)).or_default();
            if points.last().is_none_or(|last| last.swept != cell.swept) {
                points.push(cell);
            }
        }
        let mut more = Vec::new();
        for cell in self.cells.iter().filter(|cell| cell.info.role != Role::Listed) {
            let points = points_of.get(&problem_of(cell)).into_iter().flatten();
            for point in points.filter(|point| point.swept != cell.swept) {
                more.push(CellData { swept: Arc::clone(&point.swept), ..cell.clone() });
            }
        }
        if more.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut cells = self.cells.clone();
        cells.append(&mut more);
        Cow::Owned(Self { index: CellIndex::of(&cells), manifest: self.manifest.clone(), cells, words: self.words })
    }

    /// Returns the policies in order of first appearance.
    pub(super) fn policies(&self) -> Vec<&str> {
        once_each(self.cells.iter().map(|cell| &*cell.info.policy))
    }

    pub(super) fn swept_keys(&self) -> Vec<&str> {
        self.cells.first().map_or(Vec::new(), |cell| cell.swept.iter().map(|(key, _)| &**key).collect())
    }

    /// Returns a swept key with its value in words; the key is as short as it can be.
    pub(super) fn stated(&self, (key, value): &(Arc<str>, Scalar)) -> String {
        format!("{} = {}", short_key(key, &self.swept_keys()), swept_text(value))
    }
}

/// Returns the words for the requested quantity.
fn words(cells: &[CellInfo], measure: Option<&str>) -> Result<ReportWords, Error> {
    let measures = cells.first().map_or_else(Measures::default, |cell| cell.measures);
    let outsourced = cells.iter().any(|cell| cell.ledger.inputs.is_some());
    let columns = measures.columns();
    let chosen = columns.iter().copied().find(|column| Some(column.name()) == measure);
    if let (Some(name), None) = (measure, chosen) {
        let known: Vec<&str> = columns.iter().map(|column| column.name()).collect();
        let problem = Diagnostic::new(format!("this run does not measure `{name}`"));
        let problem = problem.expected(format!("one of {}", known.join(", ")));
        return Diagnostic { hint: suggestion(name, known.iter().copied()), ..problem }.refuse();
    }
    Ok(ReportWords::of(measures, outsourced, chosen))
}

/// Reduces a cell, which shares its recorded rounds with the last one if they are equal.
fn cell(
    out: &Path,
    (info, last): (CellInfo, Option<&CellData>),
    curve: Quantity,
    n_blocks: u32,
    mut rows_of: impl FnMut(PartId) -> Result<Trace, Error>,
) -> Result<CellData, Error> {
    let corrupt = |block: u32, problem: String| {
        Error::corrupt(PartId { cell: info.cell, block }.path(out), problem, "delete the folder and run the sweep again")
    };
    let mut builder: Option<CurveBuilder> = None;
    let mut ends = Vec::new();
    let mut last_round = 0;
    for block in 0..n_blocks {
        let rows = rows_of(PartId { cell: info.cell, block })?;
        if rows.measures() != info.measures {
            return Err(corrupt(block, "measures something other than `manifest.json` states".to_owned()));
        }
        for range in trials(&rows) {
            let rounds = &rows.round[range.clone()];
            let builder = builder.get_or_insert_with(|| CurveBuilder::new(rounds));
            if !builder.accepts(rounds) {
                let problem = format!("has trial {} recorded at other rounds than trial 0", rows.trial[range.start]);
                return Err(corrupt(block, problem));
            }
            builder.add(&rows[curve][range.clone()]);
            let at = range.end - 1;
            last_round = rows.round[at];
            let values = rows.measured().iter().map(|column| column[at]).collect();
            ends.push(ReportTrialEnd { trial: rows.trial[at], values });
        }
    }
    let builder = builder.ok_or_else(|| corrupt(0, "holds no rows".to_owned()))?;
    let (mut curve, exponent) = builder.finish(info.measures == Measures::Risk);
    if let Some(last) = last.filter(|last| last.curve.rounds == curve.rounds) {
        curve.rounds = Arc::clone(&last.curve.rounds);
    }
    let swept = Arc::clone(&info.swept);
    Ok(CellData { info: info.into(), swept, ends: ends.into(), last_round, curve: curve.into(), exponent })
}

/// Returns the row ranges of the trials of a part.
fn trials(rows: &Trace) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut ranges = Vec::new();
    for run in rows.trial.chunk_by(|left, right| left == right) {
        ranges.push(start..start + run.len());
        start += run.len();
    }
    ranges
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::{resolved, test_cell, test_ledger, test_manifest, write_part};
    use serde_json::json;

    /// Plans a synthetic policy with final regret `level + noise(i)` of trial `i` at the last round.
    ///
    /// The regret grows as a power of the round.
    pub(crate) struct Planted {
        pub(crate) policy: &'static str,
        /// Share of the noise that the claim needs; `None` without privacy.
        pub(crate) noise: Option<f64>,
        pub(crate) level: fn(f64) -> f64,
        pub(crate) exponent: f64,
    }

    pub(crate) const PRIVATE: Planted =
        Planted { policy: "tgp-ucb", noise: Some(1.0), level: |epsilon| 40.0 + 60.0 / epsilon, exponent: 0.75 };
    pub(crate) const OPEN: Planted = Planted { policy: "igp-ucb", noise: None, level: |_| 40.0, exponent: 0.5 };

    /// Returns a trial's random part, the same for every policy.
    ///
    /// It sums to zero over an even number of trials.
    pub(crate) fn noise(trial: u32) -> f64 {
        if trial.is_multiple_of(2) { 5.0 } else { -5.0 }
    }

    /// Writes a finished folder: `epsilons` x `policies`, trials in blocks of 4, 400 rounds.
    pub(crate) fn plant(out: &Path, epsilons: &[f64], policies: &[Planted], n_trials: u32) -> Manifest {
        let n_rounds = 400_u32;
        let mut cells = Vec::new();
        for &epsilon in epsilons {
            for planted in policies {
                let swept = [("privacy.epsilon".into(), Scalar::Float(epsilon))].into_iter().filter(|_| 1 < epsilons.len());
                cells.push(CellInfo {
                    swept: swept.collect(),
                    resolved: resolved(json!({"policy": {"ridge": 3.0}})),
                    ledger: test_ledger(epsilon, planted.noise).into(),
                    facts: Arc::new(
                        [
                            ("points", 100_u64.into()),
                            ("kernel", "matern 5/2 <lengthscale & co>".into()),
                            ("optimum", 1.2345.into()),
                        ]
                        .into(),
                    ),
                    ..test_cell(cells.len() as u32, planted.policy, epsilon)
                });
            }
        }
        let block = 4;
        let manifest = Manifest {
            spec_name: "invented <run>".to_owned(),
            seed: "7".to_owned(),
            environment_summary: "functions of an RKHS on a grid of 100 points".to_owned(),
            trials: n_trials,
            rounds: n_rounds,
            block,
            n_blocks: n_trials.div_ceil(block),
            spec_text: "seed = 7\n# a < b & c\n[privacy]\nepsilon = 1.0\n".to_owned(),
            ..test_manifest(cells)
        };
        drop(Folder::open(out, &manifest).expect("fresh"));
        for id in manifest.parts() {
            let info = &manifest.cells[id.cell as usize];
            let planted = &policies[id.cell as usize % policies.len()];
            let epsilon = epsilons[id.cell as usize / policies.len()];
            let mut rows = Trace::new(Measures::Regret);
            for trial in id.block * block..((id.block + 1) * block).min(n_trials) {
                for round in 1..=n_rounds {
                    let share = (f64::from(round) / f64::from(n_rounds)).powf(planted.exponent);
                    let total = ((planted.level)(epsilon) + noise(trial)) * share;
                    rows.push(trial.into(), round.into(), Some(1), [0.1, total, 1.0 / f64::from(round), f64::NAN]);
                }
            }
            write_part(out, &manifest.spec_hash, id, info, &rows).expect("written");
        }
        manifest
    }

    pub(crate) fn planted(epsilons: &[f64], policies: &[Planted], n_trials: u32) -> ReportRun {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), epsilons, policies, n_trials);
        ReportRun::read(folder.path(), None, &|_| ()).expect("read")
    }

    #[test]
    fn missing_blocks_are_counted() {
        let folder = tempfile::tempdir().expect("a folder");
        plant(folder.path(), &[1.0], &[PRIVATE, OPEN], 6);
        std::fs::remove_file(PartId { cell: 1, block: 0 }.path(folder.path())).expect("removed");
        let error = ReportRun::read(folder.path(), None, &|_| ()).expect_err("incomplete").to_string();
        assert!(error.contains("3 of 4 blocks are done; 1 block is missing, the first is cell 1 block 0"), "{error}");
    }
}
