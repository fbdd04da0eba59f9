//! What every kernel can be asked.

use crate::Points;
use crate::score::KernelForm;
use privateer_config::params::Args;
use privateer_numerics::rng::Stream;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A positive semi-definite covariance function, symmetric to the last bit.
pub trait Kernel: Send + Sync + fmt::Debug {
    /// `k(a, b)`; both have the same length, at least 1, and the length [`Kernel::dimension`] if that states one.
    fn value(&self, a: &[f64], b: &[f64]) -> f64;

    /// Writes `k(a, b)` of one point and many, `out.len()` points row-major: the bits of [`Kernel::value`], for less.
    fn values(&self, a: &[f64], many: &[f64], out: &mut [f64]) {
        for (value, b) in out.iter_mut().zip(many.chunks_exact(a.len())) {
            *value = self.value(a, b);
        }
    }

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

    /// The covariance of two values of the function given noisy released inputs, for a flat prior on the inputs and
    /// independent normal noise of this variance in each of `dimension` coordinates: a kernel between released inputs of different
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

    /// As [`Kernel::axis_factors`], where the product need only stand for this kernel in quadrature features: the Matern kernel's
    /// modified spectral form is one (Mutny2018).
    fn spectral_factors(&self, dimension: usize) -> Option<Vec<Arc<dyn Kernel>>> {
        self.axis_factors(dimension)
    }

    /// For a kernel of one coordinate: a quadrature rule over its spectral density, (frequency, weight) by ascending frequency,
    /// symmetric, so that `sum_i w_i cos(f_i r)` approximates `k(r) / k(0)` and the weights sum to 1.
    fn spectral_rule(&self, nodes: usize) -> Option<Vec<(f64, f64)>> {
        let _ = nodes;
        None
    }

    /// For a kernel of one coordinate: a proved bound on the error of its rule for distances up to `extent`, as a share of `k(0)`.
    fn spectral_bound(&self, nodes: usize, extent: f64) -> Option<f64> {
        let _ = (nodes, extent);
        None
    }

    /// Kernels of disjoint ranges of coordinates, ascending, whose sum is this kernel; `None` where it is no such sum.
    fn summands(&self, dimension: usize) -> Option<Vec<Summand>> {
        let _ = dimension;
        None
    }

    /// This kernel on some coordinates of a space of this dimension alone; `None` where that has no meaning.
    fn on_coordinates(&self, coordinates: Range<usize>) -> Option<Arc<dyn Kernel>> {
        let _ = coordinates;
        None
    }
}

/// One term of an additive kernel.
#[derive(Debug, Clone)]
pub struct Summand {
    /// The coordinates it sees.
    pub coordinates: Range<usize>,
    /// Its kernel, over those coordinates alone.
    pub kernel: Arc<dyn Kernel>,
}

/// What the parser of a composed kernel may ask for.
pub trait KernelRegistry {
    /// Reads a kernel under `key`; `None` if wrong (the sink then knows).
    fn part(&self, args: &Args<'_>, key: &'static str) -> Option<Arc<dyn Kernel>>;
}
