//! Implements `linucb` (AbbasiYadkori2011): one ridge model per arm, without privacy.

use super::contract::best_arm;
use super::{ContextPolicy, ContextPolicyMaker, ContextPolicyPlan, Scratch};
use crate::policy::ExplorationFactor;
use crate::policy::gp_policy::failure_prob;
use privateer_config::error::Error;
use privateer_config::params::Args;
use privateer_numerics::linalg::{add_scaled, dot};
use privateer_numerics::rng::Stream;
use privateer_privacy::Released;
use privateer_privacy::interactions::{ContextFacts, Interaction, InteractionSignal};
use std::sync::Arc;

/// Returns the exploration factor of the coming round, 1-based.
type BetaRule = Arc<dyn Fn(u64) -> f64 + Send + Sync>;

/// Reads the policy's keys.
pub fn parse(args: &Args<'_>) -> ContextPolicyPlan {
    let (beta, failure_prob) = (ExplorationFactor::parse(args), failure_prob(args));
    let ridge = args.number("ridge", "what is added to the diagonal of every arm's matrix").above(0.0).at_most(1e12).or(1.0);
    ContextPolicyPlan::unprotected(move |facts| {
        let (n_arms, dimension, sd) = (facts.n_arms, facts.dimension, noise_scale(facts));
        let (k, d, length, s) = (n_arms as f64, dimension as f64, facts.length, facts.parameter_length);
        // R sqrt(2 ln(1/delta) + K d ln(1 + t L²/(K d ridge))) + sqrt(ridge) S [AbbasiYadkori2011, theorem 2].
        let rule: BetaRule = Arc::new(move |round| {
            let gain = k * d * libm::log1p(round as f64 * length * length / (k * d * ridge));
            beta.value(
                || sd * libm::sqrt(gain - 2.0 * libm::log(failure_prob)) + libm::sqrt(ridge) * s,
                || sd * libm::sqrt(d) + libm::sqrt(ridge) * s,
            )
        });
        ContextPolicyMaker::new(move || LinUcb {
            n_arms,
            rule: Arc::clone(&rule),
            beta: rule(1),
            gains: vec![0.0; dimension],
            state: LinUcbState::new(n_arms, dimension, ridge),
        })
    })
}

/// Returns the standard deviation of a reward that the exploration factor assumes.
///
/// It is the noise's own standard deviation where that is known, else half of the reward's range.
pub(super) fn noise_scale(facts: &ContextFacts) -> f64 {
    let half = facts.range.map(|(lo, hi)| 0.5 * (hi - lo));
    facts.noise_sd.or(half).unwrap_or(1.0)
}

/// Holds the ridge models of the arms, which observe every interaction.
#[derive(Debug, Clone)]
pub(super) struct LinUcbState {
    /// Number of rounds observed.
    pub(super) round: u64,
    /// `V_a^{-1}`, one per arm, updated by the Sherman-Morrison formula.
    inverses: Vec<f64>,
    moments: Vec<f64>,
    thetas: Vec<f64>,
}

impl LinUcbState {
    pub(super) fn new(n_arms: usize, dimension: usize, ridge: f64) -> Self {
        let mut inverses = vec![0.0; n_arms * dimension * dimension];
        for inverse in inverses.chunks_exact_mut(dimension * dimension) {
            (0..dimension).for_each(|i| inverse[i * dimension + i] = 1.0 / ridge);
        }
        let zeros = vec![0.0; n_arms * dimension];
        Self { round: 0, inverses, moments: zeros.clone(), thetas: zeros }
    }

    pub(super) fn mean(&self, arm: usize, x: &[f64]) -> f64 {
        dot(&self.thetas[arm * x.len()..(arm + 1) * x.len()], x)
    }

    fn deviation(&self, arm: usize, x: &[f64]) -> f64 {
        let d = x.len();
        let inverse = &self.inverses[arm * d * d..(arm + 1) * d * d];
        let square: f64 = inverse.chunks_exact(d).zip(x).map(|(row, x_i)| x_i * dot(row, x)).sum();
        libm::sqrt(square.max(0.0))
    }

    /// Adds an interaction; `gains` is scratch of d numbers.
    pub(super) fn add(&mut self, interaction: &Interaction<'_>, gains: &mut [f64]) {
        let (x, arm, d) = (interaction.context, interaction.arm, interaction.context.len());
        let inverse = &mut self.inverses[arm * d * d..(arm + 1) * d * d];
        gains.iter_mut().zip(inverse.chunks_exact(d)).for_each(|(gain, row)| *gain = dot(row, x));
        let factor = 1.0 / (1.0 + dot(gains, x));
        for (row, &gain) in inverse.chunks_exact_mut(d).zip(gains.iter()) {
            add_scaled(row, -gain * factor, gains);
        }
        add_scaled(&mut self.moments[arm * d..(arm + 1) * d], interaction.reward, x);
        for (theta, row) in self.thetas[arm * d..(arm + 1) * d].iter_mut().zip(inverse.chunks_exact(d)) {
            *theta = dot(row, &self.moments[arm * d..(arm + 1) * d]);
        }
    }
}

struct LinUcb {
    n_arms: usize,
    rule: BetaRule,
    /// Exploration factor of the coming round.
    beta: f64,
    gains: Vec<f64>,
    state: LinUcbState,
}

impl ContextPolicy for LinUcb {
    fn choose(&self, context: &[f64], _own: &mut Stream, scratch: &mut Scratch) -> Result<usize, Error> {
        let score = |arm| (arm, self.state.mean(arm, context) + self.beta * self.state.deviation(arm, context));
        best_arm((0..self.n_arms).map(score), &mut scratch.scored)
    }

    fn update(&mut self, signal: &Released<InteractionSignal<'_>>) {
        self.state.round += 1;
        self.beta = (self.rule)(self.state.round + 1);
        if let InteractionSignal::Interaction(interaction) = signal.value() {
            self.state.add(interaction, &mut self.gains);
        }
    }
}
