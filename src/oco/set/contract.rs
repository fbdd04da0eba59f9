//! What a constraint set is.

use privateer_config::error::Error;
use privateer_numerics::linalg::Norm;
use privateer_privacy::gradients::Vertices;
use std::fmt;
use std::sync::Arc;

/// A compact convex set C of parameters, with the norm in which losses over it are smooth.
pub trait ConstraintSet: fmt::Debug + Send + Sync {
    /// Dimension d.
    fn dimension(&self) -> usize;

    /// The norm of the geometry; gradients are measured in its dual.
    fn norm(&self) -> Norm;

    /// Largest distance of two points in that norm.
    fn diameter(&self) -> f64;

    /// A fixed point of C: where learners start.
    fn centre(&self, out: &mut [f64]);

    /// Linear minimization: a point of C with the least product with `g`, which is finite. Exact; which of several is stated by the set.
    fn minimise(&self, g: &[f64], out: &mut [f64]);

    /// Moves a finite point to the nearest point of C in the Euclidean norm.
    fn project(&self, theta: &mut [f64]);

    /// Whether a point is in C up to a tolerance on the defining inequalities.
    fn contains(&self, theta: &[f64], tolerance: f64) -> bool;

    /// The vertices, where they are few enough to be listed.
    fn vertices(&self) -> Option<Arc<dyn Vertices>> {
        None
    }

    /// Writes vertex `index`. Does nothing where vertices are not listed.
    fn vertex(&self, index: usize, out: &mut [f64]) {
        let _ = (index, out);
    }

    /// The set in words.
    fn words(&self) -> String;
}

/// A constraint set as read from a spec, before its dimension is known.
pub trait SetPlan: fmt::Debug + Send + Sync {
    /// The set in this dimension.
    ///
    /// # Errors
    /// A dimension that does not suit.
    fn build(&self, dimension: usize) -> Result<Arc<dyn ConstraintSet>, Error>;
}
