//! Interpolates the scores of a full factor from a few pivots, for sixteen interleaved trials, one trial per SIMD lane.
//!
//! A model that changes completely every round gives its posterior variance as a form `|R phi(x)|²`. It is evaluated at `r`
//! pivots `p_j`, chosen once from the table, and interpolated with one fixed `N x r` matrix `C`. Means are products of the
//! rounded weights with the features, which costs no more. A round costs `r m²/2 + N (r + m)` multiply-adds per trial instead
//! of `5/8 N m²`.
//!
//! * **Pivots** are those of a pivoted Cholesky factorization of `kappa(x, y) = (phi(x)·phi(y))²`: the next one is the
//!   point of the largest residual `d(x)`. Row `c(x)` of `C` solves `L^T c = l(x)`, for the factor `L` of the pivots and
//!   the coordinates `l(x)` of a point (`choose`, `interpolation`).
//! * **Errors** of forms are bounded by `s² |trace(x)| + |A - s² I|_F rho(x)`, with
//!   `trace(x) = |phi(x)|² - sum c_j |phi(p_j)|²` and norms about the mean of the factor's diagonal; `trace` and `rho` are
//!   bounded at set-up. Rounding in f32 adds terms in `|c(x)|_1` (`round`).
//! * **Lanes.** Data common to the trials (the matrix, the features) are read as scalars, and every sum of a trial stays in its
//!   SIMD lane (`factors`, `kernels`); lanes without a trial are zero.
//! * **Blocks.** On a dense domain the points of a block are interpolated from `K` chosen points of the block, whose
//!   forms come from the pivots of the whole domain: `N_s (r + m) + 2 N K` multiply-adds for `N_s` chosen points (`table`).
//! * **Candidates.** Tiles of twelve points that cannot hold the best are dropped. The remaining points are recomputed in
//!   f64, bounded by intervals, and compared with the best of them, where shared errors cancel (`refine`).
//! * **When.** The set-up costs `N r (m + r)` multiply-adds in f64. A screen uses dense products until their counted work
//!   reaches that of the set-up, so the total is at most twice the smaller of the two. Domains of larger rank never
//!   interpolate. No recorded number depends on the interpolation: exact scores decide between candidates.
//!
//! Derivation: `docs/derivations/pivot-interpolation.md`.

mod choose;
mod factors;
mod interpolation;
mod kernels;
mod refine;
mod round;
mod table;

pub use choose::PivotGrowth;
pub use factors::LANES;
pub use interpolation::Interpolation;
pub use refine::PivotTables;
pub use round::{AskedTrial, PivotScreen};
pub use table::PivotTable;
