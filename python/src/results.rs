//! Results folders, as arrays.

use super::failure::{Phase, exception};
use numpy::PyArray1;
use privateer::Trace;
use privateer::record::Folder;
use privateer::report::SampleMoments;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Returns the manifest of a results folder, as JSON.
#[pyfunction]
pub fn manifest(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    let manifest = py.detach(|| Folder::manifest(&folder)).map_err(|error| exception(py, &error, Phase::Running))?;
    // The file writes equal values of cells once; here every cell is whole.
    let expanded = || {
        let mut expanded = serde_json::to_value(&manifest)?;
        let cells = manifest.cells.iter().map(|cell| {
            let mut whole = serde_json::to_value(cell)?;
            whole["label"] = cell.label().into();
            Ok(whole)
        });
        expanded["cells"] = cells.collect::<Result<Vec<serde_json::Value>, serde_json::Error>>()?.into();
        serde_json::to_string(&expanded)
    };
    expanded().map_err(|error: serde_json::Error| PyValueError::new_err(error.to_string()))
}

/// Returns the recorded rows of the finished parts, ordered by cell, trial and round, as a dictionary of columns.
///
/// `point` is -1 where the domain has no numbered points.
#[pyfunction]
pub fn rows(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let read = py.detach(|| {
        let (manifest, parts) = Folder::unread(&folder)?;
        let (mut cells, mut rows): (Vec<u32>, Trace) = (Vec::new(), Trace::default());
        for part in parts {
            for (cell, trace) in (part.cell..).zip(manifest.read_part(&folder, part)?) {
                cells.resize(cells.len() + trace.len(), cell);
                rows.extend(trace);
            }
        }
        Ok((cells, rows))
    });
    let (cells, rows) = read.map_err(|error| exception(py, &error, Phase::Running))?;
    let columns = PyDict::new(py);
    columns.set_item("cell", PyArray1::from_vec(py, cells))?;
    let points = PyArray1::from_iter(py, rows.point.iter().map(|point| point.unwrap_or(-1)));
    let measures = rows.measures();
    columns.set_item("trial", PyArray1::from_slice(py, &rows.trial))?;
    columns.set_item("round", PyArray1::from_slice(py, &rows.round))?;
    columns.set_item("point", points)?;
    for (quantity, values) in measures.columns().iter().zip(rows.measured()) {
        columns.set_item(quantity.name(), PyArray1::from_slice(py, values))?;
    }
    Ok(columns)
}

/// Returns (mean, standard error, lower end, upper end) of a sample, with the 95 % Student-t interval; NaN where undefined.
#[pyfunction]
pub fn mean_interval(sample: Vec<f64>) -> (f64, f64, f64, f64) {
    let undefined = f64::NAN;
    SampleMoments::of(&sample).map_or((undefined, undefined, undefined, undefined), |moments| {
        let number = |value: Option<f64>| value.unwrap_or(undefined);
        (moments.mean, number(moments.se), number(moments.low()), number(moments.high()))
    })
}
