//! Releases the reward unchanged, without privacy.
//! It never clips and draws nothing, and its ledger says that it is not private.

use super::{MechanismEntry, RewardMechanism};
use crate::noise::{Noise, ReleaseError, SamplerLaw};
use crate::{Budget, Claim, ClaimUnit, Event, Ledger, Privatizer, Query, Raw, Refusal, Released, Request, RewardFacts, Signal};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Registry entry.
pub const ENTRY: MechanismEntry =
    MechanismEntry { name: "none", summary: "no privacy: the reward as it is, never clipped", paper: "", build };

#[derive(Debug, Clone, Copy)]
struct NoMechanism {
    request: Request,
}

/// Builds the mechanism; epsilon, delta and clip are ignored.
pub fn build(request: &Request, _facts: &RewardFacts) -> Result<Arc<dyn RewardMechanism>, Refusal> {
    Ok(Arc::new(NoMechanism { request: Request { budget: Budget::default(), ..*request } }))
}

impl Privatizer for NoMechanism {
    fn release(&mut self, _query: &Query<'_>, reward: Raw<f64>, _noise: Noise<'_>) -> Released<Signal> {
        Released::mark(Signal::Reward(reward.open()))
    }
}

impl crate::privatizer::sealed::Sealed for NoMechanism {}

impl RewardMechanism for NoMechanism {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        Box::new(*self)
    }

    fn noise_variance(&self) -> f64 {
        0.0
    }

    fn sub_gaussian_scale(&self) -> Option<f64> {
        Some(0.0)
    }

    fn clip(&self) -> Option<(f64, f64)> {
        None
    }

    fn added(&self, _stream: &mut Stream, out: &mut [f64]) -> bool {
        out.fill(0.0);
        true
    }

    fn ledger(&self) -> Ledger {
        Ledger::of(Claim::of(&self.request, ClaimUnit::Reward { clip: self.clip() }, Event::NonPrivate, "none"))
    }

    fn exact(&self) -> Result<Vec<SamplerLaw>, ReleaseError> {
        Ok(Vec::new())
    }
}
