//! Holds what the mechanisms with a bounded output share: clipping and scaling.
//!
//! The reward is clipped to its range and scaled to [-1, 1], a randomiser answers there, and the answer is scaled back. The
//! randomisers' proofs suffice: clipping and scaling act before and after the randomiser, so neither changes its guarantee.

use super::RewardMechanism;
use super::window::{Window, representable, resolvable};
use crate::noise::{Entropy, Noise, ReleaseError, SamplerLaw};
use crate::{Claim, ClaimUnit, Epsilon, Event, Ledger, Privatizer, Query, Raw, Refusal, Released, Request, RewardFacts, Signal};
use privateer_numerics::rng::Stream;
use std::fmt;
use std::sync::Arc;

/// Largest epsilon of integer weights.
const GREATEST_EXACT: f64 = 20.0;

/// Randomises inputs on [-1, 1] without bias.
pub(crate) trait UnitRandomiser: Copy + fmt::Debug + Send + Sync + 'static {
    /// The law of the answer, in words.
    const FORMULA: &'static str;

    /// Makes the randomiser of this loss.
    fn new(epsilon: Epsilon) -> Self;

    /// Returns the answer to an input; consumes a fixed number of random-stream words.
    fn draw(&self, input: f64, stream: &mut Stream) -> f64;

    /// Returns the answer to an input, by integer weights.
    fn draw_exact(&self, input: f64, entropy: &mut Entropy) -> f64;

    /// Returns these weights.
    fn laws(&self) -> Vec<SamplerLaw>;

    /// Returns the largest answer.
    fn bound(&self) -> f64;

    /// Returns the variance of the answer at the worst input.
    fn variance(&self) -> f64;

    /// Returns a proved variance proxy s² of the answer.
    /// `E exp(x (answer - input)) <= exp(x² s²/2)` for every x and every input.
    fn proxy(&self) -> f64;

    /// Returns the event for the accountant.
    fn event(&self) -> Event;
}

#[derive(Debug, Clone, Copy)]
struct OnWindow<R> {
    request: Request,
    /// Pure loss of one answer.
    epsilon: Epsilon,
    window: Window,
    randomiser: R,
}

/// Calibrates the mechanism, equally under all calibrations: the papers print Laplace noise only.
pub(super) fn build<R: UnitRandomiser>(request: &Request, facts: &RewardFacts) -> Result<Arc<dyn RewardMechanism>, Refusal> {
    let epsilon = resolvable(request, request.answer_epsilon()?)?;
    let window = Window::of(request, facts)?;
    let built = OnWindow { request: request.at(None), epsilon, window, randomiser: R::new(epsilon) };
    representable(request, built.noise_variance())?;
    Ok(Arc::new(built))
}

impl<R: UnitRandomiser> Privatizer for OnWindow<R> {
    fn release(&mut self, _query: &Query<'_>, reward: Raw<f64>, mut noise: Noise<'_>) -> Released<Signal> {
        let input = self.window.to_unit(reward.open());
        let value = match &mut noise {
            Noise::Exact(entropy) => self.randomiser.draw_exact(input, entropy),
            noise => noise.number(|stream| self.randomiser.draw(input, stream)),
        };
        Released::mark(Signal::Reward(self.window.off_unit(value)))
    }
}

impl<R: UnitRandomiser> crate::privatizer::sealed::Sealed for OnWindow<R> {}

impl<R: UnitRandomiser> RewardMechanism for OnWindow<R> {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        Box::new(*self)
    }

    fn output_range(&self) -> Option<(f64, f64)> {
        let bound = self.randomiser.bound();
        Some((self.window.off_unit(-bound), self.window.off_unit(bound)))
    }

    fn noise_variance(&self) -> f64 {
        self.window.half() * self.window.half() * self.randomiser.variance()
    }

    fn sub_gaussian_scale(&self) -> Option<f64> {
        Some(self.window.half() * libm::sqrt(self.randomiser.proxy()))
    }

    fn clip(&self) -> Option<(f64, f64)> {
        Some(self.window.range())
    }

    fn ledger(&self) -> Ledger {
        let unit = ClaimUnit::Reward { clip: self.clip() };
        Ledger::of(Claim::of(&self.request, unit, self.randomiser.event(), R::FORMULA))
    }

    fn exact(&self) -> Result<Vec<SamplerLaw>, ReleaseError> {
        let (epsilon, (lo, hi)) = (self.epsilon.get(), self.window.range());
        if GREATEST_EXACT < epsilon {
            return Err(ReleaseError::Range(format!("epsilon {epsilon} (1e-6 to {GREATEST_EXACT})")));
        }
        if !self.window.half().is_normal() {
            return Err(ReleaseError::Range(format!("the clip range [{lo}, {hi}]")));
        }
        Ok(self.randomiser.laws())
    }
}
