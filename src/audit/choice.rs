//! Attacks noisy choices between two options.
//!
//! One option is behind by a few noise scales, and the scores move apart by the whole range. The event is that the option
//! behind wins.

use super::{Case, Claim};
use privateer_privacy::Epsilon;
use privateer_privacy::Raw;
use privateer_privacy::release::ChoiceRelease;

/// The claim for one choice.
pub const CLAIM: Claim = Claim { epsilon: 3.5, delta: 0.0 };
/// Mean distance, in noise scales, by which the option is behind.
///
/// The rarer its win, the nearer the ratio is to e^epsilon, and the fewer wins are observed.
pub const GAP: f64 = 3.6;

/// Returns the attack on the exponential mechanism for real data.
#[must_use]
pub fn cases() -> Vec<Case> {
    let attack = |side: super::Side, _: &mut privateer_numerics::rng::Stream| {
        let Ok(epsilon) = Epsilon::try_from(CLAIM.epsilon) else { return f64::NAN };
        let Ok(mechanism) = ChoiceRelease::calibrated(epsilon, 1.0, 2, "any two") else { return f64::NAN };
        // The range is 1: the scores' difference is -gap/epsilon ± 1/2.
        let behind = super::rewards::half(side, 1.0) - GAP / CLAIM.epsilon;
        mechanism.release(Raw::seal(vec![behind, 0.0])).map_or(f64::NAN, |release| if *release.value() == 0 { 1.0 } else { 0.0 })
    };
    let pair = format!("scores (g + 1/2, 0) against (g - 1/2, 0), g = -{GAP} scales: the range moves by 1");
    vec![Case::new("exponential", CLAIM, pair, "the first option wins", attack).source("docs/proofs/discrete.md").effort(4)]
}
