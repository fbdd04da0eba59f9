//! Runs pivot rounds for sixteen interleaved trials, one trial per SIMD lane.
//!
//! The trials' factors are rounded and interleaved (`factors`). Data common to the trials (the matrix of the
//! interpolation, the features) are read as scalars, and every sum of a trial stays in its SIMD lane.
//!
//! * **Means** are products of the rounded weights with the features, which costs no more than an interpolation.
//! * **Errors** of forms are bounded by `s² |trace(x)| + |A - s² I|_F rho(x)`, with
//!   `trace(x) = |phi(x)|² - sum c_j |phi(p_j)|²` and norms about the mean of the factor's diagonal.
//!   Where noise on a diagonal dominates a precision matrix this is much smaller than `|R|_F² rho(x)`, so fewer pivots
//!   suffice than for single trials.
//! * **Blocks.** On a dense domain the points of a block are interpolated from `K` chosen points of the block, whose
//!   forms come from the pivots of the whole domain: `N_s (r + m) + 2 N K` multiply-adds for `N_s` chosen points instead
//!   of `N (r + m)`.
//! * **Candidates.** Tiles of twelve points that cannot hold the best are dropped. The remaining points are recomputed in
//!   f64, bounded by intervals, and compared with the best of them, where shared errors cancel (`refine`).
//!
//! Derivation: `docs/derivations/pivot-interpolation.md`, section "Interleaved trials".

mod factors;
mod kernels;
mod refine;
mod round;
mod table;

pub use factors::LANES;
pub use round::{LaneScreen, LaneTables};
pub use table::LaneTable;
