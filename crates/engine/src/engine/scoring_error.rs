//! Translates the errors of backends.

use privateer_backend::BackendError;
use privateer_config::error::Error;

/// Returns the error of a run whose backend failed; the caller of the run knows what to do about its backend.
pub fn scoring_error(error: BackendError) -> Error {
    let problem = error.to_string();
    match error {
        BackendError::Untrusted { .. } => Error::Untrusted { problem, hint: None },
        BackendError::Misused { .. } => {
            Error::Failed { problem, hint: "this is a fault of the program: please report it".to_owned() }
        }
        _ => Error::Device { problem, hint: None },
    }
}
