//! Releases the sum of a batch of users' rewards once, by a trusted server: our own derivation.
//!
//! All users of a batch play one released point, so that nothing but the sum of their rewards is private. Each clipped reward is
//! in one batch, and each batch has noise of its own: all releases together keep the budget of one. A batch that has not ended
//! is never released. No paper prints a scale, so that all calibrations are equal. Proof: `docs/proofs/batches.md`.

use super::{Spectrum, SumsEntry, SumsFacts, SumsMechanism};
use crate::calibration::NoiseTerms;
use crate::mechanism::window::Window;
use crate::noise::{Grid, MOST_STEPS, Noise, ReleaseError, SamplerLaw};
use crate::planted::{self, PlantedFault};
use crate::{
    Calibrated, Claim, ClaimUnit, Delta, Event, Ledger, Privatizer, Protection, Query, Raw, Refusal, ReleaseCounts, Released,
    Request, RewardFacts, Scale, Signal,
};
use std::sync::Arc;

/// Registry entries.
pub const ENTRIES: [SumsEntry; 2] = [
    SumsEntry {
        name: "batch-laplace",
        summary: "sums of batches of rewards at one point, each with one Laplace draw: pure epsilon",
        paper: "",
        serves: Protection::Batches,
        build: |request, facts, _| build(request, facts, None),
    },
    SumsEntry {
        name: "batch-gaussian",
        summary: "sums of batches of rewards at one point, each with one Gaussian draw: (epsilon, delta)",
        paper: "BalleWang2018",
        serves: Protection::Batches,
        build: |request, facts, _| build(request, facts, Some(request.delta(facts.rounds)?)),
    },
];

#[derive(Debug, Clone)]
struct Batches {
    /// Has a delta for Gaussian noise, and none for Laplace noise.
    request: Request,
    window: Window,
    /// Standard deviation of Gaussian noise on a sum, or scale of Laplace noise.
    size: f64,
    formula: Arc<str>,
    rounds: u64,
    /// Grid of exact noise; `None` on doubles.
    grid: Option<Grid>,
}

fn build(request: &Request, facts: &RewardFacts, delta: Option<Delta>) -> Calibrated<dyn SumsMechanism> {
    let (epsilon, window) = (request.epsilon()?, Window::of(request, facts)?);
    let least_formula = match delta {
        None => "scale = (hi - lo) / epsilon on each sum of rewards clipped to [lo, hi]",
        Some(_) => "sigma = (hi - lo) sigma_AG(epsilon, delta) on each sum of rewards clipped to [lo, hi] [BalleWang2018]",
    };
    // All of a user's rewards may be in one batch.
    let moved = request.budget.participation.releases() as f64 * window.width();
    let event = |size| event(delta, size, moved);
    let Scale { size, formula } = request.calibration.scale(NoiseTerms::priced(epsilon, delta, &event, least_formula))?;
    Refusal::unless_normal(size, request.mechanism, epsilon.get())?;
    let (request, formula) = (request.at(delta), formula.into());
    Ok(Arc::new(Batches { request, window, size, formula, rounds: facts.rounds, grid: None }))
}

/// Returns what is done to sums that one user moves by at most `moved`.
fn event(delta: Option<Delta>, size: f64, moved: f64) -> Event {
    match delta {
        None => Event::Laplace { scale: size, sensitivity: Some(moved) },
        Some(_) => Event::Gaussian { sigma: size, sensitivity: moved },
    }
}

impl Batches {
    fn drawn(&self) -> f64 {
        self.size * planted::noise_share(PlantedFault::BatchNoise)
    }

    fn is_laplace(&self) -> bool {
        self.request.budget.delta.is_none()
    }
}

impl crate::privatizer::sealed::Sealed for Batches {}

impl SumsMechanism for Batches {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        Box::new(BatchPrivatizer { mechanism: self.clone(), sum: 0.0, users: 0, drawn: None, counts: ReleaseCounts::default() })
    }

    fn facts(&self) -> SumsFacts {
        let std = self.size * if self.is_laplace() { std::f64::consts::SQRT_2 } else { 1.0 };
        let (clip, centre) = (Some(self.window.range()), self.window.off_unit(0.0));
        SumsFacts { calibration: self.request.calibration, clip, centre, spectrum: Spectrum::Moments { std } }
    }

    fn ledger(&self) -> Ledger {
        let budget = self.request.budget;
        let event = event(budget.delta, self.size, budget.participation.count.max(1) as f64 * self.window.width());
        let unit = ClaimUnit::SummedReward { clip: self.window.range(), centre: None };
        let note = "each reward is in one batch and each batch is released once: the budget of one release is that of the run \
                    (our own derivation, equal under all calibrations)";
        Ledger::of(Claim { notes: vec![note.to_owned()], ..Claim::of(&self.request, unit, event, &*self.formula) })
    }

    fn state(&self) -> f64 {
        2.0
    }

    fn exact(&self) -> Result<Arc<dyn SumsMechanism>, ReleaseError> {
        self.request.budget.exact_is_once()?;
        let half = self.window.half();
        let grid = match self.request.budget.delta {
            None => Grid::laplace((-half, half), self.drawn())?,
            Some(_) => Grid::gaussian(2.0 * half, self.drawn())?,
        };
        if MOST_STEPS < (half / grid.step + 1.0) * self.rounds as f64 {
            return Err(ReleaseError::Range(format!("sums of {} rewards with noise of size {}", self.rounds, self.size)));
        }
        Ok(Arc::new(Self { grid: Some(grid), ..self.clone() }))
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        let law = |grid: &Grid| if self.is_laplace() { grid.laplace_law() } else { grid.gaussian_law() };
        self.grid.iter().map(law).collect()
    }
}

/// Returns a reward as it enters a sum: clipped and minus the centre of the clip range, in steps of the grid if there is one.
pub(super) fn item_of(reward: Raw<f64>, window: &Window, grid: Option<Grid>, counts: &mut ReleaseCounts) -> f64 {
    let reward = reward.open();
    let clipped = if planted::is(PlantedFault::BatchClip) { reward } else { window.clip(reward) };
    counts.rewards += 1;
    counts.clipped += u64::from(clipped != reward);
    let item = clipped - window.off_unit(0.0);
    grid.map_or(item, |grid| grid.steps(item) as f64)
}

struct BatchPrivatizer {
    mechanism: Batches,
    /// Sum of the rewards of the batch, minus the centre of the clip range; in steps of the grid where noise is exact.
    sum: f64,
    /// Number of users in the batch.
    users: u64,
    /// Noise of the first sum, for a planted fault.
    drawn: Option<f64>,
    counts: ReleaseCounts,
}

impl Privatizer for BatchPrivatizer {
    /// Returns the mean of the batch that ends in this round; nothing in the rounds of a batch before its last.
    fn release(&mut self, query: &Query<'_>, reward: Raw<f64>, mut noise: Noise<'_>) -> Released<Signal> {
        let mechanism = &self.mechanism;
        let item = item_of(reward, &mechanism.window, mechanism.grid, &mut self.counts);
        self.sum += item;
        self.users += 1;
        if !query.release {
            return Released::mark(Signal::Nothing);
        }
        self.counts.releases += 1;
        let (is_laplace, size) = (mechanism.is_laplace(), mechanism.drawn());
        let sum = match (&mut noise, mechanism.grid) {
            // A sum of steps is a whole number, which f64 holds exactly.
            (Noise::Exact(entropy), Some(grid)) if is_laplace => grid.add_laplace(grid.value(self.sum as i64), entropy),
            (Noise::Exact(entropy), Some(grid)) => grid.add_gaussian(grid.value(self.sum as i64), entropy),
            // Other noise is never given out instead of exact noise.
            (_, Some(_)) => f64::NAN,
            (noise, None) => {
                let drawn = noise.number(|stream| if is_laplace { stream.laplace(size) } else { size * stream.normal() });
                let reused = planted::is(PlantedFault::BatchDraw);
                self.sum + if reused { *self.drawn.get_or_insert(drawn) } else { drawn }
            }
        };
        let mean = mechanism.window.off_unit(0.0) + sum / self.users as f64;
        let twice = planted::is(PlantedFault::BatchTwice);
        (self.sum, self.users) = if twice { (item, 1) } else { (0.0, 0) };
        Released::mark(Signal::Reward(mean))
    }

    fn counts(&self) -> ReleaseCounts {
        self.counts
    }
}
