//! Runs gradient descent in secret and releases noisy points of it: a few (FeldmanKorenTalwar2020), or every iterate.
//!
//! The price rests on steps that never increase distances: the loss is convex, a step is at most `2/beta` in the Euclidean norm,
//! and the projection is onto a convex set. Proof: `docs/proofs/gradients.md`.

use super::leaf::Leaf;
use super::{Clip, Gradient, Sample, VectorNoise};
use crate::{Raw, Released};
use privateer_numerics::rng::Stream;
use std::fmt;
use std::sync::Arc;

/// Moves points to the nearest point of a convex set, in the Euclidean norm.
pub trait Projection: fmt::Debug + Send + Sync {
    /// Projects `theta`.
    fn project(&self, theta: &mut [f64]);
}

/// Describes one step of a hidden descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HiddenStep {
    /// Number of samples whose mean gradient is followed, at least 1.
    pub batch: u64,
    /// Length of the step.
    pub eta: f64,
    /// Share of the distance to the start that the step removes: `eta alpha` for a regulariser `alpha |theta - start|_2²/2`.
    pub shrink: f64,
    /// Factor of a draw of noise that is added to the iterate; 0 draws nothing.
    pub noise: f64,
    /// What is released after this step.
    pub release: Option<HiddenRelease>,
}

/// Says what is released.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HiddenRelease {
    /// The iterate, whose noise its steps have added.
    Iterate,
    /// The iterate plus a draw of noise times this factor; the descent goes on from the iterate itself (JainKothariThakurta2012).
    NoisyIterate(f64),
    /// The mean of the iterates since the last release, plus a draw of noise times this factor.
    Mean(f64),
}

/// Returns the step of a number, from 0; `None` after the last one.
pub type HiddenSteps = dyn Fn(u64) -> Option<HiddenStep> + Send + Sync;

/// Holds the secret iterate; a released mean, projected, is the start of what follows.
pub struct HiddenDescent {
    leaf: Leaf,
    projection: Arc<dyn Projection>,
    steps: Arc<HiddenSteps>,
    noise: Box<dyn VectorNoise>,
    step: Option<HiddenStep>,
    n_steps: u64,
    start: Vec<f64>,
    theta: Vec<f64>,
    /// Sum of the gradients of a batch, and of the iterates since the last release.
    gradients: Vec<f64>,
    iterates: Vec<f64>,
    drawn: Vec<f64>,
    released: Vec<f64>,
    n_in_batch: u64,
    n_iterates: u64,
}

impl HiddenDescent {
    /// Makes a descent from `start`; `clip.gradient` bounds each gradient.
    pub fn new(
        gradient: Arc<dyn Gradient>,
        start: Vec<f64>,
        clip: Option<Clip>,
        projection: Arc<dyn Projection>,
        steps: Arc<HiddenSteps>,
        noise: Box<dyn VectorNoise>,
    ) -> Self {
        let zeros = || vec![0.0; start.len()];
        Self {
            leaf: Leaf::new(gradient, start.len(), clip),
            projection,
            noise,
            step: steps(0),
            steps,
            n_steps: 0,
            gradients: zeros(),
            iterates: zeros(),
            drawn: zeros(),
            released: zeros(),
            theta: start.clone(),
            start,
            n_in_batch: 0,
            n_iterates: 0,
        }
    }

    /// Takes one sample; returns the point if its step releases one.
    pub fn release(&mut self, sample: Raw<Sample<'_>>, stream: &mut Stream) -> Option<Released<&[f64]>> {
        let HiddenStep { batch, eta, shrink, noise, release } = self.step?;
        let leaf = self.leaf.plain(&self.theta, sample.open());
        self.gradients.iter_mut().zip(leaf).for_each(|(sum, leaf)| *sum += leaf);
        self.n_in_batch += 1;
        if self.n_in_batch < batch {
            return None;
        }
        if shrink != 0.0 {
            self.theta.iter_mut().zip(&self.start).for_each(|(theta, start)| *theta -= shrink * (*theta - start));
        }
        let share = eta / self.n_in_batch as f64;
        self.theta.iter_mut().zip(&self.gradients).for_each(|(theta, sum)| *theta -= share * sum);
        if noise != 0.0 {
            self.noise.draw(stream, &mut self.drawn);
            self.theta.iter_mut().zip(&self.drawn).for_each(|(theta, drawn)| *theta += noise * drawn);
        }
        self.projection.project(&mut self.theta);
        self.gradients.fill(0.0);
        self.n_in_batch = 0;
        self.n_steps += 1;
        self.step = (self.steps)(self.n_steps);
        self.iterates.iter_mut().zip(&self.theta).for_each(|(sum, theta)| *sum += theta);
        self.n_iterates += 1;
        match release? {
            HiddenRelease::Iterate => self.released.copy_from_slice(&self.theta),
            HiddenRelease::NoisyIterate(size) => {
                self.noise.draw(stream, &mut self.drawn);
                for ((out, theta), drawn) in self.released.iter_mut().zip(&self.theta).zip(&self.drawn) {
                    *out = theta + size * drawn;
                }
            }
            HiddenRelease::Mean(size) => {
                self.noise.draw(stream, &mut self.drawn);
                let n = self.n_iterates as f64;
                for ((out, sum), drawn) in self.released.iter_mut().zip(&self.iterates).zip(&self.drawn) {
                    *out = sum / n + size * drawn;
                }
                self.theta.copy_from_slice(&self.released);
                self.projection.project(&mut self.theta);
            }
        }
        self.iterates.fill(0.0);
        self.n_iterates = 0;
        Some(Released::mark(self.released.as_slice()))
    }
}

impl fmt::Debug for HiddenDescent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HiddenDescent").field("step", &self.step).field("n_steps", &self.n_steps).finish_non_exhaustive()
    }
}
