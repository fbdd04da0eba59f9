//! Plain data that passes between mathematics and backends. Computes nothing.
//!
//! Every GP policy is a linear model over a basis `h`; the score of point `x` for one trial is
//!
//! `w · h(x) + beta * sqrt(max(0, base(x) + sign * |R h(x)|²))`
//!
//! where `h` is a shared feature table or the Gram columns of a trial's own basis points. A trial hands over what
//! changed since its last round ([`Change`]) and its beta; a backend hands back every point that could be the best
//! ([`Candidates`]), and the caller decides among them in f64.

mod basis;
mod lanes;
mod request;
mod tie;

pub use basis::{AxisFeatures, Basis, FeatureTable, FourierForm, GramSource, KernelFamily, KernelForm};
pub use lanes::{FactorLanes, LANES, LaneNorms, Sixteen};
pub use request::{Candidates, Change, Factor, MomentTable, Moments, ScoreModel, Spread, TrialScore, Visited};
pub use tie::{TIE_TOLERANCE, lowest_within_tie};
