//! Implements the simplex `theta >= 0, sum theta = total`, in the l_1 geometry.

use super::lp_ball::simplex_level;
use super::{ConstraintSet, SetPlan};
use privateer_config::params::Args;
use privateer_numerics::linalg::{Norm, least};
use privateer_privacy::gradients::Vertices;
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
pub struct Simplex {
    total: f64,
    dimension: usize,
}

pub fn parse(args: &Args<'_>) -> Box<SetPlan> {
    let total = args.number("total", "sum of the parameters").above(0.0).at_most(1e9).or(1.0);
    Box::new(move |dimension| Ok(Arc::new(Simplex::new(total, dimension))))
}

impl Simplex {
    /// Creates the simplex for `total > 0`, `dimension >= 1`.
    pub fn new(total: f64, dimension: usize) -> Self {
        Self { total, dimension }
    }
}

impl ConstraintSet for Simplex {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn norm(&self) -> Norm {
        // The l_1 norm, as the dual of the max norm.
        Norm::MAX.dual()
    }

    fn diameter(&self) -> f64 {
        if self.dimension == 1 { 0.0 } else { 2.0 * self.total }
    }

    fn centre(&self) -> Vec<f64> {
        vec![self.total / self.dimension as f64; self.dimension]
    }

    /// Writes the vertex of the least coordinate of g, the lowest index among equals.
    fn minimise(&self, g: &[f64], out: &mut [f64]) {
        self.vertex(least(g), out);
    }

    fn project(&self, theta: &mut [f64]) {
        // The level may be negative here; after this shift the largest entry alone exceeds the sum.
        let lowest = theta.iter().copied().fold(f64::INFINITY, f64::min);
        let mut shifted: Vec<f64> = theta.iter().map(|x| x - lowest + self.total).collect();
        let level = simplex_level(&mut shifted, self.total) + lowest - self.total;
        theta.iter_mut().for_each(|x| *x = (*x - level).max(0.0));
    }

    fn contains(&self, theta: &[f64], tolerance: f64) -> bool {
        let slack = tolerance * self.total;
        theta.len() == self.dimension
            && theta.iter().all(|x| -slack <= *x)
            && (theta.iter().sum::<f64>() - self.total).abs() <= slack
    }

    fn vertices(&self) -> Option<Arc<dyn Vertices>> {
        Some(Arc::new(*self))
    }

    fn vertex(&self, index: usize, out: &mut [f64]) {
        out.fill(0.0);
        out[index] = self.total;
    }

    fn words(&self) -> String {
        format!("simplex of sum {} in {} dimensions", self.total, self.dimension)
    }
}

impl Vertices for Simplex {
    fn count(&self) -> usize {
        self.dimension
    }

    fn scores(&self, direction: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(direction).for_each(|(out, g)| *out = self.total * g);
    }
}
