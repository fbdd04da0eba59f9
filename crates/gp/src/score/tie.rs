//! The tie rule of every recorded argmax.

/// Values within `TIE_TOLERANCE * (1 + |best|)` of the best tie, and the lowest index wins.
///
/// Last bits differ between processors and libraries, and a flat prior is an exact tie.
pub const TIE_TOLERANCE: f64 = 1e-10;

/// Returns how far below a largest value of `best` others still tie with it.
#[inline(always)]
pub fn tie_margin(best: f64) -> f64 {
    TIE_TOLERANCE * (1.0 + best.abs())
}

/// Returns the lowest index among the values that tie with the largest.
///
/// Items come in any order. `None` if there are no items, one value is NaN or the largest is infinite.
pub fn lowest_within_tie<I: Copy + Ord>(scored: &[(I, f64)]) -> Option<I> {
    let mut best = f64::NEG_INFINITY;
    for &(_, value) in scored {
        if value.is_nan() {
            return None;
        }
        best = best.max(value);
    }
    let floor = best - tie_margin(best);
    scored.iter().filter(|&&(_, value)| floor <= value).map(|&(index, _)| index).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ties_go_to_the_lowest_index() {
        assert_eq!(lowest_within_tie(&[(3, 1.0), (5, 1.0 + 1e-11), (9, 0.5)]), Some(3));
        assert_eq!(lowest_within_tie(&[(9, 0.5), (5, 1.0 + 1e-11), (3, 1.0)]), Some(3));
        assert_eq!(lowest_within_tie(&[(3, 1.0), (5, 1.0 + 1e-9)]), Some(5));
        assert_eq!(lowest_within_tie::<usize>(&[]), None);
        assert_eq!(lowest_within_tie(&[(0, f64::NAN)]), None);
    }
}
