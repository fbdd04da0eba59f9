//! Implements local joint differential privacy [Dubey2021, algorithm 3].
//!
//! Every user adds Gaussian noise to their own item, and the server adds the items.
//!
//! * as printed: lemma 5 to the letter; the matrix's noise has equal variance on and off the diagonal (errata E13 and E14,
//!   `docs/privacy.md`).
//! * corrected: the same split into halves, with L2 sensitivities `sqrt(2)` and `2 Y` and the analytic Gaussian mechanism.
//! * tight: one joint Gaussian mechanism on clipped and centred rewards; the diagonal has twice the variance (E7).
//!
//! [`privunit`](super::privunit) releases a point of a sphere in place of the item and its noise.
//!
//! Proof: `docs/proofs/sums.md`.

use super::joint::Rewards;
use super::{Epochs, Spectrum, Sums, SumsEntry, SumsFacts, SumsMechanism, SumsNeed};
use crate::accounting::sensitivity::{Participation, Relation, gram_and_reward};
use crate::calibration::NoiseTerms;
use crate::event::Factor;
use crate::gram::{GramClip, GramLayout, GramRows};
use crate::noise::{Grid, Noise, ReleaseError, SamplerLaw};
use crate::planted::{self, PlantedFault};
use crate::printed::dubey2021_local;
use crate::priv_unit::PrivUnitItem;
use crate::streams::Shape;
use crate::{
    Claim, ClaimUnit, Delta, Epsilon, Event, Ledger, Privatizer, Protection, Query, Raw, Refusal, ReleaseCounts, Released,
    Request, RewardFacts, Scale, Signal, analytic_gaussian_sigma,
};
use std::f64::consts::SQRT_2;
use std::sync::{Arc, OnceLock};

/// Registry entry.
pub const ENTRY: SumsEntry = SumsEntry {
    name: "local-gaussian",
    summary: "every user's own Gaussian noise on phi phi^T and y phi",
    paper: "Dubey2021",
    serves: Protection::LocalSums,
    build,
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LocalSumsNoise {
    gram: f64,
    moment: f64,
    /// Standard deviation of diagonal entries of the matrix, relative to the other entries.
    diagonal: f64,
    /// Grid of exact noise; `None` on doubles.
    grid: Option<Grid>,
}

impl LocalSumsNoise {
    fn times(self, scale: f64) -> Self {
        Self { gram: scale * self.gram, moment: scale * self.moment, ..self }
    }

    /// Returns what is done to an item; `reward` bounds rewards, which are divided by `unit`.
    fn event(self, reward: Option<f64>, unit: f64) -> Event {
        Event::Sums {
            factor: Factor::Own,
            releases: 1,
            gram_sigma: self.gram,
            equal_diagonal: self.diagonal == 1.0,
            moment_sigma: self.moment * unit,
            reward,
            participation: Participation::ONCE,
        }
    }

    /// Adds a draw to an item of `m` features.
    fn add(self, m: usize, entries: &mut [f64], mut noise: Noise<'_>, draws: &mut [f64]) {
        let Self { gram, moment, diagonal, grid } = self;
        if let Some(grid) = grid {
            // In coordinates in which the noise is isotropic.
            Shape::Bordered(m).scale_diagonal(entries, 1.0 / SQRT_2);
            match noise {
                Noise::Exact(entropy) => entries.iter_mut().for_each(|x| *x = grid.add_gaussian(*x, entropy)),
                // Other noise is never given out instead of exact noise.
                Noise::Simulated(_) | Noise::Replayed(_) | Noise::Drawn(_) => entries.fill(f64::NAN),
            }
            return Shape::Bordered(m).scale_diagonal(entries, SQRT_2);
        }
        noise.fill(draws, |stream, draws| {
            stream.normals(draws);
            let (matrix, vector) = draws.split_at_mut(m * (m + 1) / 2);
            let share = planted::noise_share(PlantedFault::LocalNoise);
            matrix.iter_mut().for_each(|entry| *entry *= share * gram);
            vector.iter_mut().for_each(|entry| *entry *= share * moment);
            Shape::Symmetric(m).scale_diagonal(matrix, diagonal);
        });
        entries.iter_mut().zip(draws).for_each(|(entry, noise)| *entry += *noise);
    }
}

/// What hides the item of a user.
#[derive(Debug, Clone)]
pub(super) enum ItemNoise {
    Gaussian(LocalSumsNoise),
    /// A point of a sphere, and that of real releases, made once.
    Sphere(PrivUnitItem, Arc<OnceLock<Result<PrivUnitItem, ReleaseError>>>),
}

#[derive(Debug, Clone)]
pub(super) struct Local {
    pub(super) request: Request,
    pub(super) need: SumsNeed,
    pub(super) clip: GramClip,
    pub(super) reach: Option<f64>,
    pub(super) noise: ItemNoise,
    pub(super) formula: Arc<str>,
}

/// Calibrates the mechanism.
///
/// # Errors
/// A refusal on `epsilon` or `delta` (missing, out of range, or noise beyond f64) or `clip` (empty, or missing with unbounded
/// noise).
fn build(request: &Request, facts: &RewardFacts, need: SumsNeed) -> Result<Arc<dyn SumsMechanism>, Refusal> {
    let (epsilon, delta) = (request.epsilon()?, request.delta(facts.rounds)?);
    refuse_epochs(need)?;
    need.refuse_rewards_of_papers(request.calibration)?;
    let rewards = Rewards::of(request, facts)?;
    let reach = rewards.reach.unwrap_or(f64::INFINITY);
    let (printed, shape) = printed(&rewards, need.n_features, (epsilon, delta));
    // L2 sensitivity sqrt(2) if the diagonal's variance is not larger (E13), and 2 Y (E14).
    let corrected = LocalSumsNoise { gram: SQRT_2, moment: 2.0 * reach, diagonal: 1.0, grid: None };
    let joint = LocalSumsNoise { gram: 1.0, moment: 1.0, diagonal: SQRT_2, grid: None };
    let shape = request.calibration.pick([shape, corrected, joint]);
    let halves = Scale {
        size: half(epsilon, delta).map_or(f64::NAN, |(a, b)| analytic_gaussian_sigma(a, b)),
        formula: "sqrt(2) and 2Y times sigma_AG(epsilon/2, delta/2): lemma 5 at its L2 sensitivities (E13, E14)".to_owned(),
    };
    let least_formula = "sigma = D sigma_AG(epsilon, delta), D = 1 + Y² or 2Y on centred rewards: one joint mechanism (E7, E13)";
    let event = |scale| shape.times(scale).event(rewards.reach, rewards.clip.reward_unit);
    let Scale { size, formula } = request.calibration.scale(NoiseTerms {
        releases: request.budget.participation.releases(),
        printed: Some((Scale { size: 1.0, formula: printed }, halves)),
        ..NoiseTerms::priced(epsilon, Some(delta), &event, least_formula)
    })?;
    let noise = shape.times(size);
    Refusal::unless_normal(noise.gram, request.mechanism, epsilon.get())?;
    Refusal::unless_normal(noise.moment * rewards.clip.reward_unit, request.mechanism, epsilon.get())?;
    let (clip, reach, noise, formula) = (rewards.clip, rewards.reach, ItemNoise::Gaussian(noise), formula.into());
    Ok(Arc::new(Local { request: request.at(Some(delta)), need, clip, reach, noise, formula }))
}

pub(super) fn refuse_epochs(need: SumsNeed) -> Result<(), Refusal> {
    if need.epochs == Epochs::One {
        return Ok(());
    }
    Err(Refusal::new("mechanism", "items of users who add their own noise know no horizon", "a policy without `epochs`"))
}

/// Returns the noise of lemma 5 with its formula; without a logarithm for bounded rewards (section 6.1).
fn printed(rewards: &Rewards, n_features: usize, (epsilon, delta): (Epsilon, Delta)) -> (String, LocalSumsNoise) {
    let (y, moment) = match rewards.reach {
        Some(reach) => (reach, &dubey2021_local::SIGMA_REWARD_BOUNDED),
        None => (rewards.bound, &dubey2021_local::SIGMA_REWARD),
    };
    let symbols = [("B", y), ("m", n_features as f64), ("epsilon", epsilon.get()), ("delta", delta.get())];
    let (gram, moment) = (dubey2021_local::SIGMA_GRAM.scale(&symbols), moment.scale(&symbols));
    let noise = LocalSumsNoise { gram: gram.size, moment: moment.size, diagonal: 1.0, grid: None };
    (format!("{}, {}", gram.formula, moment.formula), noise)
}

/// Returns half of the budget, for one of two releases.
fn half(epsilon: Epsilon, delta: Delta) -> Option<(Epsilon, Delta)> {
    Some((Epsilon::try_from(0.5 * epsilon.get()).ok()?, Delta::try_from(0.5 * delta.get()).ok()?))
}

impl Local {
    /// Returns the standard deviations of an entry of the matrix, off its diagonal, and of the vector.
    fn stds(&self) -> (f64, f64) {
        let (gram, moment) = match &self.noise {
            ItemNoise::Gaussian(noise) => (noise.gram, noise.moment),
            ItemNoise::Sphere(item, _) => (item.std(), item.std()),
        };
        (gram, moment * self.clip.reward_unit)
    }
}

impl crate::privatizer::sealed::Sealed for Local {}

impl SumsMechanism for Local {
    fn privatizer(&self) -> Box<dyn Privatizer> {
        let draws = match self.noise {
            ItemNoise::Gaussian(_) => Sums::empty(self.need.n_features, self.need.rounds).entries,
            ItemNoise::Sphere(..) => Vec::new(),
        };
        let (z, counts) = (vec![0.0; self.need.n_features], ReleaseCounts::default());
        Box::new(LocalPrivatizer { mechanism: self.clone(), draws, z, counts })
    }

    fn facts(&self) -> SumsFacts {
        let (gram, moment) = self.stds();
        let spectrum = Spectrum::Local { gram, moment };
        SumsFacts { calibration: self.request.calibration, clip: self.clip.range, centre: self.clip.centre, spectrum }
    }

    fn ledger(&self) -> Ledger {
        let unit = ClaimUnit::GramItem { clip: self.clip.range, centre: self.clip.centre, local: true };
        let event = match &self.noise {
            ItemNoise::Gaussian(noise) => noise.event(self.reach, self.clip.reward_unit),
            ItemNoise::Sphere(item, _) => item.event(),
        };
        Ledger::of(Claim::of(&self.request, unit, event, &*self.formula))
    }

    fn state(&self) -> f64 {
        let item = Sums::empty(self.need.n_features, 0).entries.len() as f64;
        match &self.noise {
            ItemNoise::Gaussian(_) => 2.0 * item,
            ItemNoise::Sphere(point, _) => item + point.drawn(),
        }
    }

    fn exact(&self) -> Result<Arc<dyn SumsMechanism>, ReleaseError> {
        self.request.budget.exact_is_once()?;
        let LocalSumsNoise { gram: sigma, moment, diagonal, .. } = match &self.noise {
            ItemNoise::Gaussian(noise) => *noise,
            ItemNoise::Sphere(item, exact) => {
                let item = exact.get_or_init(|| item.exact()).clone()?;
                let (noise, formula) = (ItemNoise::Sphere(item, Arc::clone(exact)), item.formula().into());
                return Ok(Arc::new(Self { noise, formula, ..self.clone() }));
            }
        };
        let reach = self.reach.map(|reach| reach / self.clip.reward_unit);
        let Some(reach) = reach.filter(|_| sigma == moment && diagonal == SQRT_2) else {
            return Err(ReleaseError::Range(format!("calibration `{}` of own items", self.request.calibration)));
        };
        let (shape, distance) = (Shape::Bordered(self.need.n_features), gram_and_reward(reach, Relation::Replace));
        let grid = GramRows::OWN.grid(shape, (distance, sigma), self.need.rounds)?;
        let noise = LocalSumsNoise { gram: grid.size(), moment: grid.size(), diagonal: SQRT_2, grid: Some(grid) };
        Ok(Arc::new(Self { noise: ItemNoise::Gaussian(noise), ..self.clone() }))
    }

    fn laws(&self) -> Vec<SamplerLaw> {
        match &self.noise {
            ItemNoise::Gaussian(noise) => noise.grid.iter().map(|grid| grid.gaussian_law()).collect(),
            ItemNoise::Sphere(item, _) => item.laws(),
        }
    }
}

struct LocalPrivatizer {
    mechanism: Local,
    draws: Vec<f64>,
    /// Features of the user of this round.
    z: Vec<f64>,
    counts: ReleaseCounts,
}

impl Privatizer for LocalPrivatizer {
    /// Returns the clipped item of one user, of zeros where it is not valid, with its noise.
    fn release(&mut self, query: &Query<'_>, reward: Raw<f64>, mut noise: Noise<'_>) -> Released<Signal> {
        let Local { need, clip, noise: law, .. } = &self.mechanism;
        let (m, (gram_std, moment_std)) = (need.n_features, self.mechanism.stds());
        let mut item = Sums { gram_std, moment_std, users: 1, ..Sums::empty(m, need.rounds) };
        if let Some(y) = clip.item(&query.features, reward, &mut self.counts, &mut self.z) {
            GramLayout::single(m).add(&mut item.entries, 0, &self.z, y);
        }
        self.counts.releases += 1;
        match law {
            ItemNoise::Gaussian(law) => law.add(m, &mut item.entries, noise, &mut self.draws),
            ItemNoise::Sphere(point, _) => point.release(&mut item.entries, &mut noise, &mut self.draws),
        }
        let vector = item.entries.len() - m;
        clip.in_rewards(&mut item.entries[vector..]);
        Released::mark(Signal::Item(Arc::new(item)))
    }

    fn counts(&self) -> ReleaseCounts {
        self.counts
    }
}
