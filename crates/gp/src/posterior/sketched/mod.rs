//! The posterior over a Nystrom embedding: the posterior with its saved state, the changes that a screen has not yet applied,
//! and triangular factors solved from the right.

mod pending;
mod posterior;
#[cfg(test)]
mod tests;
mod triangular;

pub use posterior::SketchedPosterior;
