//! The pruned path: blocks of neighbouring points that are looked at only when they may hold the best.
//!
//! **State.** A model over features that has visited K distinct points is a model over their K kernel functions `k_i(x) = phi_i · phi(x)`.
//! A trial's row `u` over m features is turned into `alpha` over the visited points (`rows`), so that `p(x) = u · phi(x) = sum alpha_i k_i(x)`
//! costs K multiply-adds a point instead of m; the difference `|u - sum alpha_i phi_i|` is measured and enters the error of `p`. Where the
//! features are a tensor grid of Fourier features, `k_i(x)` is a product of one short sum an axis (`source`), and at reference points and nodes the row itself
//! is a matrix between two short vectors (`products`). Over kernel columns the row is
//! `alpha` as it is, and `k_i(x)` is found for the points of a block when it is first wanted: by the kernel's formula in wide lanes, with a
//! bound on the distance from the model's own value (`formula`), or from the source itself (`covariance`). Distances of theta are then those of
//! `L^T w` for weights w over the visited points and `L L^T` their covariance; what that factor leaves out is bounded (`history`).
//!
//! **Bounds.** Let a block have been scored or looked at (below) at time s: `M` bounds its largest score then, `S` its largest spread, `w_s` beta. Spread² only falls,
//! by `(scale p)²` an observation, and the mean moves by `theta_t - theta_s = sum step u`. So for every point of the block, at time t,
//!
//! * `score <= M + (w_t - w_s)+ S + max (mean_t(a) - mean_s(a)) + |theta_t - theta_s| R` over the block's reference points a, whose means are kept exactly;
//!   R bounds the distance `|phi(x) - sum w_a phi(a)|` of every point from a convex combination of the reference points. Reference points are one point of the block
//!   (its centre), or, over a plane, the corners of its cell, for which R is of second order (`lattice`);
//! * `score <= max (mean_t(a) + w_t spread_t(a)) + (|theta_t| + w_t) R`, as spread is a norm of phi and at most `|phi|`: this needs no earlier
//!   score, and is found before any look, or where many blocks are left after the first;
//! * `score <= M + (sqrt(w_t² + Z²) - w_s)+ S`, `Z² = sum step² / scale²` over the streaks since: with `v = sum (scale p)² <= S²` the mean moves
//!   by `Z sqrt(v)` at most (Cauchy and Schwarz), and `Z sqrt(v) + w sqrt(S² - v) <= sqrt(w² + Z²) S`.
//!
//! **Looks.** Where the features are smooth over a plane, mean and spread² of any point are interpolated from the nodes of an interpolation grid (`grid`), where a
//! trial keeps them exactly (`values`), with a proved error: so a block whose bound reaches the best is looked at first, at a price that does not
//! depend on how many streaks it has missed, and what the look says takes the place of `M` and `S`. Most blocks that are looked at are not
//! scored (`search`).
//!
//! A row's own part (a released row of noisy inputs shares with no other row what the noise hides of it) is in no reference point and no distance: the first
//! two bounds then hold for points that were not visited. A visited point's mean is the average of its rewards less `ridge / count` times its
//! weight and its spread² at most `ridge / count`, which bounds its score each round.
//!
//! A block is scored when all reach the best score found, less the tie tolerance and the margins: it takes all streaks that it has missed
//! at once (a streak is all observations of one point in a row). What is bounded is the exact sum of the changes that were handed out; roundings of
//! the screen are in `variance_error` and `mean_error`, as on the dense path, and what the model rounds off is added to the margin.
//!
//! Where betas fall, `M` stays a bound; the prior counts as a block scored with beta 0.
//!
//! **Starts.** Without observations the prior decides. A model that was observed before its first screen, restored, or rebuilt is told as one
//! observation of each visited point's average, with noise `ridge / count`: the same model, and as many streaks as points.
//!
//! **Comparisons.** Every `CHECK_EVERY` observations points of the block that was scored first are compared with their exact scores, and for every hundred or
//! so multiply-adds of work one is spent on the exact score of a point in a block that was not scored: a candidate that was missed shows
//! nowhere else. What fails is counted, and the trial goes over to the dense path, from exact scores.
//!
//! **Counted work.** Multiply-adds are counted on this path and for the dense one; the trial goes over to the dense path (`dense`) when
//! this path has cost more. So the choice depends on the trial alone, never on time or threads.

mod block;
mod blocks;
mod bounds;
mod covariance;
mod formula;
mod grid_values;
mod history;
mod interpolate;
mod interpolation_grid;
mod kernels;
mod lattice;
mod order;
mod products;
mod rows;
mod scan;
mod search;
mod snapshots;
mod source;
mod trial;

pub use blocks::Blocks;
pub use order::in_blocks;
pub use trial::{MOST_COLUMN_BYTES, MOST_STREAKS_KEPT, Observation, PrunedTrial, PruningOutcome, Spare};
