//! Scores of a whole factor by interpolation from a few pivots.
//!
//! `|R phi(x)|² = <A, g(x)>` with `A = R^T R` and `g(x) = phi(x) phi(x)^T`, and `<g(x), g(y)> = kappa(x, y) = (phi(x)·phi(y))²`: over
//! the domain all these forms live in the space of `kappa`, whose numerical rank `r` is small where the kernel is smooth, whatever
//! the number of features. So a form is evaluated at `r` pivots `p_j`, once and for all chosen, and interpolated with one fixed `N x r`
//! matrix `C`, which carries means as well: a round costs `r m²/2 + 2 N r` multiply-adds a trial in the place of `5/8 N m²`.
//!
//! **Pivots and matrix.** Pivoted Cholesky of `kappa`: the next pivot is the point of the largest residual `d(x)`. With the lower
//! factor `L` of the pivots and the coordinates `l(x)` of a point, row `c(x)` of `C` solves `L^T c = l(x)`.
//!
//! **The error of interpolation**, whatever the factor: `|<A, g(x) - sum c_j g(p_j)>| <= |A|_F rho(x) <= |R|_F² rho(x)`, since `A` is
//! positive, and `|w·(phi(x) - sum c_j phi(p_j))| <= |w| delta(x)`. `delta` is measured at set-up. Of `rho` a bound is proved there: with
//! `K = L L^T + E_K`, `k(x) = L l(x) + e`, `kappa(x, x) = |l(x)|² + d(x) + e'` for the numbers that were computed,
//!
//! `rho² = |l - L^T c|² + d + e' - 2 c·e + c·E_K c <= |l - L^T c|² + d + (1 + |c|_1)² eps + (1 + |c|²) eps_d`.
//!
//! `eps` bounds the rounding of an entry of `kappa` and of the sum that reduces it, `eps_d` that of a running residual. Let `u = 2^-53` and `D =
//! max |phi|²`. Sums run in groups of 16, so a number passes through `depth(n) = 16 + n/16 + 2` roundings; `eps = 1.25 (2 depth(m) +
//! depth(r) + 8) u D²`, `eps_d = 1.25 (r + 8) u D²`; the substitution behind `c` is backward stable: `|l - L^T c| <= depth(r) u |c|_1 D`. More
//! pivots than bring `d` to the level of `16 eps` would not lower the bound.
//!
//! **The rounding of a round**, in f32 with `u = 2^-24`: coordinates `y = R phi(p_j)` err by `e_y = 1.25 (depth + 3) u |R|_F |phi|`, so a form `v_j`
//! by `2 e_y sqrt(v) + e_y²` and the rounding of its sum of squares; means at pivots are sums in f64. The interpolation multiplies errors at pivots by
//! `|c(x)|_1` and adds `1.25 (depth' + 3) u |c(x)|_1 max |v|`, `depth' = 32 + r/32 + 1`. What a sum of the form `a + b |c(x)|_1 + c rho(x)` cannot say
//! of a point is not in the band.
//!
//! Trials whose factors lie side by side have a path of their own over the same pivots: see `lanes`.
//!
//! **When.** The set-up costs `N r (2 m + r)` multiply-adds in f64. A screen scores by dense products until their counted work reaches that of the set-up, so
//! at most twice the least; domains whose rank is not small enough never interpolate. Nothing here depends on time, and
//! nothing of it enters a recorded number: candidates are decided by exact scores.

mod choose;
mod kernels;
mod lanes;
mod round;
mod table;

pub use choose::{FINE, FINE_OF_LANES, PivotGrowth, dense_work, work_by_pivots};
pub use lanes::{AskedLane, LaneScreen, LaneTable, LaneTables};
pub use round::{AskedTrial, PivotScreen};
pub use table::Interpolation;

#[cfg(test)]
mod tests;
