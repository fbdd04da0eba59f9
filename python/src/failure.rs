//! Turns errors of the library into exceptions, with the program's own words.

use privateer::Error;
use privateer::config::error::printable;
use pyo3::prelude::*;

/// When an error arose; mistakes found before a run are in the spec, later ones in its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Reading of the spec or of arguments.
    Reading,
    /// Preparation and simulation.
    Running,
}

/// Returns the exception for an error: a class of `privateer.errors`.
pub fn exception(py: Python<'_>, error: &Error, phase: Phase) -> PyErr {
    let class = match (error, phase) {
        (Error::Input(_), Phase::Reading) | (Error::TooLarge { .. }, _) => "SpecError",
        (Error::Input(_), Phase::Running) => "DataError",
        (Error::InUse { .. }, _) => "InUseError",
        (Error::Folder { .. } | Error::Corrupt { .. } | Error::Io { .. }, _) => "FolderError",
        (Error::Device { .. } | Error::Untrusted { .. }, _) => "DeviceError",
        (Error::CheckSaidNo(_), _) => "CheckError",
        (Error::NotReleased { record, spent, budget, .. }, _) => {
            let exception = of_class(py, "BudgetError", error);
            for (name, value) in [("record", record), ("spent", spent), ("budget", budget)] {
                // An exception without its fields still says why.
                drop(exception.value(py).setattr(name, value));
            }
            return exception;
        }
        _ => "RunError",
    };
    of_class(py, class, error)
}

/// Returns the exception of a class of `privateer.errors` for an error.
pub fn of_class(py: Python<'_>, class: &str, error: &Error) -> PyErr {
    let text = printable(&error.to_string()).into_owned();
    named(py, class, text.strip_prefix("error: ").unwrap_or(&text))
}

/// Returns an exception of a class of `privateer.errors`.
pub fn named(py: Python<'_>, class: &str, text: &str) -> PyErr {
    match py.import("privateer.errors").and_then(|errors| errors.getattr(class)?.call1((text,))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
