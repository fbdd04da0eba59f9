//! Holds the clip range of a mechanism, its map to [-1, 1], and the limits of every calibration.

use crate::planted::{self, PlantedFault};
use crate::{Epsilon, Refusal, Request, RewardFacts};

/// A finite range of rewards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    lo: f64,
    hi: f64,
    centre: f64,
    half: f64,
}

impl Window {
    /// Returns the range of a request.
    ///
    /// This is its `clip`, else the reward's hard range, else [-(B + R), B + R].
    pub(crate) fn of(request: &Request, facts: &RewardFacts) -> Result<Self, Refusal> {
        if let Some((lo, hi)) = request.clip.or(facts.range) {
            return Self::between(lo, hi);
        }
        let Some(noise_bound) = facts.noise_bound else {
            return Err(Self::unstated(request, "needs a bound on the reward, and the noise of this problem is unbounded"));
        };
        let reach = facts.bound + noise_bound;
        Self::between(-reach, reach)
    }

    /// Makes the refusal of a request whose range is unknown; `why` continues "mechanism `name` …".
    pub(crate) fn unstated(request: &Request, why: &str) -> Refusal {
        Refusal::new("clip", format!("mechanism `{}` {why}", request.mechanism), "`clip = [lo, hi]`").hint(
            "state `clip = [lo, hi]`: rewards outside are clipped, which costs bias and never privacy \
             (a bound that holds with high probability is no privacy guarantee, E3)",
        )
    }

    fn between(lo: f64, hi: f64) -> Result<Self, Refusal> {
        let width = hi - lo;
        if lo.is_finite() && hi.is_finite() && width == f64::INFINITY {
            let message = format!("the range of rewards [{lo:e}, {hi:e}] is wider than the largest f64");
            return Err(Refusal::new("clip", message, "two numbers `[lo, hi]` with `hi - lo` at most 1e150"));
        }
        if !(lo < hi && width.is_finite()) {
            let message = format!("the range of rewards is [{lo}, {hi}]");
            return Err(Refusal::new("clip", message, "two finite numbers `[lo, hi]` with lo < hi"));
        }
        Ok(Self { lo, hi, centre: 0.5 * lo + 0.5 * hi, half: 0.5 * width })
    }

    /// Returns `(lo, hi)`.
    pub(crate) fn range(self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    /// Returns the sensitivity, which is the largest distance between two clipped rewards (E2).
    pub(crate) fn width(self) -> f64 {
        self.hi - self.lo
    }

    /// Returns half the length of the range.
    pub(crate) fn half(self) -> f64 {
        self.half
    }

    /// Returns the nearest reward in the range; the centre for NaN.
    pub(crate) fn clip(self, reward: f64) -> f64 {
        if reward.is_nan() && !planted::is(PlantedFault::RewardNan) { self.centre } else { reward.clamp(self.lo, self.hi) }
    }

    /// Maps the clipped reward to [-1, 1].
    pub(crate) fn to_unit(self, reward: f64) -> f64 {
        if planted::is(PlantedFault::UnitClip) {
            return (reward - self.centre) / self.half;
        }
        ((self.clip(reward) - self.centre) / self.half).clamp(-1.0, 1.0)
    }

    /// Maps a value from units in which the range is [-1, 1] to units of the reward.
    pub(crate) fn off_unit(self, value: f64) -> f64 {
        self.centre + self.half * value
    }
}

/// Least epsilon of mechanisms whose probabilities are functions of `e^epsilon`.
/// Below it, 53-bit draws resolve a randomised bit's difference from a fair coin to fewer than nine digits.
const LEAST_EPSILON: f64 = 1e-6;
/// Greatest epsilon of those mechanisms.
/// Above it, `e^epsilon` nears the largest f64, and almost no noise remains.
const GREATEST_EPSILON: f64 = 700.0;

/// Returns this epsilon of the request, of one answer or of all; refuses one outside 1e-6 to 700.
pub(super) fn resolvable(request: &Request, epsilon: Epsilon) -> Result<Epsilon, Refusal> {
    if (LEAST_EPSILON..=GREATEST_EPSILON).contains(&epsilon.get()) {
        return Ok(epsilon);
    }
    let each = if request.budget.epsilon == Some(epsilon) { "" } else { " for each participation" };
    let message = format!("`epsilon` is {:e}{each}, beyond what mechanism `{}` can resolve", epsilon.get(), request.mechanism);
    let hint = if epsilon.get() < 1.0 {
        "a smaller epsilon is no information"
    } else {
        "for a run without noise state `mechanism = \"none\"`"
    };
    Err(Refusal::new("epsilon", message, "a number from 1e-6 to 700").hint(hint))
}

/// Checks that f64 holds a calibrated variance.
pub(super) fn representable(request: &Request, variance: f64) -> Result<(), Refusal> {
    if variance.is_normal() {
        return Ok(());
    }
    let (size, towards) = if variance < 1.0 { ("small", "a smaller") } else { ("large", "a larger") };
    let epsilon = request.budget.epsilon.map_or(f64::NAN, Epsilon::get);
    let message =
        format!("with `epsilon` = {epsilon:e} the noise of mechanism `{}` is too {size} for double precision", request.mechanism);
    Err(Refusal::new("epsilon", message, format!("{towards} epsilon, or rewards in other units")))
}
