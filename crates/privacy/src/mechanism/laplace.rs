//! Adds Laplace noise to one reward [Zhou2021, Curator 1; Dwork2006].
//!
//! The as-printed calibration uses the paper's scale, and clips only where the paper bounds rewards. The other calibrations
//! always clip, and scale by the length of the clip range. Proof: `docs/proofs/laplace.md`.

use super::window::{Window, representable};
use super::{MechanismEntry, RewardMechanism};
use crate::calibration::NoiseTerms;
use crate::noise::{Grid, Noise, ReleaseError, SamplerLaw};
use crate::planted::{self, PlantedFault};
use crate::printed::zhou2021;
use crate::{Claim, ClaimUnit, Event, Ledger, Privatizer, Query, Raw, Refusal, Released, Request, RewardFacts, Scale, Signal};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Registry entry.
pub const ENTRY: MechanismEntry = MechanismEntry {
    name: "laplace",
    summary: "Laplace noise on the (clipped) reward: pure epsilon, unbounded output",
    paper: "Zhou2021",
    build,
};

#[derive(Debug, Clone)]
struct Laplace {
    request: Request,
    /// Stated range of the rewards.
    window: Window,
    /// Whether rewards are clipped to the range.
    clipped: bool,
    scale: f64,
    formula: Arc<str>,
}

/// Calibrates the mechanism.
///
/// # Errors
/// A refusal on `epsilon` (missing, or a scale beyond f64) or `clip` (empty, or missing with unbounded noise).
pub fn build(request: &Request, facts: &RewardFacts) -> Result<Arc<dyn RewardMechanism>, Refusal> {
    let (epsilon, answer) = (request.epsilon()?, request.answer_epsilon()?);
    let bounded = facts.noise_bound.is_some() || facts.range.is_some();
    let clipped = bounded || request.calibration.corrects();
    if !clipped && request.clip.is_none() {
        return Err(Window::unstated(
            request,
            "scales its noise by a bound on the reward, and the noise of this problem is unbounded",
        ));
    }
    let window = Window::of(request, facts)?;
    // Where the paper states no R, half of the stated range stands for B + R.
    let (bound, noise_bound) = facts.noise_bound.map_or((window.half(), 0.0), |noise_bound| (facts.bound, noise_bound));
    let printed = zhou2021::LAPLACE_SCALE.scale(&[("B", bound), ("R", noise_bound), ("epsilon", epsilon.get())]);
    // On clipped rewards half of their range is the B + R that holds (E2, `docs/privacy.md`).
    let least_formula = "scale = (hi - lo) / epsilon on rewards clipped to [lo, hi] (E2)";
    let corrected = Scale { size: window.width() / answer.get(), formula: least_formula.to_owned() };
    let event = |scale| event(scale, window, true);
    let Scale { size: scale, formula } = request.calibration.scale(NoiseTerms {
        releases: request.budget.participation.releases(),
        printed: Some((printed, corrected)),
        ..NoiseTerms::priced(epsilon, None, &event, least_formula)
    })?;
    representable(request, 2.0 * scale * scale)?;
    let formula = if clipped { formula } else { format!("{formula}, half of the stated range for B + R, nothing is clipped") };
    Ok(Arc::new(Laplace { request: request.at(None), window, clipped, scale, formula: formula.into() }))
}

/// Returns what is done to a reward; without a clip, one user's contribution is unbounded.
fn event(scale: f64, window: Window, clipped: bool) -> Event {
    Event::Laplace { scale, sensitivity: clipped.then(|| window.width()) }
}

impl Laplace {
    fn drawn(&self) -> f64 {
        self.scale * planted::noise_share(PlantedFault::LaplaceNoise)
    }

    fn grid(&self) -> Result<Grid, ReleaseError> {
        Grid::laplace(self.window.range(), self.drawn())
    }
}

impl Privatizer for Laplace {
    fn release(&mut self, _query: &Query<'_>, reward: Raw<f64>, mut noise: Noise<'_>) -> Released<Signal> {
        let reward = reward.open();
        let clipped = (self.clipped && !planted::is(PlantedFault::LaplaceClip)) || !reward.is_finite();
        let kept = if clipped { self.window.clip(reward) } else { reward };
        Released::mark(Signal::Reward(match &mut noise {
            Noise::Exact(entropy) => self.grid().map_or(f64::NAN, |grid| grid.add_laplace(kept, entropy)),
            noise => kept + noise.number(|stream| stream.laplace(self.drawn())),
        }))
    }
}

impl crate::privatizer::sealed::Sealed for Laplace {}

impl RewardMechanism for Laplace {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        Box::new(self.clone())
    }

    fn noise_variance(&self) -> f64 {
        2.0 * self.scale * self.scale
    }

    fn clip(&self) -> Option<(f64, f64)> {
        self.clipped.then(|| self.window.range())
    }

    fn laplace_scale(&self) -> Option<f64> {
        Some(self.scale)
    }

    fn added(&self, stream: &mut Stream, out: &mut [f64]) -> bool {
        stream.laplaces(self.drawn(), out);
        true
    }

    fn ledger(&self) -> Ledger {
        let doubt = if self.clipped {
            ("the clip range is wider than the 2 (B + R) that sets the noise", "E2")
        } else {
            ("rewards are not bounded and not clipped", "E3")
        };
        let (unit, event) = (ClaimUnit::Reward { clip: self.clip() }, event(self.scale, self.window, self.clipped));
        Ledger::of(Claim { doubt: Some(doubt), ..Claim::of(&self.request, unit, event, &*self.formula) })
    }

    fn exact(&self) -> Result<Vec<SamplerLaw>, ReleaseError> {
        Ok(vec![self.grid()?.laplace_law()])
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::{facts, request};
    use super::*;
    use crate::{Calibration, Guarantee};

    /// Builds the mechanism for noise without a bound.
    fn unbounded(calibration: Calibration, clip: Option<(f64, f64)>) -> Result<Arc<dyn RewardMechanism>, Refusal> {
        let request = Request { clip, ..request("laplace", calibration, 1.0) };
        build(&request, &RewardFacts { noise_bound: None, ..facts() })
    }

    #[test]
    fn printed_follows_the_letter() {
        let mechanism = build(&request("laplace", Calibration::AsPrinted, 0.5), &facts()).expect("a mechanism");
        // B = R = 1: 2 (1 + 1) / 0.5.
        assert_eq!(mechanism.laplace_scale(), Some(8.0));
        let of =
            |calibration| build(&request("laplace", calibration, 0.5), &facts()).expect("a mechanism").ledger().noise_formula;
        let [printed, corrected, tight] = Calibration::ALL.map(of);
        assert!(printed.starts_with("scale = 2 (B + R)/epsilon [Zhou2021"), "{printed}");
        assert!(corrected == tight && tight.contains("hi - lo"), "{corrected} {tight}");
        assert_eq!(mechanism.clip(), Some((-2.0, 2.0)));
        // A hard range [0, 1] needs scale 1 and gets 4: private, with four times the needed noise (E2).
        let bernoulli = RewardFacts { range: Some((0.0, 1.0)), ..facts() };
        let ledger = build(&request("laplace", Calibration::AsPrinted, 1.0), &bernoulli).expect("a mechanism").ledger();
        assert_eq!((ledger.guarantee, ledger.delivered_epsilon), (Guarantee::Holds, Some(0.25)));
        // The printed scale does not cover a clip range beyond B + R.
        let mut wide = request("laplace", Calibration::AsPrinted, 1.0);
        wide.clip = Some((-4.0, 4.0));
        let ledger = build(&wide, &facts()).expect("a mechanism").ledger();
        assert_eq!(ledger.delivered_epsilon, Some(2.0));
        assert_eq!(
            ledger.guarantee.to_string(),
            "no guarantee: the clip range is wider than the 2 (B + R) that sets the noise (E2)"
        );
    }

    #[test]
    fn printed_on_unbounded_noise_has_no_guarantee() {
        let mechanism = unbounded(Calibration::AsPrinted, Some((-3.0, 3.0))).expect("a mechanism");
        assert_eq!((mechanism.laplace_scale(), mechanism.clip()), (Some(6.0), None));
        let ledger = mechanism.ledger();
        assert_eq!(ledger.guarantee.to_string(), "no guarantee: rewards are not bounded and not clipped (E3)");
        assert_eq!((ledger.delivered_epsilon, ledger.delivered.as_str()), (None, "epsilon = infinity"));
        let corrected = unbounded(Calibration::Corrected, Some((-3.0, 3.0))).expect("a mechanism");
        assert_eq!((corrected.clip(), corrected.ledger().guarantee), (Some((-3.0, 3.0)), Guarantee::Holds));
    }

    #[test]
    fn an_unstated_range_is_refused() {
        for calibration in Calibration::ALL {
            let refusal = unbounded(calibration, None).map(|_| ()).expect_err("no range");
            assert_eq!(refusal.key, "clip");
            assert!(refusal.hint.is_some_and(|hint| hint.contains("clip = [lo, hi]")));
        }
    }
}
