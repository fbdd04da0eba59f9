//! Rounds by pivots of sixteen trials side by side ([`privateer_gp::score::FactorLanes`]): a vector lane is a trial, so that what is common to trials (the
//! matrix of the interpolation, the features) is read as scalars, and every sum of a trial stays in its lane.
//!
//! **Means** are products of the rounded weights with the features themselves, which costs no more than an interpolation from as many pivots.
//!
//! **About a multiple of the identity.** What a factor of a nearly scaled identity costs an interval is its distance from that: with any `s >= 0` and `N = R - s I`,
//! `<A, D> = s² tr D + <A - s² I, D>`, so `|<A, g(x) - sum c_j g(p_j)>| <= s² |trace(x)| + |A - s² I|_F rho(x)` with `trace(x) = |phi(x)|² - sum c_j |phi(p_j)|²`,
//! which is known at set-up; and as `|R| <= s I + |N|` entry by entry, the rounding of `R phi` is bounded by `s + |N|_F` in the place of `|R|_F`. Models
//! hand out these norms ([`privateer_gp::score::LaneNorms`]). Where noise on a diagonal is most of a precision matrix, `A` is 10 to 30 times nearer to `s² I` than `|R|_F²`
//! says, so that fewer pivots leave intervals as narrow: the choice ends earlier than for trials one by one.
//!
//! **Blocks.** Where the domain is dense, neighbours are interpolated once more: of a block of points in order along the axes, `K` points are chosen
//! as pivots are, for the block alone, and with its rows `u(x)`, `|<A, g(x) - sum u_k g(x_k)>| <= s² |trace_b(x)| + |A - s² I|_F rho_b(x)` and
//! `|w·(phi(x) - sum u_k phi(x_k))| <= |w| delta_b(x)` as before. Forms at the `x_k` come from the pivots of the whole domain, with errors `E_k`; so the form
//! at x errs by that and `sum |u_k| E_k`. A round costs `N_s (r + m) + 2 N K` multiply-adds for `N_s` chosen points in the place of `N (r + m)`.
//!
//! **Candidates.** With an interval of half-width `c + width e / sqrt(v)` around each score (`sqrt(v + e) - sqrt(v)` and `sqrt(v) - sqrt(v - e)`, or `sqrt(v)`
//! where `v < e`, are at most `e / sqrt(v)`), twelve points at a time with the largest `c` and `e` and the smallest `v` of them, a tile that cannot
//! hold the best is dropped. Of the points left, if more than one, forms and means are formed anew in f64 from those at the pivots and from the features,
//! and their intervals decide who is left; then each is compared with the best of them, where the errors at the pivots that both share cancel
//! (`refine`): who still may be the best is a candidate.

mod kernels;
mod refine;
mod round;
mod table;

pub use round::{AskedLane, LaneScreen, LaneTables};
pub use table::LaneTable;
