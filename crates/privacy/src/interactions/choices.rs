//! Private Frank-Wolfe over the l1 ball, one stream an arm [Han2022, algorithm 3]: every round each arm's stream gives out one of the
//! 2d vertices, chosen with noise along its recursive gradient of the loss whose gradient is `(zeta(<x, theta>) - r) x`.
//!
//! An arm that was not shown takes the synthetic interaction `(0, zeta(0))`: its gradients are zero, but its step, its noise and its vertex
//! are real, so that nobody learns which arm was shown (E30, E31). Steps, and with them noise levels, are the arm's own. Iterates are
//! averages of vertices, `theta = radius counts/(step + 1)`: public, kept as counts here and by the server alike.
//!
//! Price. A replaced interaction moves either one arm's scores by their whole range, or two arms' by half of it each, as against zero gradients;
//! both cost at most what one stream costs (E30), so neither the number of arms nor a factor 2 enters. Proof: `docs/proofs/interactions.md`.

use super::{ContextFacts, Interaction, InteractionPrivatizer, InteractionSignal, Link};
use crate::gradients::Start;
use crate::planted::{self, PlantedFault};
use crate::{Raw, Released};
use privateer_numerics::linalg::dot;
use privateer_numerics::rng::Stream;
use std::collections::VecDeque;

/// What an arm's stream gave out in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArmStep {
    /// It took no step.
    None,
    /// A step towards zero: the gradient was zero and nothing was drawn.
    Zero,
    /// A step towards vertex `index`: `+e_1 … +e_d, -e_1 … -e_d`.
    Vertex(usize),
}

/// The noise of a choice; scales are those of an arm's first step and fall as 1/sqrt(step).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ChoiceLaw {
    /// None: the least score, the lowest coordinate among equals.
    Exact,
    /// Laplace noise on every score.
    Laplace {
        /// Scale, > 0.
        scale: f64,
    },
    /// The exponential mechanism: the law of the least score after Gumbel noise.
    Gumbel {
        /// Scale, > 0.
        scale: f64,
    },
}

/// What streams are made with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChoiceTerms {
    /// Arms K.
    pub n_arms: usize,
    /// Features d.
    pub dimension: usize,
    /// Radius of the l1 ball.
    pub radius: f64,
    /// How rewards follow products.
    pub link: Link,
    /// Rounds of each arm before anything else: round t shows arm `(t - 1) / warm_up`.
    pub warm_up: u64,
    /// Weight of an arm's first gradient.
    pub start: Start,
    /// Noise.
    pub law: ChoiceLaw,
    /// Bounds that are enforced; `None` enforces nothing.
    pub bounds: Option<ChoiceBounds>,
    /// Whether arms that were not shown step too.
    pub synthetic: bool,
}

/// Bounds on one user's data and on what it adds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChoiceBounds {
    /// M: on entries of a context.
    pub entry: f64,
    /// Range of a reward.
    pub range: (f64, f64),
    /// On `|zeta - r|`.
    pub residual: f64,
    /// On the largest entry of a contribution `(t + 1) grad - t grad'`.
    pub contribution: f64,
}

impl ChoiceBounds {
    /// What the facts of a problem and a range of rewards bound by themselves; `residual` may be cut shorter.
    #[must_use]
    pub fn of(facts: &ContextFacts, radius: f64, range: (f64, f64), residual: Option<f64>) -> Self {
        let (least, most) = facts.link.range(facts.largest_entry * radius);
        let whole = (range.1 - least).max(most - range.0);
        let residual = residual.map_or(whole, |cut| cut.min(whole));
        Self { entry: facts.largest_entry, range, residual, contribution: f64::INFINITY }
    }
}

/// One arm's stream.
#[derive(Debug, Clone)]
struct Arm {
    /// Sum of contributions.
    sum: Vec<f64>,
    /// Its largest magnitude.
    steepest: f64,
    counts: Vec<f64>,
    last: ArmStep,
    step: u64,
}

/// All arms' streams.
#[derive(Debug)]
pub struct ArmChoices {
    terms: ChoiceTerms,
    arms: Vec<Arm>,
    steps: Vec<ArmStep>,
    round: u64,
    scores: Vec<f64>,
    /// Unit draws in the place of random ones, an arm after the other.
    stored: Option<Vec<VecDeque<Vec<f64>>>>,
}

impl ArmChoices {
    /// Streams before their first step.
    #[must_use]
    pub fn new(terms: ChoiceTerms) -> Self {
        let d = terms.dimension;
        let arm = Arm { sum: vec![0.0; d], steepest: 0.0, counts: vec![0.0; d], last: ArmStep::None, step: 0 };
        Self {
            terms,
            arms: vec![arm; terms.n_arms],
            steps: vec![ArmStep::None; terms.n_arms],
            round: 0,
            scores: Vec::new(),
            stored: None,
        }
    }

    /// With Laplace draws of scale 1 that are given, one list of 2d numbers a step, for each arm: for checks against stored cases.
    #[doc(hidden)]
    #[must_use]
    pub fn stored(terms: ChoiceTerms, draws: Vec<VecDeque<Vec<f64>>>) -> Self {
        Self { stored: Some(draws), ..Self::new(terms) }
    }

    /// Adds what an interaction contributes to an arm's next step.
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
            let size = largest(x);
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

    /// The vertex of an arm's next step, and the step.
    fn step(&mut self, index: usize, stream: &mut Stream) {
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
                // Scores +-radius sum/(t + 1) over a scale of scale/sqrt(t).
                let unit =
                    terms.radius * libm::sqrt(t) / ((t + 1.0) * (planted::noise_share(PlantedFault::ArmGumbelNoise) * scale));
                ArmStep::Vertex(exponential(&arm.sum, arm.steepest, unit, stream))
            }
            ChoiceLaw::Laplace { scale } => {
                let (unit, level) =
                    (terms.radius / (t + 1.0), planted::noise_share(PlantedFault::ArmLaplaceNoise) * scale / libm::sqrt(t));
                self.scores.clear();
                self.scores.extend(arm.sum.iter().map(|sum| unit * sum));
                self.scores.extend(arm.sum.iter().map(|sum| -unit * sum));
                match self.stored.as_mut().map(|stored| stored[index].pop_front().unwrap_or_default()) {
                    Some(draws) => self.scores.iter_mut().zip(draws).for_each(|(score, draw)| *score += level * draw),
                    None => self.scores.iter_mut().for_each(|score| *score += stream.laplace(level)),
                }
                let scores = &self.scores;
                ArmStep::Vertex((1..scores.len()).fold(0, |best, at| if scores[at] < scores[best] { at } else { best }))
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

/// A vertex drawn with weights `exp(-unit (+-sum_j))`, by rejection from the uniform law: the weight of the steepest is 1, and where noise is
/// large against the gradient nearly every candidate is taken. **Consumes a varying number of words**, two a candidate: the stream is one
/// trial's and one policy's own, so that runs have the same bits for any backend, batch and shard; but cells that differ in epsilon
/// meet different draws after the first candidate that one of them refuses, and are compared as if independent.
fn exponential(sum: &[f64], steepest: f64, unit: f64, stream: &mut Stream) -> usize {
    let (d, most) = (sum.len(), unit * steepest);
    loop {
        let candidate = stream.index(2 * d);
        let score = if candidate < d { unit * sum[candidate] } else { -unit * sum[candidate - d] };
        // Written so that a NaN ends the loop.
        let refused = libm::exp(-score - most) <= stream.uniform();
        if !refused {
            return candidate;
        }
    }
}

/// The largest magnitude.
fn largest(x: &[f64]) -> f64 {
    let mut lanes = [0.0_f64; 8];
    for chunk in x.chunks(8) {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            let size = x.abs();
            *lane = if *lane < size { size } else { *lane };
        }
    }
    lanes.into_iter().fold(0.0, f64::max)
}

impl InteractionPrivatizer for ArmChoices {
    fn release<'a>(&'a mut self, interaction: Raw<Interaction<'a>>, stream: &mut Stream) -> Released<InteractionSignal<'a>> {
        let interaction = interaction.open();
        self.round += 1;
        self.steps.fill(ArmStep::None);
        if interaction.arm < self.terms.n_arms {
            self.contribute(&interaction);
        }
        let warms_up = self.round <= self.terms.n_arms as u64 * self.terms.warm_up;
        if warms_up || !self.terms.synthetic {
            // In the warm-up the arm follows from the round: everybody knows it.
            self.step(interaction.arm.min(self.terms.n_arms - 1), stream);
        } else {
            for arm in 0..self.terms.n_arms {
                self.step(arm, stream);
            }
        }
        Released::mark(InteractionSignal::Steps(&self.steps))
    }
}
