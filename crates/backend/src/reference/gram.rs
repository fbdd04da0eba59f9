//! Implements `gram.wgsl`: writes the Gram columns of a list of points.

use super::arithmetic::Arithmetic;
use super::kernel::{ReferenceKernel, kernel};
use crate::device::tables::Extent;

/// Returns the columns `h_i(x) = k(z_i, x)` for the points of a list.
///
/// Values are evaluated in `R` and rounded to `Out`, and zero beyond the last point.
pub fn gram<R: Arithmetic, Out: Arithmetic>(form: ReferenceKernel<R>, coords: &[R], extent: Extent, slots: &[u32]) -> Vec<Out> {
    let mut table = vec![Out::default(); slots.len() * extent.stride];
    for (column, &slot) in slots.iter().enumerate() {
        for x in 0..extent.n_points {
            let value = kernel(form, coords, extent.stride, slot as usize, x);
            table[column * extent.stride + x] = Out::of(value.wide());
        }
    }
    table
}
