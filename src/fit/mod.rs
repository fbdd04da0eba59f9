//! Hyperparameters by maximum likelihood, on a subsample of a table.
//!
//! In reading order: the likelihood and what is fitted (`likelihood`), the minimizer of a few variables (`simplex`).
//! **Invariant:** knows no policy and no privacy; what it finds is about the raw data, and whoever runs it says so.

mod likelihood;
mod simplex;

pub use likelihood::{Fitted, LikelihoodForm, fit};
pub use simplex::{Minimum, minimise};
