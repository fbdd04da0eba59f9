//! What every kernel can be asked.

use crate::gp::Points;
use crate::rng::Stream;
use crate::score::KernelForm;
use std::fmt;
use std::sync::Arc;

/// A positive semi-definite covariance function, symmetric to the last bit.
pub trait Kernel: Send + Sync + fmt::Debug {
    /// `k(a, b)`; both have the same length, at least 1, and the length [`Kernel::dimension`] if that states one.
    fn value(&self, a: &[f64], b: &[f64]) -> f64;

    /// The number of coordinates that its points must have; `None` if any will do. Callers check it before the first use.
    fn dimension(&self) -> Option<usize> {
        None
    }

    /// `k(x, x)` where it is the same for every point (a stationary kernel), else `None`.
    fn variance(&self) -> Option<f64> {
        None
    }

    /// The covariance of these points as a formula that devices evaluate; `None` where it is no such formula.
    fn form(&self, points: &Points) -> Option<KernelForm> {
        let _ = points;
        None
    }

    /// The covariance of two values of the function given noisy images of their inputs, for a flat prior on the inputs and
    /// independent normal noise of this variance in each of `dimension` coordinates: a kernel between images of different
    /// rows. What a row has beyond it, `k(x, x)` less the kernel at distance 0, is its own. `None` where no formula is known.
    fn under_input_noise(&self, noise_variance: f64, dimension: usize) -> Option<Arc<dyn Kernel>> {
        let _ = (noise_variance, dimension);
        None
    }

    /// One frequency, `dimension` numbers, drawn from the spectral density of `k / k(0)`, so that
    /// `E cos(w · (a - b)) = k(a, b) / k(0)` (Bochner); `None` where the kernel has none, and then nothing is drawn.
    fn sample_frequency(&self, dimension: usize, stream: &mut Stream) -> Option<Vec<f64>> {
        let _ = (dimension, stream);
        None
    }

    /// One-dimensional kernels, one per coordinate, whose product is this kernel; `None` where it is no such product.
    fn axis_factors(&self, dimension: usize) -> Option<Vec<Arc<dyn Kernel>>> {
        let _ = dimension;
        None
    }
}
