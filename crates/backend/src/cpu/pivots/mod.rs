//! Interpolates the scores of a full factor from a few pivots.
//!
//! A model that changes completely every round gives its posterior variance as a form `|R phi(x)|²`. It is evaluated at `r`
//! pivots `p_j`, chosen once from the table, and interpolated with one fixed `N x r` matrix `C`, which interpolates means
//! as well. A round costs `r m²/2 + 2 N r` multiply-adds per trial instead of `5/8 N m²`.
//!
//! * **Pivots** are those of a pivoted Cholesky factorization of `kappa(x, y) = (phi(x)·phi(y))²`: the next one is the
//!   point of the largest residual `d(x)`. Row `c(x)` of `C` solves `L^T c = l(x)`, for the factor `L` of the pivots and
//!   the coordinates `l(x)` of a point (`choose`, `table`).
//! * **Errors.** A form is off by at most `|R|_F² rho(x)` and a mean by `|w| delta(x)`. `delta` is measured at set-up,
//!   `rho` is bounded there. Rounding in f32 adds terms in `|c(x)|_1` (`round`).
//! * **When.** The set-up costs `N r (2 m + r)` multiply-adds in f64. A screen uses dense products until their counted work
//!   reaches that of the set-up, so the total is at most twice the smaller of the two. Domains of larger rank never
//!   interpolate. Nothing depends on time, and no recorded number depends on the interpolation: exact scores decide between
//!   candidates.
//!
//! Several trials are interleaved, sixteen at a time, with fewer pivots: see `lanes`.
//! Derivation: `docs/derivations/pivot-interpolation.md`.

mod choose;
mod kernels;
mod lanes;
mod round;
mod table;

pub use choose::{FINE, FINE_OF_LANES, PivotGrowth, dense_work, work_by_pivots};
pub use lanes::{LANES, LaneScreen, LaneTable, LaneTables};
pub use round::{AskedTrial, PivotScreen};
pub use table::Interpolation;

#[cfg(test)]
mod tests;
