//! What must not change a result, and what must: bands, posteriors, common random numbers, sizes.

#[cfg(feature = "gpu")]
mod ahead;
mod ask_tell;
mod axes;
mod backends;
mod bands;
mod common_random_numbers;
mod followed;
mod forms;
#[cfg(feature = "gpu")]
mod gpu;
mod one_trial;
mod posteriors;
mod pruned_columns;
mod pruning;
mod sets;
mod sizes;
mod widths;
