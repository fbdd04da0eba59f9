//! The interface of a kernel.

use super::PlaneSums;
use crate::Points;
use crate::score::KernelForm;
use privateer_numerics::rng::Stream;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A positive semi-definite covariance function, symmetric to the last bit.
pub trait Kernel: Send + Sync + fmt::Debug {
    /// Returns `k(a, b)`.
    ///
    /// Both have the same length, at least 1, which is [`Kernel::dimension`] if that is given.
    fn value(&self, a: &[f64], b: &[f64]) -> f64;

    /// Writes `k(a, b)` for one point and `out.len()` points `b` (row-major).
    ///
    /// The results have the bits of [`Kernel::value`] at a lower cost.
    fn values(&self, a: &[f64], many: &[f64], out: &mut [f64]) {
        for (value, b) in out.iter_mut().zip(many.chunks_exact(a.len())) {
            *value = self.value(a, b);
        }
    }

    /// Prepares weighted sums of this kernel at every point, for squared exponentials in the plane.
    ///
    /// `None` for any other kernel or dimension, and where sums would cost as much as the kernel's values. They differ from
    /// sums of the values by their rounding.
    fn plane_sums(&self, _points: &Points) -> Option<PlaneSums> {
        None
    }

    /// Returns the number of coordinates of its points, or `None` if any number is allowed.
    ///
    /// Callers check it before the first use.
    fn dimension(&self) -> Option<usize> {
        None
    }

    /// Returns `k(x, x)` if it is the same for every point (a stationary kernel), otherwise `None`.
    fn variance(&self) -> Option<f64> {
        None
    }

    /// Returns the covariance of these points as a formula for devices, if there is one.
    fn form(&self, _points: &Points) -> Option<KernelForm> {
        None
    }

    /// Returns the covariance of two function values given noisy released inputs.
    ///
    /// The inputs have a flat prior, and the noise is independent and normal with this variance in each of `dimension`
    /// coordinates. The result is a kernel between the released inputs of different rows. The rest of a row's variance,
    /// `k(x, x)` minus the kernel at distance 0, belongs to that row alone. `None` if no formula is known.
    fn under_input_noise(&self, _noise_variance: f64, _dimension: usize) -> Option<Arc<dyn Kernel>> {
        None
    }

    /// Draws one frequency (`dimension` numbers) from the spectral density of `k / k(0)`.
    ///
    /// Then `E cos(w · (a - b)) = k(a, b) / k(0)` (Bochner). `None`, without a draw, if the kernel has no spectral
    /// density.
    fn sample_frequency(&self, _dimension: usize, _stream: &mut Stream) -> Option<Vec<f64>> {
        None
    }

    /// Returns one-dimensional kernels, one per coordinate, whose product is this kernel.
    ///
    /// `None` if the kernel is no product of that form.
    fn axis_factors(&self, _dimension: usize) -> Option<Vec<Arc<dyn Kernel>>> {
        None
    }

    /// Returns factors as [`Kernel::axis_factors`] does, for use in quadrature features.
    ///
    /// Their product may approximate this kernel only in spectral form, as the modified Matern kernel does (Mutny2018).
    fn spectral_factors(&self, dimension: usize) -> Option<Vec<Arc<dyn Kernel>>> {
        self.axis_factors(dimension)
    }

    /// Returns a quadrature rule over the spectral density of a kernel of one coordinate.
    ///
    /// The rule is a list of (frequency, weight) by ascending frequency and symmetric; `sum_i w_i cos(f_i r)`
    /// approximates `k(r) / k(0)`, and the weights sum to 1.
    fn spectral_rule(&self, _nodes: usize) -> Option<Vec<(f64, f64)>> {
        None
    }

    /// Returns a proved bound on the error of [`Kernel::spectral_rule`], as a share of `k(0)`.
    ///
    /// It holds for a kernel of one coordinate and distances up to `extent`.
    fn spectral_bound(&self, _nodes: usize, _extent: f64) -> Option<f64> {
        None
    }

    /// Returns kernels of disjoint ranges of coordinates, ascending, whose sum is this kernel.
    ///
    /// `None` if the kernel is no sum of that form.
    fn summands(&self, _dimension: usize) -> Option<Vec<Summand>> {
        None
    }

    /// Returns this kernel restricted to a range of coordinates; `None` if that has no meaning.
    fn on_coordinates(&self, _coordinates: Range<usize>) -> Option<Arc<dyn Kernel>> {
        None
    }
}

/// One term of an additive kernel.
#[derive(Debug, Clone)]
pub struct Summand {
    /// Coordinates of the term.
    pub coordinates: Range<usize>,
    /// Kernel over those coordinates alone.
    pub kernel: Arc<dyn Kernel>,
}
