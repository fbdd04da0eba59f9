//! Inverse square roots and polar factors, for application to a few vectors.
//!
//! Reflections bring a matrix to tridiagonal or bidiagonal form [Golub & Van Loan 2013, Matrix Computations, 5.4, 8.3],
//! and partial fractions ([`Fractions`]) give the root. No eigenvector is computed.
//!
//! Products and sums are fused (`mul_add`): correctly rounded, so the bits are those of every machine. A processor
//! without fused instructions computes the same numbers slowly.
//!
//! Vectors are stored in rows, padded with zeros to whole SIMD vectors ([`padded_length`]).

mod fractions;
mod inverse_root;
mod polar;
mod reflections;
mod shifted;
mod together;

pub use fractions::Fractions;
pub use inverse_root::InverseRoot;
pub use polar::Polar;
pub use reflections::padded_length;
pub(super) use reflections::{fused, fused_add};
