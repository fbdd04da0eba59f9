//! One trial's request and one backend's answer.

/// What changed in a trial's model since the last round it was screened.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// Nothing: a new trial, or a round without an observation.
    None,
    /// One observation: for every point, with `p(x) = row · h(x)`, spread²(x) falls by `p(x)²` and the mean rises by `mean_step * p(x)`.
    Row {
        /// Coefficients over the basis, as long as the basis now is.
        row: &'a [f64],
        /// What multiplies `p` in the mean.
        mean_step: f64,
        /// The basis point that joined a Gram basis with this observation, if one did.
        joined: Option<usize>,
    },
}

/// One trial's model as a backend needs it. Slices are over the basis (`n_features`, or the trial's basis points so far).
#[derive(Debug, Clone, Copy)]
pub struct TrialScore<'a> {
    /// What changed.
    pub change: Change<'a>,
    /// What multiplies the spread.
    pub width: f64,
}

/// The answer for one trial: every point that could be the best, ascending, at least one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Point indices, ascending.
    pub points: Vec<u32>,
}
