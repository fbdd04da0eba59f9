//! Lets a program add reward mechanisms of its own.
//!
//! The engine clips the reward, calls the mechanism with a stream of its own, and seals what it returns. What such a mechanism
//! promises is never stated as a guarantee, but as claimed by its author ([`Guarantee::Unverified`]).

use super::RewardMechanism;
use super::window::Window;
use crate::noise::{Noise, ReleaseError, SamplerLaw};
use crate::{
    Calibrated, Claim, ClaimUnit, Event, Guarantee, Ledger, Privatizer, Query, Raw, Refusal, Released, Request, RewardFacts,
    Signal,
};
use privateer_numerics::rng::Stream;
use std::fmt;
use std::sync::Arc;

/// A mechanism from outside, calibrated for one budget and one range of rewards.
pub trait OutsideMechanism: Send + Sync + fmt::Debug {
    /// Releases one reward: draws from a law that depends on it alone.
    ///
    /// * `reward` — clipped to [`OutsideBudget::clip`]
    ///
    /// Returns a finite number, unbiased for the clipped reward.
    fn release(&self, reward: f64, random: &mut Stream) -> f64;

    /// Returns the variance of its noise at the worst clipped reward, in squared units of the reward.
    fn noise_variance(&self) -> f64;

    /// Returns the bound on |released reward|; `None` if unbounded.
    fn output_bound(&self) -> Option<f64> {
        None
    }
}

/// States what a mechanism from outside is to be calibrated for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct OutsideBudget {
    /// Privacy loss of one reward, positive.
    pub epsilon: f64,
    /// Failure probability in (0, 1); `None` if the spec states none.
    pub delta: Option<f64>,
    /// Range to which rewards are clipped before the mechanism.
    pub clip: (f64, f64),
    /// Number of rounds of a trial.
    pub rounds: u64,
}

/// Calibrates a mechanism from outside, or says why it cannot.
pub type CalibrateOutside = Arc<dyn Fn(&OutsideBudget) -> Result<Box<dyn OutsideMechanism>, String> + Send + Sync>;

/// Describes a mechanism from outside in the registry.
#[derive(Clone)]
pub struct OutsideEntry {
    /// Name in specs.
    pub name: &'static str,
    /// Where its proof can be read, in a few words.
    pub proof: String,
    /// Calibrates it.
    pub calibrate: CalibrateOutside,
}

impl fmt::Debug for OutsideEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutsideEntry").field("name", &self.name).field("proof", &self.proof).finish_non_exhaustive()
    }
}

impl OutsideEntry {
    /// Calibrates the mechanism for a request and the public facts on the reward.
    ///
    /// # Errors
    /// A refusal on `epsilon` (missing), on `clip` (empty, or missing with unbounded noise), or the author's own on `mechanism`.
    pub fn build(&self, request: &Request, facts: &RewardFacts) -> Calibrated<dyn RewardMechanism> {
        let epsilon = request.epsilon()?;
        if !request.budget.participation.is_once() {
            let message = format!("mechanism `{}` is foreign code, whose noise for several answers is not known", self.name);
            return Err(Refusal::new(
                "participations",
                message,
                "users who take part once (a `population` of at least `rounds`, no `participations`), or another mechanism",
            ));
        }
        let window = Window::of(request, facts)?;
        let delta = request.budget.delta.map(|delta| delta.get());
        let budget = OutsideBudget { epsilon: epsilon.get(), delta, clip: window.range(), rounds: facts.rounds };
        let mechanism = (self.calibrate)(&budget).map_err(|why| {
            Refusal::new("mechanism", format!("mechanism `{}` refuses: {why}", self.name), "what its author allows")
        })?;
        let variance = mechanism.noise_variance();
        if !(variance.is_finite() && 0.0 <= variance) {
            let message = format!("mechanism `{}` states the variance {variance}", self.name);
            return Err(Refusal::new("mechanism", message, "a finite number >= 0"));
        }
        let (entry, request) = (self.clone(), Request { mechanism: self.name, ..*request });
        Ok(Arc::new(Outside { entry, request, window, mechanism: Arc::from(mechanism), variance }))
    }
}

#[derive(Debug, Clone)]
struct Outside {
    entry: OutsideEntry,
    request: Request,
    window: Window,
    mechanism: Arc<dyn OutsideMechanism>,
    variance: f64,
}

impl Privatizer for Outside {
    fn release(&mut self, _query: &Query<'_>, reward: Raw<f64>, mut noise: Noise<'_>) -> Released<Signal> {
        let kept = self.window.clip(reward.open());
        Released::mark(Signal::Reward(noise.number(|stream| {
            let released = self.mechanism.release(kept, &mut stream.fork());
            assert!(released.is_finite(), "mechanism `{}` released {released}", self.entry.name);
            released
        })))
    }
}

impl crate::privatizer::sealed::Sealed for Outside {}

impl RewardMechanism for Outside {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        Box::new(self.clone())
    }

    fn output_range(&self) -> Option<(f64, f64)> {
        self.mechanism.output_bound().map(|bound| (-bound, bound))
    }

    fn noise_variance(&self) -> f64 {
        self.variance
    }

    fn clip(&self) -> Option<(f64, f64)> {
        Some(self.window.range())
    }

    fn ledger(&self) -> Ledger {
        let name = self.entry.name;
        let (unit, formula) = (ClaimUnit::Reward { clip: self.clip() }, format!("by `{name}`, from outside of this program"));
        let notes = vec!["the mechanism is foreign code: this program clips before it and seals what it returns".to_owned()];
        let mut ledger = Ledger::of(Claim { notes, ..Claim::of(&self.request, unit, Event::Unverified, formula) });
        ledger.guarantee = Guarantee::Unverified { claimed_by: name.to_owned(), proof: self.entry.proof.clone() };
        ledger.delivered = "not verified".to_owned();
        ledger
    }

    fn exact(&self) -> Result<Vec<SamplerLaw>, ReleaseError> {
        Err(ReleaseError::Range(format!("mechanism `{}`, from outside of this program,", self.entry.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::{facts, request};
    use super::*;
    use crate::Calibration;
    use privateer_numerics::rng::{Purpose, Streams};

    #[derive(Debug)]
    struct Scaled(f64);

    impl OutsideMechanism for Scaled {
        fn release(&self, reward: f64, random: &mut Stream) -> f64 {
            reward + random.laplace(self.0)
        }

        fn noise_variance(&self) -> f64 {
            2.0 * self.0 * self.0
        }
    }

    fn entry() -> OutsideEntry {
        let calibrate = |budget: &OutsideBudget| -> Result<Box<dyn OutsideMechanism>, String> {
            if 5.0 < budget.epsilon {
                return Err("epsilon above 5 is not proved".to_owned());
            }
            Ok(Box::new(Scaled((budget.clip.1 - budget.clip.0) / budget.epsilon)))
        };
        OutsideEntry { name: "mine", proof: "notes, page 3".to_owned(), calibrate: Arc::new(calibrate) }
    }

    #[test]
    fn claims_are_never_stated_as_guarantees() {
        let made = entry().build(&request("mine", Calibration::Tight, 1.0), &facts()).expect("calibrated");
        let ledger = made.ledger();
        assert_eq!(ledger.guarantee.to_string(), "claimed by mine, not verified (notes, page 3)");
        assert_eq!((ledger.delivered.as_str(), ledger.delivered_epsilon), ("not verified", None));
        assert!(ledger.guarantee_for(1) != Some(Guarantee::Holds) && ledger.guarantee_for(3) != Some(Guarantee::Holds));
        let refusal = entry().build(&request("mine", Calibration::Tight, 6.0), &facts()).expect_err("too large");
        assert!(refusal.to_string().contains("epsilon above 5 is not proved"), "{refusal}");
    }

    #[test]
    fn rewards_are_clipped_first_and_one_word_is_taken() {
        let made = entry().build(&request("mine", Calibration::Tight, 1.0), &facts()).expect("calibrated");
        let (lo, hi) = made.clip().expect("a clip");
        let release = |reward: f64| {
            let mut stream = Streams::new(1, "outside").of(0, Purpose::Noise);
            let value = made.privatizer().release(&Query::default(), Raw::seal(reward), (&mut stream).into()).reward();
            assert_eq!(stream.drawn(), 1);
            value
        };
        assert_eq!(release(hi), release(1e9));
        assert_eq!(release(lo), release(f64::NEG_INFINITY));
    }
}
