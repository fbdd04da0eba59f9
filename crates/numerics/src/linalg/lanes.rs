//! Runs loops with SIMD lanes.

/// Rows are padded with zeros to a multiple of this length.
pub const LANES: usize = 8;

/// Runs a loop with the widest SIMD lanes of the processor, selected at run time.
pub(super) fn wide<T: pulp::NullaryFnOnce>(task: T) -> T::Output {
    pulp::Arch::new().dispatch(task)
}
