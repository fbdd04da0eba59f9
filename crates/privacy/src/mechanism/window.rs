//! The clip range of a mechanism, and the map between it and [-1, 1]. Also the limits that a calibration must keep.

use crate::planted::{self, PlantedFault};
use crate::{Epsilon, Refusal, Request};

/// A finite range of rewards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    lo: f64,
    hi: f64,
    centre: f64,
    half: f64,
}

impl Window {
    /// The range that a request implies: its `clip`, else the reward's hard range, else [-(B + R), B + R].
    ///
    /// # Errors
    /// A refusal on `clip` where none of the three is there (no silent default for unbounded noise: E3), or where the
    /// range is empty or not finite.
    pub(crate) fn of(request: &Request) -> Result<Self, Refusal> {
        let facts = &request.facts;
        if let Some((lo, hi)) = request.clip.or(facts.range) {
            return Self::between(lo, hi);
        }
        let Some(noise_bound) = facts.noise_bound else {
            return Err(Self::unstated(request, "needs a bound on the reward, and the noise of this problem is unbounded"));
        };
        let reach = facts.bound + noise_bound;
        Self::between(-reach, reach)
    }

    /// The refusal of a request whose range cannot be known; `why` continues "mechanism `name` …".
    pub(crate) fn unstated(request: &Request, why: &str) -> Refusal {
        Refusal::new("clip", format!("mechanism `{}` {why}", request.mechanism), "`clip = [lo, hi]`").hint(
            "state `clip = [lo, hi]`: rewards outside are clipped, which costs bias and never privacy \
             (a bound that holds with high probability is no privacy guarantee, E3)",
        )
    }

    fn between(lo: f64, hi: f64) -> Result<Self, Refusal> {
        let width = hi - lo;
        if !(lo < hi && width.is_finite()) {
            let message = format!("the range of rewards is [{lo}, {hi}]");
            return Err(Refusal::new("clip", message, "two finite numbers `[lo, hi]` with lo < hi"));
        }
        Ok(Self { lo, hi, centre: 0.5 * lo + 0.5 * hi, half: 0.5 * width })
    }

    /// `(lo, hi)`.
    pub(crate) fn range(self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    /// Largest distance between two clipped rewards: the sensitivity (E2).
    pub(super) fn width(self) -> f64 {
        self.hi - self.lo
    }

    /// Half of the width.
    pub(super) fn half(self) -> f64 {
        self.half
    }

    /// The nearest reward in the range; the centre for NaN.
    pub(super) fn clip(self, reward: f64) -> f64 {
        if reward.is_nan() && !planted::is(PlantedFault::RewardNan) { self.centre } else { reward.clamp(self.lo, self.hi) }
    }

    /// The clipped reward on [-1, 1].
    pub(super) fn to_unit(self, reward: f64) -> f64 {
        if planted::is(PlantedFault::UnitClip) {
            return (reward - self.centre) / self.half;
        }
        ((self.clip(reward) - self.centre) / self.half).clamp(-1.0, 1.0)
    }

    /// Back from units in which the range is [-1, 1].
    pub(super) fn off_unit(self, value: f64) -> f64 {
        self.centre + self.half * value
    }

    /// Bound on |reward| for values in [-bound, bound] on the unit scale. Rounding is monotone, so it holds to the last bit.
    pub(super) fn reach(self, bound: f64) -> f64 {
        self.centre.abs() + self.half * bound
    }
}

/// Below this a randomised bit differs from a fair coin by less than draws of 53 bits resolve to nine digits.
const LEAST_EPSILON: f64 = 1e-6;
/// Above this `e^epsilon` nears the end of the doubles, and nothing of the noise is left.
const GREATEST_EPSILON: f64 = 700.0;

/// The checked epsilon of a mechanism whose probabilities are functions of `e^epsilon`.
///
/// # Errors
/// A refusal on `epsilon` where it is missing or outside of 1e-6 to 700.
pub(super) fn exponential_epsilon(request: &Request) -> Result<Epsilon, Refusal> {
    let epsilon = request.epsilon()?;
    if (LEAST_EPSILON..=GREATEST_EPSILON).contains(&epsilon.get()) {
        return Ok(epsilon);
    }
    let message = format!("`epsilon` is {:e}, beyond what mechanism `{}` can resolve", epsilon.get(), request.mechanism);
    let hint = if epsilon.get() < 1.0 {
        "a smaller epsilon is no information"
    } else {
        "for a run without noise state `mechanism = \"none\"`"
    };
    Err(Refusal::new("epsilon", message, "a number from 1e-6 to 700").hint(hint))
}

/// Checks that a calibrated variance is a number that doubles hold.
///
/// # Errors
/// A refusal on `epsilon` where it is not.
pub(super) fn representable(request: &Request, variance: f64) -> Result<(), Refusal> {
    if variance.is_normal() {
        return Ok(());
    }
    let (size, towards) = if variance < 1.0 { ("small", "a smaller") } else { ("large", "a larger") };
    let epsilon = request.epsilon.unwrap_or(f64::NAN);
    let message =
        format!("with `epsilon` = {epsilon:e} the noise of mechanism `{}` is too {size} for double precision", request.mechanism);
    Err(Refusal::new("epsilon", message, format!("{towards} epsilon, or rewards in other units")))
}
