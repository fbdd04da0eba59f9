//! What privatizers of gradients ask for and hand out.

use privateer_numerics::linalg::Norm;
use privateer_numerics::rng::Stream;
use std::fmt;

/// One record: features and a response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// Features, one a dimension.
    pub x: &'a [f64],
    /// Response.
    pub y: f64,
}

/// The gradient of a loss in its parameter, at one sample.
pub trait Gradient: fmt::Debug + Send + Sync {
    /// Writes the gradient at `theta` to `out`, both of the problem's dimension.
    fn gradient(&self, theta: &[f64], sample: Sample<'_>, out: &mut [f64]);
}

/// What a learner asks with: public, as it comes from released values alone.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The current iterate.
    pub now: &'a [f64],
    /// The one before; the same in the first round.
    pub before: &'a [f64],
}

/// Noise on a vector.
pub trait VectorNoise: fmt::Debug + Send {
    /// Fills one draw.
    fn draw(&mut self, stream: &mut Stream, out: &mut [f64]);
}

/// Points among which a noisy choice is made.
pub trait Vertices: fmt::Debug + Send + Sync {
    /// How many, at least 1.
    fn count(&self) -> usize;

    /// `<direction, vertex>` of each, in order; `out` has [`Vertices::count`] entries.
    fn scores(&self, direction: &[f64], out: &mut [f64]);
}

/// How the recursive estimate starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// `d_1 = grad/2` [Han2022, equation 3.1].
    Half,
    /// `d_1 = grad` [Han2022, algorithm 2, line 4]: twice the weight of the first sample (E28).
    Full,
}

/// The ball that features are moved into.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleClip {
    /// Its norm.
    pub norm: Norm,
    /// Its radius.
    pub radius: f64,
}

/// Bounds that a privatizer enforces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clip {
    /// On the features of a sample.
    pub sample: SampleClip,
    /// The norm in which contributions are bounded.
    pub norm: Norm,
    /// Bound on one gradient. Under the constants that a loss states neither bound ever acts; they make the promise
    /// independent of them.
    pub gradient: f64,
    /// Bound on what one sample contributes to a recursive sum, `(t + 1) grad - t grad'`.
    pub contribution: f64,
}
