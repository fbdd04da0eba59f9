//! Implements `sqrt((z - y)² + width²) - width`: the absolute deviation, rounded at zero.

use super::Loss;
use privateer_config::params::Args;
use std::sync::Arc;

/// Computes the smoothed absolute deviation, within `width` of the absolute deviation.
#[derive(Debug, Clone, Copy)]
pub struct SmoothedAbsolute {
    /// Radius of the rounding, > 0, in units of the response.
    pub width: f64,
}

pub fn parse(args: &Args<'_>) -> Arc<dyn Loss> {
    let width = args.number("width", "radius of the rounding at zero, in units of the response").above(0.0).at_most(1e9).or(0.1);
    Arc::new(SmoothedAbsolute { width })
}

impl Loss for SmoothedAbsolute {
    fn value(&self, z: f64, y: f64) -> f64 {
        libm::hypot(z - y, self.width) - self.width
    }

    fn slope(&self, z: f64, y: f64) -> f64 {
        (z - y) / libm::hypot(z - y, self.width)
    }

    fn lipschitz(&self) -> f64 {
        1.0
    }

    fn smoothness(&self) -> f64 {
        // The second derivative width²/(r² + width²)^(3/2) is largest at 0.
        1.0 / self.width
    }

    fn words(&self) -> String {
        format!("absolute, rounded within {}", self.width)
    }
}
