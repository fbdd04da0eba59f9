//! Caches environments with the feature tables and prepared bases that were built over them.

use super::functions::Functions;
use crate::env::Environment;
use crate::env::contextual::Contextual;
use crate::oco::problem::Problem;
use crate::policy::TableCache;
use privateer_backend::Domain;
use privateer_gp::score::Basis;
use privateer_numerics::rng::Streams;
use std::sync::{Arc, Mutex};

/// Caches an environment with the feature tables and prepared bases that were built over it.
pub(super) struct EnvironmentCache {
    pub(super) streams: Streams,
    pub(super) environment: Mutex<Option<Arc<Environment>>>,
    /// The environment of contextual cells.
    pub(super) users: Mutex<Option<Arc<Contextual>>>,
    /// The problem of learners.
    pub(super) problem: Mutex<Option<Arc<Problem>>>,
    pub(super) tables: Arc<TableCache>,
    /// Bases with what the backend prepared of them.
    pub(super) domains: Mutex<Vec<(Basis, Arc<dyn Domain>)>>,
    /// Functions of trials, for the cells that share them.
    pub(super) functions: Arc<Functions>,
}

impl EnvironmentCache {
    pub(super) fn new(seed: u64, label: &str) -> Self {
        Self {
            streams: Streams::new(seed, label),
            environment: Mutex::default(),
            users: Mutex::default(),
            problem: Mutex::default(),
            tables: Arc::default(),
            domains: Mutex::default(),
            functions: Arc::default(),
        }
    }
}
