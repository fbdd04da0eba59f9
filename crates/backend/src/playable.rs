//! Lists the points that may be played in a round.

/// Returns the points of the subset, or all points, in ascending order.
pub fn playable(n_points: usize, subset: Option<&[u32]>) -> impl Iterator<Item = u32> + Clone {
    let all = if subset.is_some() { 0..0 } else { 0..n_points as u32 };
    subset.unwrap_or_default().iter().copied().chain(all)
}
