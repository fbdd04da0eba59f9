//! Defines the two floating-point types in which passes compute.

use super::Precision;
use super::pack::{Packed, Parcel};
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
    /// Covers the rounding of a sum of a few numbers.
    const GROWTH: Self;

    /// Rounds a number to the type.
    fn of(value: f64) -> Self;

    /// Converts to f64, exactly.
    fn wide(self) -> f64;

    /// Returns the works of a parcel of this type; `None` for the other.
    fn packed(parcel: &mut Parcel) -> Option<&mut Packed<Self>>;

    /// Returns the square root.
    fn sqrt(self) -> Self;

    /// Returns whether the number is finite, by comparison of ranges as in the shaders.
    fn is_in_range(self) -> bool {
        -Self::LARGEST <= self && self <= Self::LARGEST
    }

    /// Returns the larger number, or the second if the first is NaN.
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// Returns the absolute value.
    fn magnitude(self) -> Self {
        if self < Self::default() { -self } else { self }
    }
}

impl Real for f32 {
    const PRECISION: Precision = Precision::F32;
    const LARGEST: Self = Self::MAX;
    const GROWTH: Self = 1.000_001;

    fn of(value: f64) -> Self {
        value as Self
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn packed(parcel: &mut Parcel) -> Option<&mut Packed<Self>> {
        if let Parcel::F32(packed) = parcel { Some(packed) } else { None }
    }
}

impl Real for f64 {
    const PRECISION: Precision = Precision::F64;
    const LARGEST: Self = Self::MAX;
    const GROWTH: Self = 1.000_000_000_000_002;

    fn of(value: f64) -> Self {
        value
    }

    fn wide(self) -> f64 {
        self
    }

    fn sqrt(self) -> Self {
        self.sqrt()
    }

    fn packed(parcel: &mut Parcel) -> Option<&mut Packed<Self>> {
        if let Parcel::F64(packed) = parcel { Some(packed) } else { None }
    }
}
