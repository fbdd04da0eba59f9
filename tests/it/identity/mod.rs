//! What must not change a result, and what must: bands, posteriors, luck, sizes.

mod ask_tell;
mod axes;
mod backends;
mod bands;
mod followed;
mod forms;
#[cfg(feature = "gpu")]
mod gpu;
mod luck;
mod posteriors;
mod pruned_columns;
mod pruning;
mod sets;
mod sizes;
