//! Feature maps, one file each: `phi(x)·phi(x')` equals or approximates `k(x, x')`.

pub mod exact;
mod measured;
pub mod nystrom;
pub mod quadrature_fourier;
pub mod random_fourier;

pub use measured::{MEASURED_PAIRS, largest_error, measured_error};
