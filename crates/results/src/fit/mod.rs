//! Fits hyperparameters by maximum likelihood, on a subsample of a table.
//!
//! In reading order: the likelihood and the fitted forms (`likelihood`), the minimizer of a few variables (`simplex`), the problem of a
//! table (`table`).
//! **Invariant:** independent of policies and privacy; the result depends on the raw data, and its user must declare that.

mod likelihood;
mod simplex;
mod table;

pub use likelihood::{FittedHyperparameters, LikelihoodForm, fit, most_evaluations};
pub use simplex::{Minimum, minimise};
pub use table::{FittedTable, TableQuestion, draw_rows, quoted, short};
