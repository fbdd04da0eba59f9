//! Releases noisy choices of a vertex along recursive gradients.
//! Source: [Han2022, algorithm 2, lines 3 to 9].

use super::leaf::Leaf;
use super::{ChoiceLaw, Clip, Gradient, GradientQuery, LaplaceVector, Sample, Start, VectorNoise, Vertices};
use crate::planted::{self, PlantedFault};
use crate::{Raw, Released};
use privateer_numerics::linalg::{least, running_weights};
use privateer_numerics::rng::Stream;
use std::sync::Arc;

/// Says how the vertex is chosen in round t.
#[derive(Debug)]
pub enum Choice {
    /// The least score, the lowest index among equal scores; no draw.
    Exact,
    /// The least score after noise of this law, divided by sqrt(t), is added to each score.
    Noisy(Box<dyn VectorNoise>),
    /// A vertex with probability proportional to `exp(-score sqrt(t) / scale)`.
    /// This is the law of the least score after Gumbel noise, by one draw.
    Exponential {
        /// Scale in round 1, > 0.
        scale: f64,
    },
}

impl From<ChoiceLaw> for Choice {
    fn from(law: ChoiceLaw) -> Self {
        match law {
            ChoiceLaw::Exact => Self::Exact,
            ChoiceLaw::Laplace { scale } => Self::Noisy(Box::new(LaplaceVector { scale })),
            ChoiceLaw::Gumbel { scale } => Self::Exponential { scale },
        }
    }
}

/// Holds one stream of choices; the recursive estimate stays inside.
#[derive(Debug)]
pub struct VertexChoice {
    leaf: Leaf,
    start: Start,
    vertices: Arc<dyn Vertices>,
    choice: Choice,
    sum: Vec<f64>,
    direction: Vec<f64>,
    scores: Vec<f64>,
    noise: Vec<f64>,
    round: u64,
}

impl VertexChoice {
    /// Makes a stream before its first round.
    pub fn new(
        gradient: Arc<dyn Gradient>,
        dimension: usize,
        start: Start,
        clip: Option<Clip>,
        vertices: Arc<dyn Vertices>,
        choice: Choice,
    ) -> Self {
        let n = vertices.count();
        Self {
            leaf: Leaf::new(gradient, dimension, clip),
            start,
            choice,
            sum: vec![0.0; dimension],
            direction: vec![0.0; dimension],
            scores: vec![0.0; n],
            noise: vec![0.0; n],
            vertices,
            round: 0,
        }
    }

    /// Adds one sample's contribution at the queried iterates and releases the index of a vertex.
    pub fn release(&mut self, query: GradientQuery<'_>, sample: Raw<Sample<'_>>, stream: &mut Stream) -> Released<usize> {
        self.round += 1;
        let leaf = self.leaf.recursive(query, [sample.open()], self.round, self.start);
        self.sum.iter_mut().zip(leaf).for_each(|(sum, leaf)| *sum += leaf);
        let t = self.round as f64;
        self.direction.iter_mut().zip(&self.sum).for_each(|(direction, sum)| *direction = sum / (t + 1.0));
        self.vertices.scores(&self.direction, &mut self.scores);
        let root = libm::sqrt(t);
        let chosen = match &mut self.choice {
            Choice::Exact => least(&self.scores),
            Choice::Noisy(law) => {
                law.draw(stream, &mut self.noise);
                self.scores.iter_mut().zip(&self.noise).for_each(|(score, noise)| *score += noise / root);
                least(&self.scores)
            }
            Choice::Exponential { scale } => {
                exponential(&mut self.scores, planted::noise_share(PlantedFault::VertexGumbelNoise) * *scale / root, stream)
            }
        };
        Released::mark(chosen)
    }
}

/// Draws an index with weights `exp(-score/scale)`, using one random-stream word.
/// Afterwards `scores` holds the running sums of the weights.
fn exponential(scores: &mut [f64], scale: f64, stream: &mut Stream) -> usize {
    let total = running_weights(scores, scale);
    let at = stream.uniform() * total;
    scores.partition_point(|&sum| sum <= at).min(scores.len() - 1)
}
