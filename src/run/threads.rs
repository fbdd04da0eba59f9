//! Starts worker threads.

use privateer_config::error::{Diagnostic, Error};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Largest number of worker threads.
pub const MOST_THREADS: usize = 4096;

/// Returns a pool of `threads` threads, or of one for each core if absent.
///
/// # Errors
/// [`Error::Input`] if the system refuses to start them.
pub fn thread_pool(threads: Option<usize>) -> Result<ThreadPool, Error> {
    ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|problem| Error::input(Diagnostic::new(format!("cannot start threads: {problem}")).hint("use fewer threads")))
}
