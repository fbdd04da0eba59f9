//! Deterministic numerics: the same bits on every platform, thread count and batch size.
//!
//! [`linalg`] holds dense f64 routines in one fixed order of operations, [`rng`] the named random streams and samplers.

pub mod linalg;
pub mod rng;
mod simd;

#[doc(hidden)]
pub use pulp;
