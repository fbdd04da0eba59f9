//! Screens scores on the CPU in f64, trial by trial, on the dense or the block pruning path.
//!
//! Each trial keeps mean and posterior variance of all points. An observation costs one product `p = row · h` over the
//! domain (`p` is reused where the point was played again); the posterior variance falls by `(scale p)²` and the mean rises
//! by `mean_step * p`. Points are processed in blocks that stay in the first-level cache. Models that change completely
//! every round have paths of their own: one product per trial in f32, and for near ties in f64 (`factor`), or interpolation
//! from a few points for all trials of a batch (`pivots`), where counted work shows a benefit. Over large domains, a model with visited points starts
//! with block pruning (`pruning`), over feature tables and kernel columns alike; it moves to the dense path when its counted
//! work is larger there, or if it cannot follow the model. `path` says which of these a trial takes, and why.
//!
//! **The band.** Let `u = 2^-53`. A row of `K` coefficients gives `|p̂ - p| <= e_p = 4 (K + 8) u A`, with
//! `A = sum |row_i| max|h_i|` (sums in any order, a rounding of the row itself, and a safety factor of 4). One
//! observation then moves the error of the posterior variance by at most
//! `scale² (2 max|p| e_p + e_p² + 4 u max p²) + u s²_max` and that of the mean by
//! `|step| (e_p + u max|p|) + u max|mean|`. The f64 model's errors of `row`, of the
//! ends of streaks and of the exact score are added ([`privateer_gp::score::ScoreModel::row_error`],
//! [`privateer_gp::score::ScoreModel::state_error`]). Where the sum exceeds `REFRESH_SHARE` of the prior
//! variance, and whenever the model asks, the screen is rebuilt from the exact scores.
//!
//! **Checks.** Every `CHECK_EVERY` observations some points, in turn, are compared with their exact scores; so is every
//! point when drift causes a rebuild. A model that has just been rebuilt is no reference: it lost a drift that screen and
//! state shared.

mod factor;
mod panels;
mod path;
mod pivots;
mod pruning;
mod strategy;
mod trial;
mod vector;

pub use path::screens_set;
pub(crate) use pruning::order;
pub use strategy::Cpu;
