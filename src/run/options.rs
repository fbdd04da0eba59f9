//! Defines the options of a run.

use super::threads::ThreadSetup;
use crate::engine::Shard;
use crate::env::DataFolder;
use privateer_backend::{Backend, Cpu};
use std::sync::Arc;

/// Options of a run; beside the data, none of them changes a recorded byte.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Folder of the data files.
    pub data: DataFolder,
    /// Scoring backend.
    pub backend: Arc<dyn Backend>,
    /// Number of worker threads; one for each core if absent.
    pub threads: Option<usize>,
    /// What surrounds the work of each worker thread.
    pub thread_setup: ThreadSetup,
    /// Number of trials in lockstep; the backend chooses if absent.
    pub batch: Option<usize>,
    /// The shard of the work to run; all of it if absent.
    pub shard: Option<Shard>,
}

impl Default for RunOptions {
    /// Runs everything on the processor.
    fn default() -> Self {
        Self {
            data: DataFolder::default(),
            backend: Arc::new(Cpu::default()),
            threads: None,
            thread_setup: ThreadSetup::default(),
            batch: None,
            shard: None,
        }
    }
}
