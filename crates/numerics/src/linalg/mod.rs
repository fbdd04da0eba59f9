//! Dense f64 routines in one fixed order of operations, on row-major slices.
//!
//! **Invariant:** these routines start no thread, call no BLAS and leave no product to be contracted: the bits depend on
//! the input alone. Where products are fused (`reflected`, factors and inverses in `cholesky`), the source says so,
//! and every machine rounds them alike.

mod cbrt;
mod choice;
mod cholesky;
mod column_dots;
mod columns;
mod convolution;
mod dot;
mod exp;
mod lasso;
mod norms;
mod outer;
mod pow;
mod reflected;
mod rounded;
mod rows;
mod symmetric;
mod triangle_sums;

pub use choice::{least, running_weights};
pub use cholesky::{
    Eight, GrowingCholesky, LANES, NotPositive, Rotated, TILE, cholesky, cholesky_repaired, cholesky_upper, cholesky_upper_kept,
    factor_eight, interleave_upper, inverse_of_upper_transposed, inverse_spd, log_determinant, lost_in_solves, place,
    separate_lower, solve_lower, solve_lower_transposed, solve_spd, solve_upper, solve_upper_transposed,
};
pub use columns::Columns;
pub use convolution::{ComplexLanes, MiddleProduct};
pub use dot::{add_scaled, dot, dot_depth, four_dots, sum_of_squares};
pub use exp::exp_of_block;
pub use lasso::Lasso;
pub use norms::{Norm, Power, TOGETHER as ROWS_TOGETHER};
pub use outer::add_outer_products;
pub use pow::{pow, pow_of_block};
pub use reflected::{Fractions, InverseRoot, Polar, padded_length};
pub use rounded::rounded_share;
pub use rows::{SUMS, add_rows, add_rows_to_each, add_rows_wide, dot_rows};
pub use symmetric::{Eigen, eigen_symmetric, eigenvalues_symmetric};
pub use triangle_sums::TriangleSums;
