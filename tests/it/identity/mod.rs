//! What must not change a result, and what must: bands, posteriors, luck, sizes.

mod ask_tell;
mod backends;
mod bands;
mod forms;
mod luck;
mod posteriors;
mod sizes;
