//! Implements the logistic loss `ln(1 + e^z) - y z`, for responses in [0, 1].

use super::Loss;
use privateer_config::params::Args;
use std::sync::Arc;

/// Computes the logistic loss; a response is clipped to [0, 1], so the slope is within [-1, 1].
#[derive(Debug, Clone, Copy)]
pub struct Logistic;

pub fn parse(_args: &Args<'_>) -> Arc<dyn Loss> {
    Arc::new(Logistic)
}

/// Returns `1/(1 + e^-z)`, without overflow.
pub fn sigmoid(z: f64) -> f64 {
    if 0.0 <= z {
        1.0 / (1.0 + libm::exp(-z))
    } else {
        let e = libm::exp(z);
        e / (1.0 + e)
    }
}

impl Loss for Logistic {
    fn value(&self, z: f64, y: f64) -> f64 {
        // ln(1 + e^z) = max(z, 0) + ln(1 + e^-|z|).
        z.max(0.0) + libm::log1p(libm::exp(-z.abs())) - y.clamp(0.0, 1.0) * z
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        sigmoid(z) - y.clamp(0.0, 1.0)
    }

    fn lipschitz(&self) -> f64 {
        1.0
    }

    fn smoothness(&self) -> f64 {
        // sigmoid' = s (1 - s) <= 1/4.
        0.25
    }

    fn words(&self) -> String {
        "logistic".to_owned()
    }
}
