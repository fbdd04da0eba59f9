//! Defines the plain data of a round on a device.

use privateer_gp::score::Factor;

/// Largest number of candidates that a device names per slot; further ones are only counted.
pub const CAPACITY: usize = 64;

/// Floating-point type of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// 24 significant bits.
    F32,
    /// 53 significant bits: arithmetic and square roots only.
    F64,
}

impl Precision {
    /// Returns the unit roundoff.
    pub fn unit(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::EPSILON) / 2.0,
            Self::F64 => f64::EPSILON / 2.0,
        }
    }

    /// Returns the relative error allowed to a square root.
    ///
    /// WGSL derives a square root from 1 / inverseSqrt, with 2 + 2.5 units in the last place, each of two roundoffs;
    /// rounded up.
    pub fn sqrt_error(self) -> f64 {
        16.0 * self.unit()
    }

    /// Returns a bound on magnitudes sent to a device, so that products of two do not overflow.
    pub fn largest(self) -> f64 {
        match self {
            Self::F32 => 1e15,
            Self::F64 => 1e150,
        }
    }

    /// Returns the magnitude below which a result may be flushed to zero.
    pub fn tiny(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::MIN_POSITIVE),
            Self::F64 => f64::MIN_POSITIVE,
        }
    }
}

/// A slot's part of a round. All numbers are f64; the device rounds them to its type.
#[derive(Debug, Clone, Copy)]
pub struct SlotWork<'a> {
    /// Index in `0 .. n_slots`, ascending over the work of a round.
    pub slot: usize,
    /// Step 1 of the round: the reset.
    pub start: &'a Start<'a>,
    /// Step 2 of the round: the observation, if any.
    pub visit: Option<Visit<'a>>,
    /// Points whose Gram columns are the basis; unused for features.
    pub basis: &'a [u32],
    /// Exploration factor: multiplies the posterior standard deviation.
    pub beta: f64,
    /// Error band.
    pub band: DeviceBand,
    /// Points to score, ascending; `None` for all points.
    pub subset: Option<&'a [u32]>,
}

/// Step 1 of a slot's round: the reset.
#[derive(Debug, Clone)]
pub enum Start<'a> {
    /// Continues from the end of the last round.
    Keep,
    /// Resets to mean 0 and the prior variance.
    Prior,
    /// Resets to these values, `n_points` each.
    Upload {
        /// Posterior mean.
        mean: Vec<f64>,
        /// Posterior variance.
        variance: Vec<f64>,
    },
    /// Resets to weights and a factor over the basis.
    Factor(Factor<'a>),
}

/// Step 2 of a slot's round: an observation.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'a> {
    /// The new row, as long as the basis; `None` if `p` is that of the previous round.
    pub row: Option<&'a [f64]>,
    /// Factor on `p`; the variance falls by `(scale p)²`.
    pub scale: f64,
    /// Change of the mean.
    pub mean: NewMean<'a>,
}

/// The mean after an observation.
#[derive(Debug, Clone, Copy)]
pub enum NewMean<'a> {
    /// The mean rises by this number times `p`.
    Step(f64),
    /// The mean has these weights over the basis, which have its length.
    Weights(&'a [f64]),
}

/// Errors of a slot: of the score (`c`), and what a round adds to the error of the variance.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceBand {
    /// Absolute error of the score without that of the variance.
    pub c: f64,
    /// Constant error of the variance of every point.
    pub c0: f64,
    /// Error of the variance, per unit of `|scale p|`.
    pub c1: f64,
    /// Error of the variance, per unit of the variance before the observation.
    pub c2: f64,
    /// Error of the variance, per unit of the posterior standard deviation before the observation.
    pub c3: f64,
}

/// A slot's answer to a round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Stamp of the submission that produced this answer.
    pub stamp: u32,
    /// Points whose `lower` was finite; any number other than that of points to score is an error.
    pub scored: u32,
    /// Points with `upper >= best_lower`, including those not named.
    pub count: u32,
    /// The first [`CAPACITY`] of these points, in any order.
    pub points: Vec<u32>,
    /// Largest `lower`.
    pub best_lower: f64,
    /// Largest `upper`.
    pub best_upper: f64,
    /// Largest variance of the scored points.
    pub largest_variance: f64,
    /// Largest magnitude of a mean of the scored points.
    pub largest_mean: f64,
}
