//! What a privatizer of interactions takes and hands out.

use super::choices::ArmStep;
use super::sums::Layout;
use crate::{Raw, Released};
use privateer_numerics::rng::Stream;

/// One user's data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interaction<'a> {
    /// Who came: one number a feature.
    pub context: &'a [f64],
    /// What was shown, 0-based. Follows the context, so it is as secret.
    pub arm: usize,
    /// What came of it.
    pub reward: f64,
}

/// What leaves after an interaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum InteractionSignal<'a> {
    /// The interaction as it was: not private.
    Interaction(Interaction<'a>),
    /// Running sums that take the place of those before, after `releases` releases.
    Sums {
        /// How they lie.
        layout: Layout,
        /// Sums with their noise.
        entries: &'a [f64],
        /// Standard deviation of the noise on an entry of a matrix, off its diagonal.
        gram_std: f64,
    },
    /// What each arm's stream of choices gave out.
    Steps(&'a [ArmStep]),
    /// Nothing this round.
    Nothing,
}

/// The private side of one trial.
pub trait InteractionPrivatizer: Send {
    /// Takes an interaction in and releases what leaves of it.
    fn release<'a>(&'a mut self, interaction: Raw<Interaction<'a>>, stream: &mut Stream) -> Released<InteractionSignal<'a>>;
}

/// A sealed reward with the context and the arm that it came of.
#[must_use]
pub fn seal(context: &[f64], arm: usize, reward: Raw<f64>) -> Raw<Interaction<'_>> {
    Raw::seal(Interaction { context, arm, reward: reward.open() })
}
