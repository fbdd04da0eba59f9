//! Implements `features.wgsl`: writes the Fourier features of every point, computed in f64.

use crate::device::Real;
use crate::device::tables::Extent;
use privateer_gp::score::FourierForm;

/// Returns the columns `a_i cos(w_i · x)` for all `i`, then `a_i sin(w_i · x)`.
///
/// Values are rounded, and zero beyond the last point.
pub fn features<Out: Real>(form: &FourierForm, extent: Extent) -> Vec<Out> {
    let d = form.dimension;
    let n_frequencies = form.amplitudes.len();
    let mut table = vec![Out::default(); 2 * n_frequencies * extent.stride];
    for (i, (&amplitude, w)) in form.amplitudes.iter().zip(form.frequencies.chunks_exact(d)).enumerate() {
        for x in 0..extent.n_points {
            let mut t = 0.0;
            for (w, coordinate) in w.iter().zip(&form.points[x * d..]) {
                t += w * coordinate;
            }
            table[i * extent.stride + x] = Out::of(amplitude * libm::cos(t));
            table[(n_frequencies + i) * extent.stride + x] = Out::of(amplitude * libm::sin(t));
        }
    }
    table
}
