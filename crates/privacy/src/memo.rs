//! Keeps what takes long to compute, for all threads of a process.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A number of computed values by their keys.
pub(crate) struct Memo<K, V> {
    /// Most values that are kept; the one of the least key makes room.
    most: usize,
    known: Mutex<BTreeMap<K, V>>,
}

impl<K: Ord, V: Clone> Memo<K, V> {
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, known: Mutex::new(BTreeMap::new()) }
    }

    /// Returns the value of a key, computed where it is not kept.
    pub(crate) fn get(&self, key: K, compute: impl FnOnce() -> V) -> V {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = known().get(&key) {
            return value.clone();
        }
        let value = compute();
        let mut known = known();
        if self.most <= known.len() {
            known.pop_first();
        }
        known.insert(key, value.clone());
        value
    }
}
