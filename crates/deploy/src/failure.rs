//! What SQLite refuses, as errors about a file.

use privateer_config::error::{Diagnostic, Error};
use privateer_privacy::odometer::BadBudget;
use rusqlite::ErrorCode;
use std::io::ErrorKind;
use std::path::Path;

/// Returns what SQLite refused as an error about a file.
pub(super) fn refused(path: &Path, why: &rusqlite::Error) -> Error {
    match why.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::InUse { path: path.to_owned(), holder: "another command", hint: "then try again".to_owned() }
        }
        Some(ErrorCode::NotADatabase) => Error::corrupt(path, "is not a deployment of this program", NAME_ONE),
        Some(ErrorCode::DatabaseCorrupt) => Error::corrupt(path, "is damaged: SQLite cannot read it as it was written", RESTORE),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            let source = std::io::Error::new(ErrorKind::PermissionDenied, "the file or its folder cannot be written");
            Error::io("write the deployment", path, source)
        }
        Some(ErrorCode::DiskFull) => {
            Error::io("write the deployment", path, std::io::Error::new(ErrorKind::StorageFull, "the disk is full"))
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
            Error::io("read or write the deployment", path, std::io::Error::other(why.to_string()))
        }
        _ => Error::corrupt(path, format!("is not a deployment as this program writes it ({why})"), RESTORE),
    }
}

pub(super) const RESTORE: &str = "restore the file from a copy";

pub(super) const NAME_ONE: &str = "name a file that `privateer odometer`, `init` or `release` made";

pub(super) fn altered(path: &Path, what: &str) -> Error {
    let hint = "restore the file from a copy; rows are added by this program alone";
    Error::corrupt(path, format!("was altered: {what} is not what was written"), hint)
}

pub(super) fn bad_budget(why: &BadBudget) -> Error {
    Diagnostic::new(format!("`--budget` is refused: {why}"))
        .expected("`--budget epsilon=4,delta=1e-6`, or `--budget epsilon=4` for filter `sum`")
        .error()
}
