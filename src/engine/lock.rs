//! Locks shared values in one way.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex even after a panic: every guarded value is consistent between statements.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
