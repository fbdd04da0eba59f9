//! Private online convex optimization: constraint sets, losses, streams of samples, learners.
//!
//! In reading order: where parameters live ([`set`]), what is minimised ([`loss`]), where samples come from ([`problem`]) and who learns
//! ([`learner`]). Norms are in `linalg`, privatizers of gradients in `privacy::gradients`.
//!
//! **Invariant:** knows nothing of bandits. A learner's server half holds released values alone; samples reach it sealed.

pub mod learner;
pub mod loss;
pub mod problem;
pub mod set;
