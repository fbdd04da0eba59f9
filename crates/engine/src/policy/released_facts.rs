//! States what a policy may know about released rewards.

use privateer_privacy::{RewardFacts, RewardMechanism};

/// Holds the public constants of the released rewards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReleasedFacts {
    /// Range of released rewards, if there is one.
    pub output_range: Option<(f64, f64)>,
    /// Worst-case variance of the mechanism's own noise; 0 without one.
    pub mechanism_variance: f64,
    /// Proved sub-Gaussian scale of the mechanism's own noise; 0 without a mechanism, `None` where none is proved.
    pub mechanism_scale: Option<f64>,
    /// Scale of Laplace noise, where the mechanism is Laplace.
    pub laplace_scale: Option<f64>,
    /// Range to which the mechanism clips rewards.
    pub clip: Option<(f64, f64)>,
    /// Bound on the magnitude of a reward before the mechanism's noise, if there is one.
    pub clipped_bound: Option<f64>,
}

impl ReleasedFacts {
    pub(super) fn nothing(facts: &RewardFacts) -> Self {
        Self::unchanged(facts.range.map(|(lo, hi)| lo.abs().max(hi.abs())))
    }

    /// Returns the constants of rewards without a mechanism, with this bound on their magnitude.
    pub const fn unchanged(clipped_bound: Option<f64>) -> Self {
        Self {
            output_range: None,
            mechanism_variance: 0.0,
            mechanism_scale: Some(0.0),
            laplace_scale: None,
            clip: None,
            clipped_bound,
        }
    }

    /// Returns the bound on the magnitude of a released reward, if there is one.
    pub fn output_bound(&self) -> Option<f64> {
        self.output_range.map(|(lo, hi)| lo.abs().max(hi.abs()))
    }

    pub fn of(mechanism: &dyn RewardMechanism, facts: &RewardFacts) -> Self {
        let clip = mechanism.clip();
        Self {
            output_range: mechanism.output_range(),
            mechanism_variance: mechanism.noise_variance(),
            mechanism_scale: mechanism.sub_gaussian_scale(),
            laplace_scale: mechanism.laplace_scale(),
            clip,
            clipped_bound: clip
                .or(facts.range)
                .map(|(lo, hi)| lo.abs().max(hi.abs()))
                .or(facts.noise_bound.map(|noise| facts.bound + noise)),
        }
    }
}
