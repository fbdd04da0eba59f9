//! Injects failures into the file operations of this room, for tests alone (feature `fault-injection`).
//!
//! `PRIVATEER_FAULT=KIND@N` makes the N-th operation of the process, counted from 1, fail: `kill` ends the process before it,
//! `torn` ends it after half of a write, `EIO`, `EACCES`, `EROFS`, `ENOSPC` and `EMFILE` refuse it (a refused write leaves half of its bytes).
//! `PRIVATEER_FAULT_LOG=FILE` lists the operations, one line each.

use super::operation::Operation;
use std::io::{Error, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The failure that is asked for and the number of the operation that it hits.
struct PlannedFault {
    kind: String,
    at: u64,
}

static PLANNED: LazyLock<Option<PlannedFault>> = LazyLock::new(|| {
    let text = std::env::var("PRIVATEER_FAULT").ok()?;
    let (kind, at) = text.split_once('@')?;
    Some(PlannedFault { kind: kind.to_owned(), at: at.parse().ok()? })
});

static COUNT: AtomicU64 = AtomicU64::new(0);

/// States whether an operation succeeds, fails or kills the process.
pub(super) enum FaultVerdict {
    /// It is carried out.
    Proceed,
    /// It is refused, a write after half of its bytes.
    Refuse(Error),
    /// The process ends after half of a write.
    Tear,
}

/// Counts an operation and decides what becomes of it; ends the process where a kill is planned.
pub(super) fn announce(operation: Operation, path: &Path) -> FaultVerdict {
    let number = COUNT.fetch_add(1, Ordering::SeqCst) + 1;
    if let Some(log) = std::env::var_os("PRIVATEER_FAULT_LOG") {
        let line = format!("{number} {operation:?} {}\n", path.display());
        let file = std::fs::File::options().create(true).append(true).open(log);
        drop(file.and_then(|mut file| file.write_all(line.as_bytes())));
    }
    let Some(fault) = PLANNED.as_ref().filter(|fault| fault.at == number) else {
        return FaultVerdict::Proceed;
    };
    match fault.kind.as_str() {
        "torn" if operation == Operation::Write => FaultVerdict::Tear,
        "kill" | "torn" => kill(),
        "EIO" => FaultVerdict::Refuse(Error::from_raw_os_error(5)),
        "EACCES" => FaultVerdict::Refuse(Error::from_raw_os_error(13)),
        "EROFS" => FaultVerdict::Refuse(Error::from_raw_os_error(30)),
        "EMFILE" => FaultVerdict::Refuse(Error::from_raw_os_error(24)),
        _ => FaultVerdict::Refuse(Error::from_raw_os_error(28)),
    }
}

/// Ends the process at once, as nothing can hold up.
pub(super) fn kill() -> ! {
    #[cfg(unix)]
    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGKILL);
    std::process::abort();
}
