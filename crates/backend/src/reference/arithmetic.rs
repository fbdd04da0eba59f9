//! Adds to the two floating-point types what the shaders compute with and the host does not.

use crate::device::real::Real;

/// A number on which a pass can be computed here.
pub trait Arithmetic: Real {
    /// `ln 2` in two parts; the first has low bits zero, so that its small multiples are exact.
    const LN2: [Self; 2];
    /// Argument beyond which `exp(-t)` is taken as 0.
    const EXP_CUTOFF: Self;
    /// Covers the rounding of a sum of a few numbers.
    const GROWTH: Self;

    /// Returns the square root.
    fn sqrt(self) -> Self;

    /// Returns the largest integer that is at most `self`.
    fn floor(self) -> Self;

    /// Returns whether the number is finite, by comparison of ranges as in the shaders.
    fn is_in_range(self) -> bool {
        -Self::LARGEST <= self && self <= Self::LARGEST
    }
}

impl Arithmetic for f32 {
    const LN2: [Self; 2] = [0.693_359_4, -2.121_944_4e-4];
    const EXP_CUTOFF: Self = 87.0;
    const GROWTH: Self = 1.000_001;

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn floor(self) -> Self {
        self.floor()
    }
}

impl Arithmetic for f64 {
    const LN2: [Self; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
    const EXP_CUTOFF: Self = 700.0;
    const GROWTH: Self = 1.000_000_000_000_002;

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn floor(self) -> Self {
        self.floor()
    }
}
