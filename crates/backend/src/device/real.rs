//! Defines the two floating-point types in which passes compute.

use super::Precision;
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

/// A number of a pass, named `Real` in WGSL.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + 'static
{
    /// The type, as named in the contract.
    const PRECISION: Precision;
    /// Largest finite number.
    const LARGEST: Self;
    /// `ln 2` in two parts; the first has low bits zero, so that its small multiples are exact.
    const LN2: [Self; 2];
    /// Argument beyond which `exp(-t)` is taken as 0.
    const EXP_CUTOFF: Self;

    /// Rounds a number to the type.
    fn of(value: f64) -> Self;

    /// Converts to f64, exactly.
    fn wide(self) -> f64;

    /// Returns the square root.
    fn sqrt(self) -> Self;

    /// Returns the largest integer that is at most `self`.
    fn floor(self) -> Self;

    /// Returns the larger number, or the second if the first is NaN.
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// Returns the magnitude.
    fn magnitude(self) -> Self {
        if self < Self::default() { -self } else { self }
    }

    /// Returns whether the number is finite, by comparison of ranges as in the shaders.
    fn is_in_range(self) -> bool {
        -Self::LARGEST <= self && self <= Self::LARGEST
    }
}

impl Real for f32 {
    const PRECISION: Precision = Precision::F32;
    const LARGEST: Self = Self::MAX;
    const LN2: [Self; 2] = [0.693_359_4, -2.121_944_4e-4];
    const EXP_CUTOFF: Self = 87.0;

    fn of(value: f64) -> Self {
        value as Self
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn floor(self) -> Self {
        self.floor()
    }
}

impl Real for f64 {
    const PRECISION: Precision = Precision::F64;
    const LARGEST: Self = Self::MAX;
    const LN2: [Self; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
    const EXP_CUTOFF: Self = 700.0;

    fn of(value: f64) -> Self {
        value
    }

    fn wide(self) -> f64 {
        self
    }

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn floor(self) -> Self {
        self.floor()
    }
}
