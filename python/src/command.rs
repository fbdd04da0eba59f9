//! The commands of the program.

use super::failure::{Phase, exception};
use super::guard::RunGuard;
use super::items::{OwnItem, registry};
use super::run::raised;
use privateer::cli::{CapturedText, captured, main_with};
use privateer::{Error, Registry};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::sync::Arc;

/// Runs the command line on these arguments, the first of which is the program's name; returns the exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| main_with(&Registry::builtin(), arguments))
}

/// Runs one command and returns what it would have printed: results, and notes. A failed check carries its results as `printed`.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>, items: Vec<OwnItem>) -> PyResult<(String, Vec<String>)> {
    let guard = Arc::new(RunGuard::default());
    let registry = registry(py, items, &guard)?;
    let arguments = [OsString::from("privateer")].into_iter().chain(arguments);
    let (done, CapturedText { said, noted }) = py.detach(|| captured(&registry, arguments));
    done.map_err(|error| {
        let raised = if guard.message().is_some() { raised(py, &guard, &error) } else { exception(py, &error, Phase::Reading) };
        let carried = match error {
            Error::CheckSaidNo(_) => raised.value(py).setattr("printed", &said),
            _ => Ok(()),
        };
        carried.err().unwrap_or(raised)
    })?;
    Ok((said, noted))
}
