//! Loops over the entries of sums, in SIMD lanes of any width, with the same bits.

use privateer_numerics::vectorised;

vectorised! {
    pub(super) fn are_finite(entries: &[f64]) -> bool {
        // Without an early end, so that entries are tested together.
        entries.iter().fold(true, |all, entry| all & entry.is_finite())
    }
}

vectorised! {
    pub(super) fn add_to(sums: &mut [f64], entries: &[f64]) {
        sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += entry);
    }
}

vectorised! {
    pub(super) fn scale(entries: &mut [f64], factor: f64) {
        entries.iter_mut().for_each(|entry| *entry *= factor);
    }
}
