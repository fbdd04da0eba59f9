//! Releases the index of one candidate, chosen by the exponential mechanism over the candidates' sums of rewards.
//!
//! The candidates are fixed beforehand, and each is scored by as many consecutive users. Nothing is released before the choice, and
//! later rewards are dropped. Proof: `docs/proofs/recommendation.md`.

use super::batch::item_of;
use super::{Spectrum, SumsEntry, SumsFacts, SumsMechanism, SumsNeed};
use crate::calibration::NoiseTerms;
use crate::mechanism::window::Window;
use crate::noise::{Entropy, Grid, MOST_STEPS, Noise, ReleaseError, SamplerLaw, below, bernoulli_exp};
use crate::planted::{self, PlantedFault};
use crate::{
    Calibrated, Claim, ClaimUnit, Event, Ledger, Privatizer, Protection, Query, Raw, Refusal, ReleaseCounts, Released, Request,
    RewardFacts, Scale, Signal,
};
use privateer_numerics::linalg::running_weights;
use std::sync::Arc;

/// Registry entry.
pub const ENTRY: SumsEntry = SumsEntry {
    name: "exponential",
    summary: "one candidate, chosen once with weights exp(sum of its rewards / scale): pure epsilon",
    paper: "McSherryTalwar2007",
    serves: Protection::Answer,
    build,
};

#[derive(Debug, Clone)]
struct Exponential {
    request: Request,
    window: Window,
    /// Number of candidates, and of users that score each.
    candidates: usize,
    pulls: u64,
    /// Largest change of the range of the sums by one user.
    moved: f64,
    /// A sum that is larger by this number is e times as likely.
    scale: f64,
    formula: Arc<str>,
    /// Grid of exact sums; `None` on doubles.
    grid: Option<Grid>,
}

fn build(request: &Request, facts: &RewardFacts, need: SumsNeed) -> Calibrated<dyn SumsMechanism> {
    let (epsilon, window) = (request.epsilon()?, Window::of(request, facts)?);
    let candidates = need.n_features.max(1);
    let pulls = (need.rounds / candidates as u64).max(1);
    // Of one user's rewards at most `in_one` score one candidate: they move two sums apart by at most twice as much.
    let (count, separation) = (request.budget.participation.releases(), request.budget.participation.separation);
    let in_one = if separation == 0 { pulls } else { pulls.div_ceil(separation) };
    let moved = count.min(2 * in_one) as f64 * window.width();
    let least_formula = "scale = (hi - lo) / epsilon of sums of rewards clipped to [lo, hi] [McSherryTalwar2007]";
    let event = |scale| Event::Choice { scale, sensitivity: moved };
    let terms = NoiseTerms::priced(epsilon, None, &event, least_formula);
    let Scale { size: scale, formula } = request.calibration.scale(terms)?;
    Refusal::unless_normal(scale, request.mechanism, epsilon.get())?;
    let (request, formula) = (request.at(None), formula.into());
    Ok(Arc::new(Exponential { request, window, candidates, pulls, moved, scale, formula, grid: None }))
}

impl Exponential {
    fn drawn(&self) -> f64 {
        self.scale * planted::noise_share(PlantedFault::AnswerNoise)
    }

    /// Returns an index with weights exp(sum/scale) by one uniform draw.
    fn choice(&self, sums: &[f64], noise: &mut Noise<'_>) -> usize {
        let mut weights: Vec<f64> = sums.iter().map(|sum| -sum).collect();
        let total = running_weights(&mut weights, self.drawn());
        let at = noise.number(|stream| stream.uniform()) * total;
        weights.partition_point(|&sum| sum <= at).min(sums.len() - 1)
    }
}

/// Returns an index with weights exp(steps/scale): one drawn uniformly is taken with probability exp((steps - most)/scale).
fn exact_choice(steps: &[i64], scale: u64, entropy: &mut Entropy) -> usize {
    let most = steps.iter().copied().max().unwrap_or(0);
    loop {
        let at = below(steps.len() as u64, entropy) as usize;
        if bernoulli_exp(u128::from(most.abs_diff(steps[at])), u128::from(scale), entropy) {
            return at;
        }
    }
}

impl crate::privatizer::sealed::Sealed for Exponential {}

impl SumsMechanism for Exponential {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        let sums = vec![0.0; self.candidates];
        Box::new(AnswerPrivatizer { mechanism: self.clone(), sums, users: 0, counts: ReleaseCounts::default() })
    }

    fn facts(&self) -> SumsFacts {
        let (clip, centre) = (Some(self.window.range()), self.window.off_unit(0.0));
        SumsFacts { calibration: self.request.calibration, clip, centre, spectrum: Spectrum::None }
    }

    fn ledger(&self) -> Ledger {
        let unit = ClaimUnit::SummedReward { clip: self.window.range(), centre: None };
        let event = Event::Choice { scale: self.scale, sensitivity: self.moved };
        let note = format!(
            "one of {} candidates, fixed beforehand, is released, each scored by {} users: nothing else of their rewards is",
            self.candidates, self.pulls
        );
        Ledger::of(Claim { notes: vec![note], ..Claim::of(&self.request, unit, event, &*self.formula) })
    }

    fn state(&self) -> f64 {
        2.0 * self.candidates as f64
    }

    fn exact(&self) -> Result<Arc<dyn SumsMechanism>, ReleaseError> {
        self.request.budget.exact_is_once()?;
        let half = self.window.half();
        let grid = Grid::laplace((-half, half), self.drawn())?;
        if MOST_STEPS < (half / grid.step + 1.0) * self.pulls as f64 {
            return Err(ReleaseError::Range(format!("sums of {} rewards at scale {}", self.pulls, self.scale)));
        }
        Ok(Arc::new(Self { grid: Some(grid), ..self.clone() }))
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        let law = |grid: &Grid| SamplerLaw::Choice { scale: grid.laplace_scale(), step: grid.step };
        self.grid.iter().map(law).collect()
    }
}

struct AnswerPrivatizer {
    mechanism: Exponential,
    /// Sum of each candidate's rewards, minus the centre of the clip range; in steps of the grid where the choice is exact.
    sums: Vec<f64>,
    /// Number of users so far.
    users: u64,
    counts: ReleaseCounts,
}

impl Privatizer for AnswerPrivatizer {
    /// Returns the choice after the last user who scores a candidate, and nothing in other rounds.
    fn release(&mut self, _query: &Query<'_>, reward: Raw<f64>, mut noise: Noise<'_>) -> Released<Signal> {
        let mechanism = &self.mechanism;
        // Candidates are scored in their order: the schedule does not depend on who asks.
        let Some(sum) = self.sums.get_mut((self.users / mechanism.pulls) as usize) else {
            return Released::mark(Signal::Nothing);
        };
        *sum += item_of(reward, &mechanism.window, mechanism.grid, &mut self.counts);
        self.users += 1;
        if self.users < mechanism.pulls * self.sums.len() as u64 {
            return Released::mark(Signal::Nothing);
        }
        self.counts.releases += 1;
        let chosen = match (&mut noise, mechanism.grid) {
            (Noise::Exact(entropy), Some(grid)) => {
                // A sum of steps is a whole number, which f64 holds exactly.
                let steps: Vec<i64> = self.sums.iter().map(|sum| *sum as i64).collect();
                exact_choice(&steps, grid.laplace_scale(), entropy)
            }
            // Other noise never takes the place of exact noise.
            (Noise::Exact(_), None) | (_, Some(_)) => return Released::mark(Signal::Nothing),
            (noise, None) => mechanism.choice(&self.sums, noise),
        };
        Released::mark(Signal::Choice(chosen))
    }

    fn counts(&self) -> ReleaseCounts {
        self.counts
    }
}
