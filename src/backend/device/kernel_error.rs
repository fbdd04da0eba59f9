//! How far a kernel that a device evaluates may be off.

use super::Precision;
use crate::score::{KernelFamily, KernelForm};

/// A bound on the error of `k(z_a, z_b)` evaluated from rounded coordinates in this type.
///
/// With `u` the roundoff and `c` the largest coordinate, the difference of two rounded coordinates errs by `2 u c` and a
/// rounding of its own, so `r` by `2 u c sqrt(d) + (d + 19) u r` (squares, their sum, a square root good to 16 u). No family
/// has `|rho'| > 1` or `r |rho'| > 0.75`. exp and the polynomial before it add 20 u. Devices may shift the coordinates: 2 c.
#[must_use]
pub fn kernel_error(form: &KernelForm, precision: Precision) -> f64 {
    let unit = precision.unit();
    let d = form.dimension as f64;
    let largest = form.points.iter().fold(0.0f64, |most, z| most.max(z.abs()));
    let relative = match form.family {
        // A product of two rounded coordinates and a sum of d: (d + 4) roundings of sum |z_a z_b| <= d c².
        KernelFamily::Linear => (d + 4.0) * d * largest * largest,
        _ => 4.0 * largest * d.sqrt() + d + 40.0,
    };
    unit * (form.scale.abs() * relative + 2.0 * form.offset.abs())
}
