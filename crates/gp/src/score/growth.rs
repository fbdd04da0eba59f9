//! States how an exploration factor grows with the information gain.

/// An exploration factor as a function of the information gain.
///
/// It is that at no gain plus `slope (sqrt(gain + offset) - sqrt(offset))`, up to roundings.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FactorGrowth {
    /// Factor of the root, at least 0.
    pub slope: f64,
    /// What is added to the gain under the root, at least 0.
    pub offset: f64,
}

impl FactorGrowth {
    /// Largest gain for which the form holds: more than that of 128 points, each played 4096 times, at a ridge of 1e-10 of the
    /// prior variance.
    pub const MOST_GAIN: f64 = 4096.0;

    /// Returns the form with these factors at no gain and at [`FactorGrowth::MOST_GAIN`].
    ///
    /// Relative error of factors in between: `docs/derivations/device-loop.md`.
    pub fn between(least: f64, most: f64, offset: f64) -> Self {
        Self { slope: (most - least) / ((Self::MOST_GAIN + offset).sqrt() - offset.sqrt()), offset }
    }
}
