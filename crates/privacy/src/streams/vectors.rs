//! Loops over the entries of sums, in SIMD lanes of any width, with the same bits.

use privateer_numerics::vectorised;

/// Returns whether every entry is finite.
pub(super) fn are_finite(entries: &[f64]) -> bool {
    pulp::Arch::new().dispatch(Finite(entries))
}

/// Adds entry by entry.
pub(super) fn add_to(sums: &mut [f64], entries: &[f64]) {
    pulp::Arch::new().dispatch(AddTo(sums, entries));
}

/// Multiplies every entry.
pub(super) fn scale(entries: &mut [f64], factor: f64) {
    pulp::Arch::new().dispatch(Scale(entries, factor));
}

struct Scale<'a>(&'a mut [f64], f64);

vectorised! {
    fn call(self: Scale<'_>) {
        let factor = self.1;
        self.0.iter_mut().for_each(|entry| *entry *= factor);
    }
}

struct Finite<'a>(&'a [f64]);

vectorised! {
    fn call(self: Finite<'_>) -> bool {
        // Without an early end, so that entries are tested together.
        self.0.iter().fold(true, |all, entry| all & entry.is_finite())
    }
}

struct AddTo<'a>(&'a mut [f64], &'a [f64]);

vectorised! {
    fn call(self: AddTo<'_>) {
        self.0.iter_mut().zip(self.1).for_each(|(sum, entry)| *sum += entry);
    }
}
