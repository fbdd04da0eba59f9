//! Implements the Frank-Wolfe learners' server: iterates from released directions or vertices.

use crate::oco::set::ConstraintSet;
use privateer_privacy::gradients::GradientQuery;
use std::sync::Arc;

/// Returns the step of round t: `lr/(t + 1)`, at most 1, so that iterates stay in the set.
pub fn step_size(learning_rate: f64, round: u64) -> f64 {
    (learning_rate / (round as f64 + 1.0)).min(1.0)
}

/// Holds the current and the previous iterate of one trial, or of several: their vectors follow one another.
#[derive(Debug)]
pub struct FrankWolfe {
    pub(super) set: Arc<dyn ConstraintSet>,
    now: Vec<f64>,
    before: Vec<f64>,
    /// The last direction that was followed; zeros before the first.
    pub direction: Vec<f64>,
    /// The last vertex of a step; zeros before the first.
    pub vertex: Vec<f64>,
}

impl FrankWolfe {
    /// Creates the servers of this number of trials at the set's centre, where both iterates are equal.
    pub fn new(set: Arc<dyn ConstraintSet>, n_trials: usize) -> Self {
        let now = set.centre().repeat(n_trials);
        Self { before: now.clone(), direction: vec![0.0; now.len()], vertex: vec![0.0; now.len()], now, set }
    }

    pub fn query(&self) -> GradientQuery<'_> {
        GradientQuery { now: &self.now, before: &self.before }
    }

    pub fn iterate(&self) -> &[f64] {
        &self.now
    }

    /// Steps by `theta += eta (v - theta)`, v the minimizer along `scale · direction`, scale > 0.
    pub fn follow(&mut self, direction: &[f64], scale: f64, eta: f64) {
        self.direction.iter_mut().zip(direction).for_each(|(to, from)| *to = scale * from);
        self.set.minimise_rows(&self.direction, &mut self.vertex);
        self.step(eta);
    }

    /// Steps by `theta += eta (v - theta)`, v the vertex of this index.
    pub fn follow_vertex(&mut self, index: usize, eta: f64) {
        self.set.vertex(index, &mut self.vertex);
        self.step(eta);
    }

    fn step(&mut self, eta: f64) {
        std::mem::swap(&mut self.now, &mut self.before);
        for ((now, before), vertex) in self.now.iter_mut().zip(&self.before).zip(&self.vertex) {
            *now = before + eta * (vertex - before);
        }
    }
}
