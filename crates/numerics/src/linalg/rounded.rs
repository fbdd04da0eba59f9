//! The rounding error of long-lived states.

/// Bounds the rounding errors of a state after repeated updates, as a share of its terms.
///
/// Each update sums `terms` terms. The estimate is one rounding of each term per update, doubled for the two products,
/// times a safety factor of four; the errors of successive updates add up like the square root of their number. The
/// distance from exact arithmetic can be larger.
pub fn rounded_share(terms: f64, updates: f64) -> f64 {
    8.0 * (terms + 8.0) * f64::EPSILON * (1.0 + updates.sqrt())
}
