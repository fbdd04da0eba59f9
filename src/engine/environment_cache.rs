//! Caches environments with the feature tables and prepared bases that were built over them.

use super::functions::Functions;
use super::lock::lock;
use crate::env::Environment;
use crate::env::contextual::Contextual;
use crate::policy::TableCache;
use crate::spec::CellPlan;
use privateer_backend::Domain;
use privateer_gp::score::Basis;
use privateer_numerics::rng::Streams;
use std::sync::{Arc, Mutex};

/// Largest number of cached environments.
const MOST_ENVIRONMENTS: usize = 8;

/// Keeps the last few environments of a sweep.
#[derive(Default)]
pub(super) struct EnvironmentCaches(Mutex<Vec<Arc<EnvironmentCache>>>);

/// Caches an environment with the feature tables and prepared bases that were built over it.
pub(super) struct EnvironmentCache {
    key: String,
    pub(super) streams: Streams,
    /// The environment; the first thread that needs it builds it, and others wait.
    pub(super) environment: Mutex<Option<Arc<Environment>>>,
    /// The environment of contextual cells, built in the same way.
    pub(super) users: Mutex<Option<Arc<Contextual>>>,
    pub(super) tables: Arc<TableCache>,
    pub(super) domains: Mutex<Vec<BasisDomain>>,
    /// Functions of trials, for the cells that share them.
    pub(super) functions: Arc<Functions>,
}

/// Pairs a basis with what the backend prepared of it.
pub(super) type BasisDomain = (Basis, Arc<dyn Domain>);

impl EnvironmentCaches {
    /// Returns the cache of a cell's environment, which cells with equal environments share.
    pub(super) fn of(&self, seed: u64, plan: &CellPlan) -> Arc<EnvironmentCache> {
        let mut kept = lock(&self.0);
        if let Some(found) = kept.iter().find(|kept| kept.key == plan.environment_key) {
            return Arc::clone(found);
        }
        if MOST_ENVIRONMENTS <= kept.len() {
            kept.remove(0);
        }
        let new = Arc::new(EnvironmentCache {
            key: plan.environment_key.clone(),
            streams: Streams::new(seed, plan.environment.as_str()),
            environment: Mutex::new(None),
            users: Mutex::new(None),
            tables: Arc::new(TableCache::default()),
            domains: Mutex::new(Vec::new()),
            functions: Arc::default(),
        });
        kept.push(Arc::clone(&new));
        new
    }
}
