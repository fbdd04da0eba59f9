//! Makes one user's item before any noise is added.
//! The reward is clipped and centred, the features are moved into the unit ball.

use crate::planted::{self, PlantedFault};
use crate::{Raw, ReleaseCounts, Released, Signal};

/// Says how items are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Clipping {
    /// Range of rewards; `None` lets any finite number pass.
    pub(crate) range: Option<(f64, f64)>,
    /// Public centre, subtracted after clipping.
    pub(crate) centre: f64,
}

/// Largest length that counts as a rounding of 1.
const ROUNDED: f64 = 1.0 + 1e-9;

impl Clipping {
    /// Writes the packed upper triangle of `phi phi^T`, then `y phi`.
    /// Every entry is finite: a NaN reward counts as the centre, an infinite one as the nearest end of the range (as the centre
    /// without a range), and features that are not finite count as zeros. Rewards outside the range and features longer than 1
    /// are counted.
    pub(crate) fn item(&self, features: &[f64], reward: Raw<f64>, counts: &mut ReleaseCounts, out: &mut [f64]) {
        let reward = reward.open();
        counts.rewards += 1;
        let kept = match self.range {
            _ if reward.is_nan() => self.centre,
            Some((lo, hi)) if !planted::is(PlantedFault::SumsRewardClip) => reward.clamp(lo, hi),
            _ if reward.is_finite() => reward,
            _ => self.centre,
        };
        counts.clipped += u64::from(kept != reward);
        let y = kept - self.centre;
        let m = features.len();
        let finite = planted::is(PlantedFault::SumsFinite) || features.iter().all(|x| x.is_finite());
        if out.len() != m * (m + 1) / 2 + m || !finite {
            counts.shortened += 1;
            out.fill(0.0);
            return;
        }
        let length = libm::sqrt(features.iter().map(|x| x * x).sum::<f64>());
        let whole = length <= ROUNDED || planted::is(PlantedFault::SumsFeatureClip);
        let scale = if whole { 1.0 } else { 1.0 / length };
        counts.shortened += u64::from(scale < 1.0);
        let (gram, moment) = out.split_at_mut(m * (m + 1) / 2);
        let mut rest = gram;
        for (i, &x) in features.iter().enumerate() {
            let (row, next) = rest.split_at_mut(m - i);
            row.iter_mut().zip(&features[i..]).for_each(|(entry, z)| *entry = scale * x * (scale * z));
            rest = next;
        }
        moment.iter_mut().zip(features).for_each(|(entry, x)| *entry = y * (scale * x));
    }
}

/// Marks the signal of a round as released.
pub(super) fn released(signal: Signal) -> Released<Signal> {
    Released::mark(signal)
}
