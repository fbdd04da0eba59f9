//! Defines the options of a run.

use super::threads::ThreadSetup;
use privateer_backend::{Backend, Cpu};
use privateer_engine::engine::Share;
use privateer_engine::env::DataFolder;
use std::path::PathBuf;
use std::sync::Arc;

/// Options of a run; beside the data, none of them changes a recorded byte.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Folder of the data files.
    pub data: DataFolder,
    /// Scoring backend.
    pub backend: Arc<dyn Backend>,
    /// Why the backend was chosen, for the manifest, where it was chosen for the user.
    pub backend_reason: Option<String>,
    /// Number of worker threads, of which at most 16 for each core are started; one for each core if absent.
    pub threads: Option<usize>,
    /// What surrounds the work of each worker thread.
    pub thread_setup: ThreadSetup,
    /// Number of trials in lockstep; the backend chooses if absent.
    pub batch: Option<usize>,
    /// Whether the choices of screens are compared with the best of all points in f64, which takes as long as a dense run.
    pub verify: bool,
    /// The part of the work to run.
    pub share: Share,
    /// A results folder of the same sweep whose tuned learning rates are taken, such as that of another shard.
    pub rates: Option<PathBuf>,
    /// Whether a sweep with settings that mislead is refused; otherwise an observer is told of them.
    pub strict: bool,
}

impl Default for RunOptions {
    /// Runs everything on the processor.
    fn default() -> Self {
        Self {
            data: DataFolder::default(),
            backend: Arc::new(Cpu::default()),
            backend_reason: None,
            threads: None,
            thread_setup: ThreadSetup::default(),
            batch: None,
            verify: false,
            share: Share::All,
            rates: None,
            strict: false,
        }
    }
}
