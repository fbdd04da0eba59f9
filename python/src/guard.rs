//! Carries the first failure of the user's code out of a run, and the request to stop into it.

use privateer::PolicyFailure;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Describes one failure of the user's code: message and cause belong together.
#[derive(Debug)]
pub struct UserFailure {
    /// Which code failed, and how.
    pub message: String,
    /// The exception, if the code raised one.
    pub exception: Option<PyErr>,
    /// Whether the exception asks the program to end, as `KeyboardInterrupt` and `SystemExit` do.
    pub asks_to_end: bool,
    /// Whether an environment failed.
    ///
    /// The error of the run then states a reward that is not finite, not this message.
    pub of_environment: bool,
    /// The round in which a policy failed, if it is known.
    pub round: Option<u64>,
    /// Whether no other failure of the run followed this one.
    ///
    /// An error of the run is then of this failure.
    pub is_only: bool,
}

impl UserFailure {
    /// Returns the message with the round, if it is known.
    pub fn located(&self) -> String {
        self.round.map_or_else(|| self.message.clone(), |round| format!("in round {round}: {}", self.message))
    }
}

/// Carries the first failure of the user's code out of a run, and the request to stop into it.
#[derive(Debug, Default)]
pub struct RunGuard {
    /// The first failure; later ones, of other threads, are dropped whole.
    first: Mutex<Option<UserFailure>>,
    stopped: AtomicBool,
}

impl RunGuard {
    /// Begins a run.
    pub fn begin(&self) {
        self.stopped.store(false, Ordering::Relaxed);
        drop(self.take());
    }

    /// Asks policies to end at their next round.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn first(&self) -> MutexGuard<'_, Option<UserFailure>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the exception that asks the program to end, if code of the user raised one: it comes out as itself.
    pub fn take_request_to_end(&self) -> Option<PyErr> {
        self.first().take_if(|failure| failure.asks_to_end)?.exception
    }

    /// Takes the first failure of the user's code.
    pub fn take(&self) -> Option<UserFailure> {
        self.first().take()
    }

    /// Returns the message of the first failure.
    pub fn message(&self) -> Option<String> {
        self.first().as_ref().map(|failure| failure.message.clone())
    }

    /// Stores a failure of an environment.
    pub fn of_environment(&self, message: String, exception: Option<PyErr>) -> PolicyFailure {
        self.store(None, message, exception, true)
    }

    /// Stores a failure unless there is one, and returns its message.
    fn store(&self, round: Option<u64>, message: String, exception: Option<PyErr>, of_environment: bool) -> PolicyFailure {
        let asks_to_end = exception.as_ref().is_some_and(asks_to_end);
        let stored = message.clone();
        let mut failure = Some(UserFailure { message: stored, exception, asks_to_end, of_environment, round, is_only: true });
        // Nothing of Python runs under the lock: it could pass the interpreter on to a thread that waits for the lock.
        {
            let mut first = self.first();
            match first.as_mut() {
                // A request to end counts more than what failed before it.
                Some(earlier) if !asks_to_end || earlier.asks_to_end => earlier.is_only = false,
                _ => std::mem::swap(&mut *first, &mut failure),
            }
        }
        drop(failure);
        message.into()
    }

    /// Stores that code of the user returned something wrong.
    pub fn refuse(&self, round: Option<u64>, message: String) -> PolicyFailure {
        self.store(round, message, None, false)
    }

    /// Stores an exception and returns its message.
    pub fn raised(&self, round: Option<u64>, place: &str, error: PyErr) -> PolicyFailure {
        self.store(round, raised_message(place, &error), Some(error), false)
    }

    /// Calls code of the user, unless the run was stopped.
    pub fn call<T>(&self, call: impl FnOnce(Python<'_>) -> Result<T, PolicyFailure>) -> Result<T, PolicyFailure> {
        let stopped = || PolicyFailure::from("the run was stopped");
        if self.stopped.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        // Without an interpreter, at the end of the program, there is nobody to call.
        Python::try_attach(call).unwrap_or_else(|| Err(stopped()))
    }
}

/// Locks what is shared; the interpreter goes on while another thread has it, whose code may need it.
pub fn attached<'a, T>(py: Python<'_>, shared: &'a Mutex<T>) -> MutexGuard<'a, T> {
    shared.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// Whether an exception asks the program to end: Python derives such exceptions from `BaseException` alone.
fn asks_to_end(error: &PyErr) -> bool {
    Python::try_attach(|py| !error.is_instance_of::<PyException>(py)).unwrap_or(false)
}

pub fn raised_message(place: &str, error: &PyErr) -> String {
    format!("`{place}` raised {}", error.to_string().trim())
}
