//! Defines what a privatizer of interactions receives and releases.

use crate::gram::GramLayout;
use crate::noise::Noise;
use crate::{Raw, Released};

/// Holds one user's data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interaction<'a> {
    /// Context of the user, one number per feature.
    pub context: &'a [f64],
    /// Arm shown, 0-based; it follows the context, so it is as secret.
    pub arm: usize,
    /// Reward of the arm.
    pub reward: f64,
}

/// Holds what is released after an interaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InteractionSignal<'a> {
    /// The interaction unchanged: not private.
    Interaction(Interaction<'a>),
    /// Running sums, which replace the earlier ones.
    Sums {
        /// Order of the entries.
        layout: GramLayout,
        /// Sums with their noise.
        entries: &'a [f64],
        /// Standard deviation of the noise on an off-diagonal entry of a matrix.
        gram_std: f64,
    },
    /// The step of each arm's stream of choices.
    Steps(&'a [ArmStep]),
    /// Nothing this round.
    Nothing,
}

/// Receives the interactions of one trial and releases signals.
pub trait InteractionPrivatizer: Send {
    /// Takes an interaction and returns its release.
    fn release<'a>(&'a mut self, interaction: Raw<Interaction<'a>>, noise: Noise<'_>) -> Released<InteractionSignal<'a>>;
}

/// Seals a reward together with its context and arm.
pub fn seal(context: &[f64], arm: usize, reward: Raw<f64>) -> Raw<Interaction<'_>> {
    Raw::seal(Interaction { context, arm, reward: reward.open() })
}

/// Says what an arm's stream released in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArmStep {
    /// The arm made no step.
    None,
    /// The arm stepped towards zero: the gradient was zero and nothing was drawn.
    Zero,
    /// The arm stepped towards vertex `index`, in the order `+e_1 … +e_d, -e_1 … -e_d`.
    Vertex(usize),
}
