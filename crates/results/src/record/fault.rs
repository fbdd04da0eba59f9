//! Injects failures into the file operations of this room, for tests alone (feature `fault-injection`).
//!
//! `PRIVATEER_FAULT=KIND@N` makes the N-th operation of the process, counted from 1, fail: `kill` ends the process before it,
//! `torn` ends it after half of a write, `EIO`, `EACCES`, `EROFS`, `ENOSPC` and `EMFILE` refuse it (a refused write leaves half of its bytes).
//! `PRIVATEER_FAULT_LOG=FILE` lists the operations, one line each.

use super::disk::Operation;
use std::io::{Error, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The kind of failure that is asked for and the number of the operation that it hits.
static PLANNED: LazyLock<Option<(String, u64)>> = LazyLock::new(|| {
    let text = std::env::var("PRIVATEER_FAULT").ok()?;
    let (kind, at) = text.split_once('@')?;
    Some((kind.to_owned(), at.parse().ok()?))
});

static COUNT: AtomicU64 = AtomicU64::new(0);

/// States whether an operation succeeds, fails or kills the process.
pub(super) enum FaultVerdict {
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
    let Some((kind, _)) = PLANNED.as_ref().filter(|(_, at)| *at == number) else {
        return FaultVerdict::Proceed;
    };
    let code = match kind.as_str() {
        "torn" if operation == Operation::Write => return FaultVerdict::Tear,
        "kill" | "torn" => kill(),
        "EIO" => 5,
        "EACCES" => 13,
        "EROFS" => 30,
        "EMFILE" => 24,
        _ => 28,
    };
    FaultVerdict::Refuse(Error::from_raw_os_error(code))
}

/// Ends the process at once, as nothing can hold up.
pub(super) fn kill() -> ! {
    #[cfg(unix)]
    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGKILL);
    std::process::abort();
}
