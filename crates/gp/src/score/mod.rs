//! Plain data that passes between the mathematics and the backends, and the search of the best point in a table of moments.
//!
//! Every GP policy is a linear model over a basis `h`. The score of point `x` for one trial is
//!
//! `w · h(x) + beta * sqrt(max(0, base(x) + sign * |R h(x)|²))`,
//!
//! where `beta` is the exploration factor, and `h` is a shared feature table or the Gram columns of a trial's own
//! basis points. A trial passes its change since the last round ([`Change`]) and its exploration factor. A backend
//! returns every point that may be the best ([`Candidates`]), and the caller decides among them in f64.

mod basis;
mod best_of_table;
mod fourier;
mod growth;
mod moments;
mod tie;

pub use basis::{AxisFeatures, Basis, FeatureTable, GramSource, KernelFamily, KernelForm, add_each_column};
pub use best_of_table::best_of_table;
pub use fourier::{FourierForm, GridFeatures};
pub use growth::FactorGrowth;
pub use moments::{
    Candidates, Change, Factor, MomentTable, Moments, RowError, ScoreModel, StateError, TrialScore, VarianceForm, VisitedPoints,
};
pub use tie::{TIE_TOLERANCE, lowest_within_tie, tie_margin};
