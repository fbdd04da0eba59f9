//! Dense f64 routines in one fixed order of operations, on row-major slices.
//!
//! **Invariant:** these routines start no thread, call no BLAS and leave no product to be contracted: the bits depend on
//! the input alone. Where products are fused (`reflected`, factors and inverses in `eight` and `upper`), the source says so,
//! and every machine rounds them alike.

mod cbrt;
mod choice;
mod cholesky;
mod column_dots;
mod columns;
mod convolution;
mod dot;
mod eight;
mod exchange;
mod exp;
mod growing;
mod lanes;
mod lasso;
mod norms;
mod outer;
mod pow;
mod reflected;
mod rounded;
mod rows;
mod symmetric;
mod triangle_sums;
mod triangular;
mod upper;

pub use choice::{least, running_weights};
pub use cholesky::{NotPositive, Repair, cholesky, cholesky_repaired, log_determinant};
pub use columns::Columns;
pub use convolution::{ComplexLanes, MiddleProduct};
pub use dot::{add_scaled, dot, four_dots, sum_of_squares};
pub use eight::{Eight, Factorize, Invert, LANES, Solve, TILE, place};
pub use exchange::{interleave_upper, separate_lower};
pub use exp::{exp, exp_of_block};
pub use growing::{GrowingCholesky, lost_in_solves};
pub use lanes::wide;
pub use lasso::Lasso;
pub use norms::{Norm, Power, TOGETHER as ROWS_TOGETHER};
pub use outer::add_outer_products;
pub use pow::pow;
pub use reflected::{Fractions, InverseRoot, Polar, padded_length};
pub use rounded::rounded_share;
pub use rows::{add_rows, add_rows_wide, dot_rows};
pub use symmetric::{Eigen, eigen_symmetric};
pub use triangle_sums::TriangleSums;
pub use triangular::{inverse_spd, solve_lower, solve_lower_transposed, solve_spd};
pub use upper::{cholesky_upper, cholesky_upper_kept, inverse_of_upper_transposed, solve_upper};
