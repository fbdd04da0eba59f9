//! Holds the formula of Laplace noise on one reward [Zhou2021, curator 1].

use super::Formula;

/// The scale of the noise, for rewards of at most `B + R`.
pub const LAPLACE_SCALE: Formula =
    Formula::new(["Zhou2021", "curator 1", ""], "scale = 2 (B + R)/epsilon", |x| 2.0 * (x.of("B") + x.of("R")) / x.of("epsilon"));

pub(super) const FORMULAS: &[Formula] = &[LAPLACE_SCALE];
