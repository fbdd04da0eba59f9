//! Adds exactly calibrated Gaussian noise to one clipped reward [BalleWang2018, theorem 8].
//!
//! It is never the best mechanism for one reward and serves for comparison. It needs delta. Proof: `docs/proofs/gaussian.md`.

use super::window::{Window, representable, resolvable};
use super::{MechanismEntry, RewardMechanism};
use crate::calibration::NoiseTerms;
use crate::noise::{Grid, Noise, ReleaseError, SamplerLaw};
use crate::planted::{self, PlantedFault};
use crate::{Claim, ClaimUnit, Event, Ledger, Privatizer, Query, Raw, Refusal, Released, Request, RewardFacts, Signal};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Registry entry.
pub const ENTRY: MechanismEntry = MechanismEntry {
    name: "gaussian",
    summary: "Gaussian noise on the clipped reward: (epsilon, delta), unbounded output",
    paper: "BalleWang2018",
    build,
};

const FORMULA: &str = "sigma = (hi - lo) sigma_AG(epsilon, delta), the analytic Gaussian mechanism [BalleWang2018]";

#[derive(Debug, Clone, Copy)]
struct GaussianMechanism {
    request: Request,
    window: Window,
    sigma: f64,
}

/// Calibrates the mechanism, equally under all calibrations: the papers print Laplace noise only.
///
/// # Errors
/// A refusal on `epsilon` (missing, below 1e-6, above 700, or a variance beyond f64), `delta` (missing or outside (0, 1)) or
/// `clip` (empty, or missing with unbounded noise).
pub fn build(request: &Request, facts: &RewardFacts) -> Result<Arc<dyn RewardMechanism>, Refusal> {
    let (epsilon, delta) = (resolvable(request, request.epsilon()?)?, request.delta(facts.rounds)?);
    let window = Window::of(request, facts)?;
    // sigma = sensitivity · sigma_AG(epsilon, delta), sensitivity = hi - lo [BalleWang2018, theorem 8]. Proof:
    // docs/proofs/gaussian.md
    let event = |sigma| event(sigma, window);
    let terms = NoiseTerms::priced(epsilon, Some(delta), &event, FORMULA);
    let sigma = request.calibration.scale(NoiseTerms { releases: request.budget.participation.releases(), ..terms })?.size;
    representable(request, sigma * sigma)?;
    Ok(Arc::new(GaussianMechanism { request: request.at(Some(delta)), window, sigma }))
}

fn event(sigma: f64, window: Window) -> Event {
    Event::Gaussian { sigma, sensitivity: window.width() }
}

impl GaussianMechanism {
    fn drawn(&self) -> f64 {
        self.sigma * planted::noise_share(PlantedFault::GaussianNoise)
    }

    fn grid(&self) -> Result<Grid, ReleaseError> {
        Grid::gaussian(self.window.width(), self.drawn())
    }
}

impl Privatizer for GaussianMechanism {
    fn release(&mut self, _query: &Query<'_>, reward: Raw<f64>, mut noise: Noise<'_>) -> Released<Signal> {
        let reward = reward.open();
        let kept = if planted::is(PlantedFault::GaussianClip) { reward } else { self.window.clip(reward) };
        Released::mark(Signal::Reward(match &mut noise {
            Noise::Exact(entropy) => {
                let centre = self.window.off_unit(0.0);
                self.grid().map_or(f64::NAN, |grid| centre + grid.add_gaussian(kept - centre, entropy))
            }
            noise => kept + noise.number(|stream| self.drawn() * stream.normal()),
        }))
    }
}

impl crate::privatizer::sealed::Sealed for GaussianMechanism {}

impl RewardMechanism for GaussianMechanism {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        Box::new(*self)
    }

    fn noise_variance(&self) -> f64 {
        self.sigma * self.sigma
    }

    fn sub_gaussian_scale(&self) -> Option<f64> {
        Some(self.sigma)
    }

    fn clip(&self) -> Option<(f64, f64)> {
        Some(self.window.range())
    }

    fn added(&self, stream: &mut Stream, out: &mut [f64]) -> bool {
        stream.normals(out);
        out.iter_mut().for_each(|drawn| *drawn *= self.drawn());
        true
    }

    fn ledger(&self) -> Ledger {
        let unit = ClaimUnit::Reward { clip: self.clip() };
        Ledger::of(Claim::of(&self.request, unit, event(self.sigma, self.window), FORMULA))
    }

    fn exact(&self) -> Result<Vec<SamplerLaw>, ReleaseError> {
        Ok(vec![self.grid()?.gaussian_law()])
    }
}
