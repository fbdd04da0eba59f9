//! Defines the constraint sets with linear minimization, projection, vertices and diameter.

mod contract;
mod list;
mod lp_ball;
mod polytope;
mod simplex;

#[cfg(test)]
mod oracle_tests;

pub use contract::{ConstraintSet, SetPlan};
pub use list::{SETS, parse_set};
pub use lp_ball::LpBall;
pub use polytope::Polytope;
pub use simplex::Simplex;
