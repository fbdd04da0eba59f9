//! Implements `gram.wgsl`: writes the Gram columns of all points.

use super::kernel::kernel;
use crate::device::Real;
use crate::device::tables::{Extent, KernelNumbers, coordinates, kernel_error};
use privateer_gp::score::KernelForm;
use std::sync::Arc;

/// Returns the columns `h_i(x) = k(z_i, x)`, with a bound on their error beyond a rounding.
///
/// Values are evaluated in `W` and rounded to `R`, and zero beyond the last point.
pub fn gram<W: Real, R: Real>(form: &KernelForm, extent: Extent) -> (Arc<Vec<R>>, f64) {
    let coords = coordinates::<W>(form, extent);
    let numbers = KernelNumbers::of(form).rounded();
    let mut table = vec![R::default(); extent.n_points * extent.stride];
    for point in 0..extent.n_points {
        for x in 0..extent.n_points {
            table[point * extent.stride + x] = R::of(kernel(numbers, &coords.values, extent.stride, point, x).wide());
        }
    }
    (Arc::new(table), kernel_error(form, &coords, W::PRECISION))
}
