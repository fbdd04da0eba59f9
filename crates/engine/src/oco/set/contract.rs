//! Defines the interface of constraint sets.

use privateer_config::error::Error;
use privateer_numerics::linalg::Norm;
use privateer_privacy::gradients::Vertices;
use std::fmt;
use std::sync::Arc;

/// Represents a compact convex set C of parameters, with the norm in which losses are smooth.
pub trait ConstraintSet: fmt::Debug + Send + Sync {
    fn dimension(&self) -> usize;

    /// Returns the norm of the geometry; gradients are measured in its dual.
    fn norm(&self) -> Norm;

    /// Returns the largest distance of two points, in that norm.
    fn diameter(&self) -> f64;

    /// Returns a fixed point of C, where learners start.
    fn centre(&self) -> Vec<f64>;

    /// Writes a point of C with the least product with the finite vector `g` (linear minimization).
    ///
    /// The minimization is exact. Each set states which of several minimizers it returns.
    fn minimise(&self, g: &[f64], out: &mut [f64]);

    /// Writes [`ConstraintSet::minimise`] of every row of `g`; rows follow one another.
    fn minimise_rows(&self, g: &[f64], out: &mut [f64]) {
        let d = self.dimension();
        g.chunks_exact(d).zip(out.chunks_exact_mut(d)).for_each(|(g, out)| self.minimise(g, out));
    }

    /// Projects a finite point onto C: the nearest point in the Euclidean norm.
    fn project(&self, theta: &mut [f64]);

    /// Returns whether a point is in C, up to a tolerance on the defining inequalities.
    fn contains(&self, theta: &[f64], tolerance: f64) -> bool;

    /// Returns the vertices, if they are few enough to be listed.
    fn vertices(&self) -> Option<Arc<dyn Vertices>> {
        None
    }

    /// Writes vertex `index`; does nothing if vertices are not listed.
    fn vertex(&self, index: usize, out: &mut [f64]) {
        let _ = (index, out);
    }

    fn words(&self) -> String;
}

/// Builds a constraint set in a dimension that its spec does not know; it fails if the dimension does not suit.
pub type SetPlan = dyn Fn(usize) -> Result<Arc<dyn ConstraintSet>, Error> + Send + Sync;
