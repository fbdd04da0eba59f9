//! The posterior over a Nystrom embedding.
//!
//! Its matrices, coordinates of the symmetric root, the changes that a screen has not yet applied, and triangular
//! factors solved from the right.

mod domain_root;
mod matrices;
mod pending;
mod posterior;
#[cfg(test)]
mod tests;
mod triangular;

pub use domain_root::DomainRoot;
pub use posterior::SketchedPosterior;
