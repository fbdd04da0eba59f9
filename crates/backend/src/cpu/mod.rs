//! The CPU backend: f64 screens, trial by trial, dense or pruned.
//!
//! Each trial keeps mean and spread² of all points. An observation costs one product `p = row · h` over the domain (none
//! where the point was played again: `p` is kept); spread² falls by `(scale p)²` and the mean rises by `mean_step * p`. Points are
//! handled in blocks that stay in the first-level cache.
//! Models that are new every round have paths of their own: one f32 product a trial (`factor`), or interpolation from a few points
//! for all trials of a batch (`pivots`), where counted work says that it pays.
//! Over some hundred points and more, a model by its visits starts on the pruned path (`pruning`): blocks of neighbouring points that are scored
//! only when they may hold the best, over feature tables and over kernel columns alike. It goes over to the dense one where counted work says so, or where it cannot follow the model.
//!
//! **The band.** Let `u = 2^-53`. A row of `K` coefficients gives `|p̂ - p| <= e_p = 4 (K + 8) u A`, with
//! `A = sum |row_i| max|h_i|` (sums in any order, a rounding of the row itself, and a safety factor of 4). One
//! observation then moves the error of spread² by at most `scale² (2 max|p| e_p + e_p² + 4 u max p²) + u s²_max` and that of
//! the mean by `|step| (e_p + u max|p|) + u max|mean|`. The factor also covers the two triangular solves behind `row` and
//! behind the coordinates of the exact score, whose errors are of the same form. To these sums comes what the f64 state
//! rounds off in an observation ([`privateer_gp::score::ScoreModel::state_error`]). Where the sum passes `REFRESH_SHARE` of the prior
//! variance, and whenever the model asks, the screen is rebuilt from the exact scores. Every `CHECK_EVERY` observations some
//! points, in turn, are compared with their exact scores; so is every point when drift asks for a rebuild. A model that
//! has just been rebuilt is no reference: it shed a drift that screen and state had in common.

mod factor;
mod pivots;
mod pruning;
mod strategy;
mod trial;
mod vector;

pub use strategy::Cpu;
