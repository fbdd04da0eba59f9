//! Where epsilon becomes noise: sealed values, readings, reward mechanisms, ledgers.
//!
//! **Invariant:** only this room opens a [`Raw`] and makes a [`Released`]. Knows no policy.

mod seal;

pub use seal::{Raw, Released, Signal};
