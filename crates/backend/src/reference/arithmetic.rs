//! Adds to the two floating-point types what the shaders compute with and the host does not.

use crate::device::real::Real;

/// A number on which a pass can be computed here.
pub trait Arithmetic: Real {
    /// Covers the rounding of a sum of a few numbers.
    const GROWTH: Self;

    /// Returns the square root.
    fn sqrt(self) -> Self;

    /// Returns whether the number is finite, by comparison of ranges as in the shaders.
    fn is_in_range(self) -> bool {
        -Self::LARGEST <= self && self <= Self::LARGEST
    }
}

impl Arithmetic for f32 {
    const GROWTH: Self = 1.000_001;

    fn sqrt(self) -> Self {
        self.sqrt()
    }
}

impl Arithmetic for f64 {
    const GROWTH: Self = 1.000_000_000_000_002;

    fn sqrt(self) -> Self {
        self.sqrt()
    }
}
