//! Block pruning skips blocks of neighbouring points whose score bound is below the best score.
//!
//! This is branch and bound over blocks, in f64, for models that are described by their visited points.
//!
//! * **State.** A row over the features becomes coefficients `alpha` over the kernel functions `k_i` of the K visited
//!   points (`rows`, `history`): `p(x) = sum alpha_i k_i(x)` costs K multiply-adds a point. `source`, `formula` and
//!   `covariance` compute `k_i(x)`.
//! * **Bounds.** A block keeps bounds on its largest score and posterior standard deviation, from when it was last scored.
//!   They are carried to the present by the means at its reference points, the distance that theta has moved, and the
//!   standardized innovations since (`bounds`, `lattice`, `snapshots`).
//! * **Interpolated bound checks.** Where features are smooth over a plane, a block is bounded from the nodes of an
//!   interpolation grid at a cost that does not depend on the streaks that it missed (`interpolation`).
//! * **Scoring.** A block whose bounds all reach the best score, less tie tolerance and margins, applies the streaks that
//!   it missed (all consecutive observations of one point are a streak) and is scored (`block`, `search`).
//! * **Checks.** Scored points, and points of blocks that were not scored, are compared with exact scores at intervals;
//!   after a violation the trial continues on the dense path.
//! * **Counted work.** The trial also moves to the dense path (`dense`) when its multiply-adds exceed those of that path
//!   (`path`), so the choice depends on the trial alone, never on time or threads.
//!
//! Derivation: `docs/derivations/block-pruning.md`.

mod block;
mod blocks;
mod bounds;
mod covariance;
mod formula;
mod history;
mod interpolation;
mod kernels;
mod lattice;
pub(crate) mod order;
mod products;
mod rows;
mod search;
mod snapshots;
mod source;
mod trial;
mod vectors;

pub use blocks::Blocks;
pub use order::in_blocks;
pub use trial::{MOST_STREAKS_KEPT, PrunedTrial, PruningOutcome, Spare};
