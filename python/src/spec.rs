//! Specs that were read and checked.

use super::failure::{Phase, exception, named, of_class};
use super::guard::RunGuard;
use super::items::{OwnItem, registry};
use super::run::{raised, refuse_fork};
use privateer::spec::CellPlan;
use privateer::{Cpu, DataFolder, Error, Preparation};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A spec that was read and checked, with the user's own classes.
#[pyclass(frozen, module = "privateer._native")]
pub struct Sweep {
    pub sweep: Arc<privateer::Sweep>,
    pub guard: Arc<RunGuard>,
    folder: Option<PathBuf>,
}

#[pymethods]
impl Sweep {
    /// Reads a spec; `overrides` are (as written up to the value, path, value in TOML).
    #[new]
    fn new(
        py: Python<'_>,
        file: &str,
        text: &str,
        folder: Option<PathBuf>,
        overrides: Vec<(String, String, String)>,
        items: Vec<OwnItem>,
    ) -> PyResult<Self> {
        let guard = Arc::new(RunGuard::default());
        let registry = registry(py, items, &guard)?;
        let sweep = registry.parse(file, text, &overrides).map_err(|error| {
            if let Some(request) = guard.take_request_to_end() {
                return request;
            }
            let mistake = exception(py, &error, Phase::Reading);
            mistake.set_cause(py, guard.take().and_then(|failure| failure.exception));
            mistake
        })?;
        Ok(Self { sweep: Arc::new(sweep), guard, folder })
    }

    /// Name of the study.
    #[getter]
    fn name(&self) -> &str {
        &self.sweep.name
    }

    /// The spec after overrides, as canonical TOML.
    #[getter]
    fn resolved(&self) -> &str {
        &self.sweep.resolved
    }

    /// SHA-256 of the resolved spec, in hexadecimal.
    #[getter]
    fn hash(&self) -> &str {
        &self.sweep.hash
    }

    /// Seed of all random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.sweep.seed
    }

    /// Number of trials of every cell.
    #[getter]
    fn trials(&self) -> u64 {
        self.sweep.trials
    }

    /// Labels of the cells, in canonical order.
    #[getter]
    fn cells(&self) -> Vec<String> {
        self.sweep.cells.iter().map(|cell| cell.label()).collect()
    }
}

impl Sweep {
    /// Makes trials of a cell without the interpreter.
    pub fn made<T: Send>(
        &self,
        py: Python<'_>,
        cell: usize,
        data: Option<PathBuf>,
        make: impl FnOnce(&Preparation<'_>, &CellPlan) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        refuse_fork(py)?;
        let Some(plan) = self.sweep.cells.get(cell) else {
            let last = self.sweep.cells.len().saturating_sub(1);
            return Err(named(py, "SpecError", &format!("there is no cell {cell}\nexpected a number from 0 to {last}")));
        };
        let data = self.data(data);
        let made = py.detach(|| {
            let backend = Cpu::default();
            make(&Preparation::new(&self.sweep, &data, &backend), plan)
        });
        made.map_err(|error| raised(py, &self.guard, &error))
    }

    /// Returns where the data files are: in the stated folder, else beside the spec, else in `$PRIVATEER_DATA` or the working folder.
    pub fn data(&self, stated: Option<PathBuf>) -> DataFolder {
        let frames = FRAMES.lock().unwrap_or_else(PoisonError::into_inner).clone();
        DataFolder::of_spec(stated, self.folder.iter().cloned().chain(frames).collect())
    }
}

/// The folder in which data frames are files; `None` before the first.
static FRAMES: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Lets specs read files of the folder in which data frames are files.
#[pyfunction]
pub fn allow_frames(folder: PathBuf) {
    *FRAMES.lock().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// Reads a spec file.
#[pyfunction]
pub fn spec_text(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    privateer::spec::SPEC_FILE.read_text(&path).map_err(|error| of_class(py, "SpecError", &error))
}

/// Returns a TOML text as JSON.
#[pyfunction]
pub fn toml_as_json(py: Python<'_>, text: &str) -> PyResult<String> {
    let wrong = |error: &dyn std::fmt::Display| named(py, "SpecError", &format!("this is not valid TOML: {error}"));
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| wrong(&error))?;
    serde_json::to_string(&table).map_err(|error| wrong(&error))
}
