//! Implements `common.wgsl`: the kernels' formulas and the polynomials that they use.

use super::arithmetic::Arithmetic;
use crate::device::Precision;
use crate::device::tables::{INVERSE_FACTORIALS, KernelNumbers};

/// Returns `exp(-t)` for `t >= 0`, and 0 beyond [`Arithmetic::EXP_CUTOFF`].
///
/// It uses `t = k ln 2 + r`, a Taylor polynomial in `r`, and a product of powers of two.
pub fn exp_negative<R: Arithmetic>(t: R) -> R {
    if R::EXP_CUTOFF < t {
        return R::default();
    }
    let k = (t * R::of(std::f64::consts::LOG2_E) + R::of(0.5)).floor();
    let y = k * R::LN2[1] - (t - k * R::LN2[0]);
    let mut sum = R::default();
    // Terms from n = 8 on are used in f64 only.
    let first = if R::PRECISION == Precision::F64 { 0 } else { 6 };
    for &term in &INVERSE_FACTORIALS[first..] {
        sum = sum * y + R::of(term);
    }
    let bits = k.wide() as u32;
    let mut power = R::of(1.0);
    let mut factor = 0.5;
    for bit in 0..10 {
        if bits & (1 << bit) != 0 {
            power = power * R::of(factor);
        }
        factor *= factor;
    }
    sum * power
}

/// `sin` and `cos` of a reduced angle, `|r| <= pi/4`, and the quadrant of the full angle.
pub struct ReducedAngle {
    pub sin: f64,
    pub cos: f64,
    /// Number of quarter turns, modulo 4.
    pub quadrant: u32,
}

/// `pi/2` in three parts, the first two of 33 bits, and `2/pi`.
const QUARTER: [f64; 3] = [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_795_950_6e-21];
const PER_QUARTER: f64 = std::f64::consts::FRAC_2_PI;

/// Polynomials of the fdlibm library for a reduced angle, lowest power last.
const SIN_TERMS: [f64; 6] = [
    1.589_690_995_211_55e-10,
    -2.505_076_025_340_686_3e-8,
    2.755_731_370_707_006_8e-6,
    -1.984_126_982_985_795e-4,
    8.333_333_333_322_49e-3,
    -1.666_666_666_666_663_2e-1,
];
const COS_TERMS: [f64; 6] = [
    -1.135_964_755_778_819_5e-11,
    2.087_572_321_298_175e-9,
    -2.755_731_435_139_066_3e-7,
    2.480_158_728_947_673e-5,
    -1.388_888_888_887_411e-3,
    4.166_666_666_666_66e-2,
];

/// Reduces an angle [Cody & Waite 1980], up to [`crate::device::tables::LARGEST_ANGLE`].
pub fn turned(t: f64) -> ReducedAngle {
    let n = (t * PER_QUARTER + 0.5).floor();
    let r = ((t - n * QUARTER[0]) - n * QUARTER[1]) - n * QUARTER[2];
    let z = r * r;
    let polynomial = |terms: &[f64; 6]| terms.iter().fold(0.0, |sum, &term| sum * z + term);
    let sin = r + r * z * polynomial(&SIN_TERMS);
    let cos = 1.0 - (0.5 * z - z * z * polynomial(&COS_TERMS));
    ReducedAngle { sin, cos, quadrant: (n as i32 & 3) as u32 }
}

impl ReducedAngle {
    /// Returns `cos t` and `sin t`.
    pub fn cos_sin(&self) -> (f64, f64) {
        match self.quadrant {
            0 => (self.cos, self.sin),
            1 => (-self.sin, self.cos),
            2 => (-self.cos, -self.sin),
            _ => (self.sin, -self.cos),
        }
    }
}

/// Returns `k(z_a, z_b)`.
/// * `coords` — `dimension x stride`
pub fn kernel<R: Arithmetic>(kernel: KernelNumbers<R>, coords: &[R], stride: usize, a: usize, b: usize) -> R {
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
fn correlation<R: Arithmetic>(family: u32, sum: R) -> R {
    let one = R::of(1.0);
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
