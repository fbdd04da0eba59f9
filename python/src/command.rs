//! The commands of the program.

use super::failure::{Phase, exception};
use super::items::{OwnItem, registry};
use super::policy::RunGuard;
use privateer::Registry;
use privateer::cli::{CapturedText, captured, main_with};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::sync::Arc;

/// Runs the command line on these arguments, the first of which is the program's name; returns the exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| main_with(&Registry::builtin(), arguments))
}

/// Runs one command and returns what it would have printed: results, and notes.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>, items: Vec<OwnItem>) -> PyResult<(String, Vec<String>)> {
    let registry = registry(py, items, &Arc::new(RunGuard::default()))?;
    let arguments = [OsString::from("privateer")].into_iter().chain(arguments);
    let (done, CapturedText { said, noted }) = py.detach(|| captured(&registry, arguments));
    done.map_err(|error| exception(py, &error, Phase::Reading))?;
    Ok((said, noted))
}
