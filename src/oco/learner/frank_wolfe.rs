//! Implements the Frank-Wolfe learners' server: iterates from released directions or vertices.

use crate::oco::set::ConstraintSet;
use privateer_privacy::gradients::GradientQuery;
use std::sync::Arc;

/// Returns the step of round t: `lr/(t + 1)`, at most 1, so that iterates stay in the set.
#[must_use]
pub fn step_size(learning_rate: f64, round: u64) -> f64 {
    (learning_rate / (round as f64 + 1.0)).min(1.0)
}

/// Holds the current and the previous iterate.
#[derive(Debug)]
pub struct FrankWolfe {
    set: Arc<dyn ConstraintSet>,
    now: Vec<f64>,
    before: Vec<f64>,
    direction: Vec<f64>,
    vertex: Vec<f64>,
}

impl FrankWolfe {
    /// Returns the constraint set.
    #[must_use]
    pub fn set(&self) -> &dyn ConstraintSet {
        self.set.as_ref()
    }

    /// Creates a server at the set's centre, where both iterates are equal.
    #[must_use]
    pub fn new(set: Arc<dyn ConstraintSet>) -> Self {
        let d = set.dimension();
        let mut now = vec![0.0; d];
        set.centre(&mut now);
        Self { before: now.clone(), now, direction: vec![0.0; d], vertex: vec![0.0; d], set }
    }

    /// Returns the query to a privatizer.
    #[must_use]
    pub fn query(&self) -> GradientQuery<'_> {
        GradientQuery { now: &self.now, before: &self.before }
    }

    /// Returns the current iterate.
    #[must_use]
    pub fn iterate(&self) -> &[f64] {
        &self.now
    }

    /// Steps by `theta += eta (v - theta)`, v the minimizer along `scale · direction`, scale > 0.
    pub fn follow(&mut self, direction: &[f64], scale: f64, eta: f64) {
        self.direction.iter_mut().zip(direction).for_each(|(to, from)| *to = scale * from);
        let (direction, mut vertex) = (std::mem::take(&mut self.direction), std::mem::take(&mut self.vertex));
        self.set.minimise(&direction, &mut vertex);
        (self.direction, self.vertex) = (direction, vertex);
        self.step(eta);
    }

    /// Steps by `theta += eta (v - theta)`, v the vertex of this index.
    pub fn follow_vertex(&mut self, index: usize, eta: f64) {
        let mut vertex = std::mem::take(&mut self.vertex);
        self.set.vertex(index, &mut vertex);
        self.vertex = vertex;
        self.step(eta);
    }

    fn step(&mut self, eta: f64) {
        std::mem::swap(&mut self.now, &mut self.before);
        for ((now, before), vertex) in self.now.iter_mut().zip(&self.before).zip(&self.vertex) {
            *now = before + eta * (vertex - before);
        }
    }

    /// Returns the last direction that was followed; zeros before the first.
    #[must_use]
    pub fn last_direction(&self) -> &[f64] {
        &self.direction
    }

    /// Returns the last vertex of a step; zeros before the first.
    #[must_use]
    pub fn last_vertex(&self) -> &[f64] {
        &self.vertex
    }
}
