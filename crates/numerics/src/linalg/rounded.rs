//! What long-lived states round off.

/// The share of what they are made of that updates of a state have rounded off, each of sums of so many terms: about one rounding of each term an update, doubled
/// for the two products, times a safety factor of four; roundings of successive updates add up like their square root. The distance from
/// exact arithmetic can be larger.
#[must_use]
pub fn rounded_share(terms: f64, updates: f64) -> f64 {
    8.0 * (terms + 8.0) * f64::EPSILON * (1.0 + updates.sqrt())
}
