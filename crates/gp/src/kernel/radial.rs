//! Values of a kernel of the distance at many points, with SIMD and the bits of [`super::Kernel::value`].

use super::Lengthscales;
use privateer_numerics::NullaryFnOnce;
use privateer_numerics::linalg::wide;

/// A correlation as a function of squared distances in length-scales.
pub trait Radial {
    /// Replaces up to [`BLOCK`] squared distances by covariances, inside a SIMD dispatch.
    ///
    /// `#[inline(always)]`, so that it is widened.
    fn of_block(&self, block: &mut [f64]);
}

/// Points whose distances and covariances are computed one step after the other, so that each step fills SIMD lanes.
pub const BLOCK: usize = 64;

/// Writes the covariances of `point` with `out.len()` points `many` (row-major).
pub fn values(of: &impl Radial, lengthscales: &Lengthscales, point: &[f64], many: &[f64], out: &mut [f64]) {
    wide(Values { of, lengthscales, point, many, out });
}

struct Values<'a, R> {
    of: &'a R,
    lengthscales: &'a Lengthscales,
    point: &'a [f64],
    many: &'a [f64],
    out: &'a mut [f64],
}

impl<R: Radial> NullaryFnOnce for Values<'_, R> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        // One loop for each small dimension: a choice within a loop keeps it from being widened.
        match (self.lengthscales, self.point.len()) {
            (Lengthscales::Isotropic(l), 1) => self.over_blocks(|point, many, out| squares::<1>(l * l, point, many, out)),
            (Lengthscales::Isotropic(l), 2) => self.over_blocks(|point, many, out| squares::<2>(l * l, point, many, out)),
            (Lengthscales::Isotropic(l), 3) => self.over_blocks(|point, many, out| squares::<3>(l * l, point, many, out)),
            (Lengthscales::Isotropic(l), 4) => self.over_blocks(|point, many, out| squares::<4>(l * l, point, many, out)),
            (lengthscales, _) => self.over_blocks(|point, many, out| {
                for (out, b) in out.iter_mut().zip(many.chunks_exact(point.len())) {
                    *out = lengthscales.squared_distance(point, b);
                }
            }),
        }
    }
}

impl<R: Radial> Values<'_, R> {
    /// Computes block by block: squared distances in length-scales, then covariances.
    #[inline(always)]
    fn over_blocks(self, squares: impl Fn(&[f64], &[f64], &mut [f64])) {
        let Self { of, point, many, out, .. } = self;
        for (many, out) in many.chunks(BLOCK * point.len().max(1)).zip(out.chunks_mut(BLOCK)) {
            squares(point, many, out);
            of.of_block(out);
        }
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
