//! Feature maps, one file each: `phi(x)·phi(x')` is, or approximates, `k(x, x')`.

pub mod exact;
pub mod nystrom;
pub mod random_fourier;
