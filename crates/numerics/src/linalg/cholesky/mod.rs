//! Factors symmetric positive definite matrices, and solves with the factors: one file for each thing to do.

mod batch8;
mod factor;
mod factor_upper;
mod grow;
mod interleave;
mod solve;

pub use batch8::{Eight, LANES, TILE, factor_eight, place};
#[cfg(test)]
use factor::tests::random_spd;
pub use factor::{NotPositive, cholesky, cholesky_repaired, log_determinant};
pub use factor_upper::{cholesky_upper, cholesky_upper_kept, inverse_of_upper_transposed, solve_upper, solve_upper_transposed};
pub use grow::{GrowingCholesky, Rotated, lost_in_solves};
pub use interleave::{interleave_upper, separate_lower};
pub use solve::{inverse_spd, solve_lower, solve_lower_transposed, solve_spd};
