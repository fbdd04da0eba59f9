//! Implements the kernels' formulas in `common.wgsl`, with the library's exponential in place of the shaders' polynomials.

use crate::device::Real;
use crate::device::tables::KernelNumbers;

/// Returns `k(z_a, z_b)`.
/// * `coords` — `dimension x stride`
pub fn kernel<R: Real>(kernel: KernelNumbers<R>, coords: &[R], stride: usize, a: usize, b: usize) -> R {
    let mut sum = R::default();
    for axis in 0..kernel.dimension as usize {
        let (za, zb) = (coords[axis * stride + a], coords[axis * stride + b]);
        if kernel.family == 4 {
            sum += za * zb;
        } else {
            let apart = za - zb;
            sum += apart * apart;
        }
    }
    let shared_part = kernel.scale * correlation(kernel.family, sum) + kernel.offset;
    if a == b { shared_part + kernel.row_term } else { shared_part }
}

/// Returns the correlation at a squared distance; for the linear family, the product itself.
fn correlation<R: Real>(family: u32, sum: R) -> R {
    let one = R::of(1.0);
    let exp_negative = |t: R| R::of(libm::exp(-t.wide()));
    match family {
        0 => exp_negative(R::of(0.5) * sum),
        1 => exp_negative(sum.sqrt()),
        2 => {
            let z = (R::of(3.0) * sum).sqrt();
            (one + z) * exp_negative(z)
        }
        3 => {
            let z = (R::of(5.0) * sum).sqrt();
            (one + z + R::of(1.0 / 3.0) * (z * z)) * exp_negative(z)
        }
        _ => sum,
    }
}
