//! Locks and keeps what threads share.

use privateer_config::error::Error;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Locks a mutex even after a panic: every guarded value is consistent between statements.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the value of a slot, which the first thread that needs it makes while others wait.
pub(super) fn made<T: Clone>(slot: &Mutex<Option<T>>, make: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let mut slot = lock(slot);
    match slot.as_ref() {
        Some(value) => Ok(value.clone()),
        None => Ok(slot.insert(make()?).clone()),
    }
}

/// Keeps the values of the last few keys.
pub(super) struct LastFew<K, T>(Mutex<VecDeque<(K, Arc<T>)>>);

impl<K, T> Default for LastFew<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, T> LastFew<K, T> {
    /// Returns the value of a key, a new one if none is kept; the oldest goes where `most` are kept.
    pub(super) fn of(&self, key: K, most: usize, new: impl FnOnce() -> T) -> Arc<T> {
        let mut kept = lock(&self.0);
        if let Some((_, found)) = kept.iter().find(|(known, _)| *known == key) {
            return Arc::clone(found);
        }
        if most <= kept.len() {
            kept.pop_front();
        }
        let value = Arc::new(new());
        kept.push_back((key, Arc::clone(&value)));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::LastFew;

    #[test]
    fn the_oldest_value_is_dropped() {
        let (kept, mut n_made) = (LastFew::default(), 0);
        for (key, all) in [(1, 1), (2, 2), (1, 2), (3, 3), (2, 3), (1, 4)] {
            let value = kept.of(key, 2, || {
                n_made += 1;
                10 * key
            });
            assert_eq!((*value, n_made), (10 * key, all), "{key}");
        }
    }
}
