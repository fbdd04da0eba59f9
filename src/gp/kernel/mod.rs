//! Kernels, one file each.

use std::fmt;

/// A positive semi-definite covariance function, symmetric to the last bit.
pub trait Kernel: Send + Sync + fmt::Debug {
    /// `k(a, b)`; both have the same length, at least 1.
    fn value(&self, a: &[f64], b: &[f64]) -> f64;
}
