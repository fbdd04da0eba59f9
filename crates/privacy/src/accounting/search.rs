//! Searches for the point at which a condition starts or ceases to hold.

/// Narrows a bracket and returns its end where `holds` is true.
/// The last bracket has the relative width `tolerance`, or ends at neighbouring doubles. The condition holds at `yes` and not at `no`, either of which may be the larger.
pub(crate) fn bisect(mut no: f64, mut yes: f64, tolerance: f64, holds: impl Fn(f64) -> bool) -> f64 {
    loop {
        let (low, high) = (no.min(yes), no.max(yes));
        let middle = low + 0.5 * (high - low);
        if high - low <= tolerance * high || middle <= low || high <= middle {
            return yes;
        }
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
}
