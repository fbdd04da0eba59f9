//! Waits for a folder or file that another program holds.

use privateer_config::error::Error;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Milliseconds that this process waits at most.
static PATIENCE: AtomicU64 = AtomicU64::new(0);
/// What is called once a wait is longer than [`UNSEEN`], with what is in use.
static TOLD: OnceLock<fn(&Error)> = OnceLock::new();
const PAUSE: Duration = Duration::from_millis(20);
const UNSEEN: Duration = Duration::from_secs(1);

/// Sets how long this process waits for other programs, and who is told of a longer wait; at first it does not wait.
pub fn wait_at_most(patience: Duration, told: fn(&Error)) {
    PATIENCE.store(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    TOLD.get_or_init(|| told);
}

/// Repeats an attempt while it ends with [`Error::InUse`] and the patience lasts.
/// * `least` — how long to wait at least
pub fn once_free<T>(least: Duration, mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let patience = least.max(Duration::from_millis(PATIENCE.load(Ordering::Relaxed)));
    let began = Instant::now();
    let mut is_told = false;
    loop {
        match attempt() {
            Err(error @ Error::InUse { .. }) if began.elapsed() < patience => {
                if !is_told && UNSEEN <= began.elapsed() {
                    is_told = true;
                    TOLD.get().into_iter().for_each(|told| told(&error));
                }
                std::thread::sleep(PAUSE);
            }
            outcome => return outcome,
        }
    }
}
