//! Implements private online convex optimization: sets, losses, streams of samples, learners.
//!
//! In reading order: the parameters' set ([`set`]), the minimised loss ([`loss`]), the samples' source ([`problem`]) and the
//! learners ([`learner`]). Norms are in `linalg`, privatizers of gradients in `privacy::gradients`.
//!
//! **Invariant:** this code is independent of bandits. A learner's server stores released values alone; samples reach the
//! learner sealed.

pub mod learner;
pub mod loss;
pub mod problem;
pub mod set;
