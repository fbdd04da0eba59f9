//! Worker threads.

use privateer_config::error::{Diagnostic, Error};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Most worker threads.
pub const MOST_THREADS: usize = 4096;

/// A pool of so many threads; one for each core if absent.
///
/// # Errors
/// If the system starts no more threads.
pub fn pool(threads: Option<usize>) -> Result<ThreadPool, Error> {
    let mut pool = ThreadPoolBuilder::new();
    if let Some(threads) = threads {
        pool = pool.num_threads(threads);
    }
    pool.build()
        .map_err(|problem| Error::input(Diagnostic::new(format!("cannot start threads: {problem}")).hint("lower `--threads`")))
}
