//! Starts worker threads.

use privateer_config::error::{Diagnostic, Error};
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::fmt;
use std::sync::Arc;

/// Largest number of worker threads.
const MOST_THREADS: usize = 4096;

/// Most threads started for each core. Idle threads search each other's queues: 4096 on two cores took 26 seconds of a core for a run
/// of 0.25, and as long to stop.
const MOST_PER_CORE: usize = 16;

/// What surrounds the work of each thread; by default nothing.
///
/// For programs that must register their threads somewhere, such as with an interpreter.
#[derive(Clone, Default)]
pub struct ThreadSetup(Option<Arc<AroundThread>>);

/// Prepares the current thread, calls its work once, and cleans up.
type AroundThread = dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync;

impl ThreadSetup {
    /// Surrounds the work of each thread by a function, which calls its argument once.
    pub fn around(setup: impl Fn(&mut (dyn FnMut() + Send)) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(setup)))
    }

    fn run(&self, work: impl FnOnce() + Send) {
        let mut work = Some(work);
        let mut once = || {
            if let Some(work) = work.take() {
                work();
            }
        };
        match &self.0 {
            Some(around) => around(&mut once),
            None => once(),
        }
    }
}

impl fmt::Debug for ThreadSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "ThreadSetup(around)" } else { "ThreadSetup" })
    }
}

/// Refuses a stated number of worker threads that is 0 or larger than any machine has.
pub fn check_threads(threads: Option<usize>) -> Result<(), Error> {
    match threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
        None => Ok(()),
        Some(threads) => Diagnostic::new(format!("{threads} worker threads cannot be started"))
            .expected(format!("a whole number from 1 to {MOST_THREADS}; without one, a thread for each core"))
            .refuse(),
    }
}

/// Returns the number of threads that are started where `threads` are asked for: at most 16 for each core, or one for each.
pub fn started_threads(threads: Option<usize>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    threads.map_or(cores, |threads| threads.min(MOST_PER_CORE * cores))
}

/// Returns a pool of [`started_threads`].
///
/// # Errors
/// Those of [`check_threads`]; [`Error::Failed`] if the system refuses to start them.
pub fn thread_pool(threads: Option<usize>) -> Result<ThreadPool, Error> {
    thread_pool_with(threads, &ThreadSetup::default())
}

/// Returns a pool as [`thread_pool`] does, whose threads are surrounded by `setup`.
pub(super) fn thread_pool_with(threads: Option<usize>, setup: &ThreadSetup) -> Result<ThreadPool, Error> {
    check_threads(threads)?;
    let spawned = |thread: ThreadBuilder| {
        let setup = setup.clone();
        std::thread::Builder::new().spawn(move || setup.run(|| thread.run())).map(drop)
    };
    // Without a number, rayon's own default.
    let n_threads = threads.map_or(0, |_| started_threads(threads));
    ThreadPoolBuilder::new().num_threads(n_threads).spawn_handler(spawned).build().map_err(|problem| {
        let hint = "use fewer threads, or raise the limits on memory and processes";
        Error::failed(format!("the system refuses to start threads: {problem}"), hint)
    })
}
