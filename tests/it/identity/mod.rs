//! What must not change a result, and what must: bands, posteriors, luck, sizes.

mod bands;
mod luck;
mod posteriors;
mod sizes;
