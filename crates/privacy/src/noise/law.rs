//! States the integers that releases hand to their exact samplers, so that a check needs no draws.

/// States what an exact sampler is given; it is public, and alone decides the loss of a release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SamplerLaw {
    /// Discrete Laplace noise.
    Laplace {
        /// Scale in steps.
        scale: u64,
        /// Step of the grid, in units of the value.
        step: f64,
    },
    /// Discrete Gaussian noise in each entry.
    Gaussian {
        /// Standard deviation in steps.
        sigma: u64,
        /// Step of the grid, in units of the value.
        step: f64,
    },
    /// One of several sums, in steps, whose weight grows with it.
    Choice {
        /// Steps by which a sum is larger that is e times as likely.
        scale: u64,
        /// Step of the grid, in units of the value.
        step: f64,
    },
    /// One of two values: weights of the upper value at the upper and at the lower end of the range.
    Bit {
        /// Weight at the upper end.
        upper: u64,
        /// Weight at the lower end.
        lower: u64,
        /// Sum of the weights of both values.
        total: u64,
    },
    /// One of many values, whose weights have two levels.
    Levels {
        /// The higher weight.
        high: u64,
        /// The lower weight.
        low: u64,
    },
}
