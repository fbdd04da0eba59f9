//! Values of a kernel of the distance at many points, with SIMD and the bits of [`super::Kernel::value`].

use super::Lengthscales;
use privateer_numerics::vectorised;

/// A correlation as a function of squared distances in length-scales.
pub trait Radial {
    /// Replaces up to [`BLOCK`] squared distances by covariances, inside a SIMD dispatch.
    ///
    /// `#[inline(always)]`, so that it is widened.
    fn of_block(&self, block: &mut [f64]);
}

/// Points whose distances and covariances are computed one step after the other, so that each step fills SIMD lanes.
pub const BLOCK: usize = 64;

vectorised! {
    /// Writes the covariances of `point` with `out.len()` points `many` (row-major).
    pub fn values[R: Radial](of: &R, lengthscales: &Lengthscales, point: &[f64], many: &[f64], out: &mut [f64]) {
        // One loop for each small dimension: a choice within a loop keeps it from being widened.
        match (lengthscales, point.len()) {
            (Lengthscales::Isotropic(l), 1) => over_blocks(of, point, many, out, |p, many, out| squares::<1>(l * l, p, many, out)),
            (Lengthscales::Isotropic(l), 2) => over_blocks(of, point, many, out, |p, many, out| squares::<2>(l * l, p, many, out)),
            (Lengthscales::Isotropic(l), 3) => over_blocks(of, point, many, out, |p, many, out| squares::<3>(l * l, p, many, out)),
            (Lengthscales::Isotropic(l), 4) => over_blocks(of, point, many, out, |p, many, out| squares::<4>(l * l, p, many, out)),
            (lengthscales, _) => over_blocks(of, point, many, out, |point, many, out| {
                for (out, b) in out.iter_mut().zip(many.chunks_exact(point.len())) {
                    *out = lengthscales.squared_distance(point, b);
                }
            }),
        }
    }
}

/// Computes block by block: squared distances in length-scales, then covariances.
#[inline(always)]
fn over_blocks(of: &impl Radial, point: &[f64], many: &[f64], out: &mut [f64], squares: impl Fn(&[f64], &[f64], &mut [f64])) {
    for (many, out) in many.chunks(BLOCK * point.len().max(1)).zip(out.chunks_mut(BLOCK)) {
        squares(point, many, out);
        of.of_block(out);
    }
}

/// Writes squared distances divided by `unit`, coordinates ascending.
#[inline(always)]
fn squares<const D: usize>(unit: f64, point: &[f64], many: &[f64], out: &mut [f64]) {
    let Some(point) = point.first_chunk::<D>() else { return };
    for (out, b) in out.iter_mut().zip(many.as_chunks::<D>().0) {
        let mut sum = 0.0;
        for i in 0..D {
            sum += (point[i] - b[i]) * (point[i] - b[i]);
        }
        *out = sum / unit;
    }
}
