//! Waits for a folder or file that another program holds.

use privateer_config::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Milliseconds that this process waits at most.
static PATIENCE: AtomicU64 = AtomicU64::new(0);
const PAUSE: Duration = Duration::from_millis(20);

/// Sets how long this process waits for other programs; at first it does not wait.
pub fn wait_at_most(patience: Duration) {
    PATIENCE.store(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Repeats an attempt while it ends with [`Error::InUse`] and the patience lasts.
/// * `least` — how long to wait at least
///
/// # Errors
/// Those of the attempts.
pub fn once_free<T>(least: Duration, mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let patience = least.max(Duration::from_millis(PATIENCE.load(Ordering::Relaxed)));
    let began = Instant::now();
    loop {
        match attempt() {
            Err(Error::InUse { .. }) if began.elapsed() < patience => std::thread::sleep(PAUSE),
            outcome => return outcome,
        }
    }
}
