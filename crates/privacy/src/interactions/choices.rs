//! Implements private Frank-Wolfe over the l1 ball, one stream per arm [Han2022, algorithm 3].
//!
//! In every round each arm's stream releases one of the 2d vertices, chosen with noise along its recursive gradient of the loss
//! whose gradient is `(zeta(<x, theta>) - r) x`.
//!
//! An arm that was not shown receives the synthetic interaction `(0, zeta(0))`: its gradients are zero, but its step, noise and
//! vertex are real, so that the releases hide which arm was shown (errata E30 and E31, `docs/privacy.md`). Step counts, and
//! with them noise levels, are the arm's own. Iterates are averages of vertices, `theta = radius counts/(step + 1)`: public,
//! and stored as counts here and by the server.
//!
//! Price: a replaced interaction changes either one arm's scores by their whole range, or two arms' scores by half of it each,
//! compared with zero gradients. Both cost at most as much as one stream (E30), so neither the number of arms nor a factor 2
//! enters. Proof: `docs/proofs/interactions.md`.

use super::contract::ArmStep;
use super::{ContextFacts, Interaction, InteractionPrivatizer, InteractionSignal, Link};
pub use crate::gradients::ChoiceLaw;
use crate::gradients::Start;
use crate::noise::Noise;
use crate::planted::{self, PlantedFault};
use crate::{Raw, Released};
use privateer_numerics::linalg::{Norm, dot, least};
use privateer_numerics::rng::Stream;

/// Holds the parameters of the streams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChoiceTerms {
    /// Arms K.
    pub n_arms: usize,
    /// Features d.
    pub dimension: usize,
    /// Radius of the l1 ball.
    pub radius: f64,
    /// How mean rewards depend on products.
    pub link: Link,
    /// Rounds of each arm at the start: round t shows arm `(t - 1) / warm_up`.
    pub warm_up: u64,
    /// Weight of an arm's first gradient.
    pub start: Start,
    /// Noise of the choices.
    pub law: ChoiceLaw,
    /// Bounds that are enforced; `None` enforces no bounds.
    pub bounds: Option<ChoiceBounds>,
    /// Whether arms that were not shown make a step too.
    pub synthetic: bool,
}

/// Bounds one user's data and the contribution of one interaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChoiceBounds {
    /// Bound M on the entries of a context.
    pub entry: f64,
    /// Range of a reward.
    pub range: (f64, f64),
    /// Bound on `|zeta - r|`.
    pub residual: f64,
    /// Bound on the largest entry of a contribution `(t + 1) grad - t grad'`.
    pub contribution: f64,
}

impl ChoiceBounds {
    /// Returns the bounds that follow from a problem's facts and a range of rewards.
    /// `residual` may lower the bound on `|zeta - r|`; contributions stay unbounded.
    pub fn of(facts: &ContextFacts, radius: f64, range: (f64, f64), residual: Option<f64>) -> Self {
        let (least, most) = facts.link.range(facts.largest_entry * radius);
        let whole = (range.1 - least).max(most - range.0);
        let residual = residual.map_or(whole, |cut| cut.min(whole));
        Self { entry: facts.largest_entry, range, residual, contribution: f64::INFINITY }
    }
}

#[derive(Debug, Clone)]
struct Arm {
    /// Sum of contributions.
    sum: Vec<f64>,
    /// Largest magnitude of an entry of `sum`.
    steepest: f64,
    counts: Vec<f64>,
    last: ArmStep,
    step: u64,
}

/// Holds the streams of all arms.
#[derive(Debug)]
pub struct ArmChoices {
    terms: ChoiceTerms,
    arms: Vec<Arm>,
    steps: Vec<ArmStep>,
    round: u64,
    scores: Vec<f64>,
    noise: Vec<f64>,
}

impl ArmChoices {
    /// Makes streams before their first step.
    pub fn new(terms: ChoiceTerms) -> Self {
        let d = terms.dimension;
        let arm = Arm { sum: vec![0.0; d], steepest: 0.0, counts: vec![0.0; d], last: ArmStep::None, step: 0 };
        Self {
            terms,
            arms: vec![arm; terms.n_arms],
            steps: vec![ArmStep::None; terms.n_arms],
            round: 0,
            scores: Vec::new(),
            noise: Vec::new(),
        }
    }

    /// Adds the contribution of an interaction to an arm's next step.
    fn contribute(&mut self, interaction: &Interaction<'_>) {
        let terms = self.terms;
        let arm = &mut self.arms[interaction.arm];
        let fits = interaction.context.len() == terms.dimension && interaction.reward.is_finite();
        if !fits || !interaction.context.iter().all(|x| x.is_finite()) {
            return;
        }
        let x = interaction.context;
        let (mut reward, mut scale, mut residual, mut most) = (interaction.reward, 1.0, f64::INFINITY, f64::INFINITY);
        if let Some(bounds) = terms.bounds.filter(|_| !planted::is(PlantedFault::ChoiceBounds)) {
            reward = reward.clamp(bounds.range.0, bounds.range.1);
            let size = Norm::MAX.size(x);
            scale = if size <= bounds.entry { 1.0 } else { bounds.entry / size };
            residual = bounds.residual;
            // The contribution is a multiple of the context: its largest entry is that multiple times the context's.
            most = bounds.contribution / (scale * size);
        }
        let t = arm.step as f64 + 1.0;
        let product = scale * dot(x, &arm.counts);
        let slope = |z: f64| (terms.link.mean(z) - reward).clamp(-residual, residual);
        // theta_t = radius counts/t after t - 1 steps.
        let now = slope(terms.radius * product / t);
        let weight = if arm.step == 0 {
            if terms.start == Start::Full { 2.0 * now } else { now }
        } else {
            let taken = match arm.last {
                ArmStep::Vertex(index) if index < terms.dimension => scale * x[index],
                ArmStep::Vertex(index) => -scale * x[index - terms.dimension],
                _ => 0.0,
            };
            let before = slope(terms.radius * (product - taken) / (t - 1.0));
            (t + 1.0) * now - t * before
        };
        let weight = if 0.0 < most { weight.clamp(-most, most) } else { 0.0 } * scale;
        let mut steepest = [0.0_f64; 8];
        let (sums, xs) = (arm.sum.chunks_mut(8), x.chunks(8));
        for (sum, x) in sums.zip(xs) {
            for ((sum, x), steepest) in sum.iter_mut().zip(x).zip(&mut steepest) {
                *sum += weight * x;
                let size = sum.abs();
                *steepest = if *steepest < size { size } else { *steepest };
            }
        }
        arm.steepest = steepest.into_iter().fold(0.0, f64::max);
    }

    /// Chooses the vertex of an arm's next step, and makes the step.
    fn step(&mut self, index: usize, noise: &mut Noise<'_>) {
        let terms = self.terms;
        let arm = &mut self.arms[index];
        arm.step += 1;
        let t = arm.step as f64;
        let chosen = match terms.law {
            ChoiceLaw::Exact if arm.steepest == 0.0 => ArmStep::Zero,
            ChoiceLaw::Exact => {
                let at = arm.sum.iter().position(|sum| sum.abs() == arm.steepest).unwrap_or(0);
                // The least score is at -sign(d_at) e_at.
                ArmStep::Vertex(if 0.0 < arm.sum[at] { at + terms.dimension } else { at })
            }
            ChoiceLaw::Gumbel { scale } => {
                // The scores +-radius sum/(t + 1), divided by the noise scale scale/sqrt(t).
                let unit =
                    terms.radius * libm::sqrt(t) / ((t + 1.0) * (planted::noise_share(PlantedFault::ArmGumbelNoise) * scale));
                match noise {
                    Noise::Simulated(stream) => ArmStep::Vertex(exponential(&arm.sum, arm.steepest, unit, stream)),
                    // Rejection is neither replayed nor exact: nothing is given out in its place.
                    Noise::Exact(_) | Noise::Replayed(_) | Noise::Drawn(_) => ArmStep::None,
                }
            }
            ChoiceLaw::Laplace { scale } => {
                let (unit, level) =
                    (terms.radius / (t + 1.0), planted::noise_share(PlantedFault::ArmLaplaceNoise) * scale / libm::sqrt(t));
                self.scores.clear();
                self.scores.extend(arm.sum.iter().map(|sum| unit * sum));
                self.scores.extend(arm.sum.iter().map(|sum| -unit * sum));
                self.noise.resize(self.scores.len(), 0.0);
                noise.fill(&mut self.noise, |stream, out| stream.laplaces(level, out));
                self.scores.iter_mut().zip(&self.noise).for_each(|(score, noise)| *score += noise);
                ArmStep::Vertex(least(&self.scores))
            }
        };
        advance(&mut arm.counts, chosen);
        arm.last = chosen;
        self.steps[index] = chosen;
    }
}

/// Adds a vertex to the counts.
pub fn advance(counts: &mut [f64], step: ArmStep) {
    match step {
        ArmStep::Vertex(index) if index < counts.len() => counts[index] += 1.0,
        ArmStep::Vertex(index) => {
            let d = counts.len();
            counts[index - d] -= 1.0;
        }
        _ => {}
    }
}

/// Draws a vertex with weights `exp(-unit (+-sum_j))`, by rejection from the uniform law.
/// The steepest vertex has weight 1; if noise is large compared with the gradient, nearly every candidate is accepted.
/// **Consumes a varying number of words**, two per candidate. The random stream belongs to one trial and one policy, so results
/// have the same bits for any backend, batch and shard. But cells that differ in epsilon see different draws after the first
/// candidate that one of them rejects, and must be compared like independent ones.
fn exponential(sum: &[f64], steepest: f64, unit: f64, stream: &mut Stream) -> usize {
    let (d, most) = (sum.len(), unit * steepest);
    loop {
        let candidate = stream.index(2 * d);
        let score = if candidate < d { unit * sum[candidate] } else { -unit * sum[candidate - d] };
        // This comparison ends the loop for NaN.
        let refused = libm::exp(-score - most) <= stream.uniform();
        if !refused {
            return candidate;
        }
    }
}

impl InteractionPrivatizer for ArmChoices {
    fn release<'a>(&'a mut self, interaction: Raw<Interaction<'a>>, mut noise: Noise<'_>) -> Released<InteractionSignal<'a>> {
        let interaction = interaction.open();
        self.round += 1;
        self.steps.fill(ArmStep::None);
        if interaction.arm < self.terms.n_arms {
            self.contribute(&interaction);
        }
        let warms_up = self.round <= self.terms.n_arms as u64 * self.terms.warm_up;
        if warms_up || !self.terms.synthetic {
            // In the warm-up the arm follows from the round, which is public.
            self.step(interaction.arm.min(self.terms.n_arms - 1), &mut noise);
        } else {
            for arm in 0..self.terms.n_arms {
                self.step(arm, &mut noise);
            }
        }
        Released::mark(InteractionSignal::Steps(&self.steps))
    }
}
