//! Defines the interfaces of losses, noise and choices that the privatizers of gradients use.

use privateer_numerics::linalg::Norm;
use privateer_numerics::rng::Stream;
use std::fmt;

/// Holds one user's data: features and a response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// Features, one per dimension.
    pub x: &'a [f64],
    /// Response.
    pub y: f64,
}

/// Computes the gradient of a loss in its parameter, at one sample.
pub trait Gradient: fmt::Debug + Send + Sync {
    /// Writes the gradient at `theta` to `out`; both have the problem's dimension.
    fn gradient(&self, theta: &[f64], sample: Sample<'_>, out: &mut [f64]);
}

/// Holds a learner's query; it is public, because it follows from released values only.
/// For several streams, iterates are rows one after another.
#[derive(Debug, Clone, Copy)]
pub struct GradientQuery<'a> {
    /// The current iterate.
    pub now: &'a [f64],
    /// Previous iterate; equal to `now` in the first round.
    pub before: &'a [f64],
}

/// Draws noise vectors.
pub trait VectorNoise: fmt::Debug + Send {
    /// Fills `out` with one draw.
    fn draw(&mut self, stream: &mut Stream, out: &mut [f64]);

    /// Adds noise to a value that has the length of `drawn`.
    ///
    /// Only releases of single values, in [`super::SampleGradients`], may have noise whose law depends on the value.
    fn add(&mut self, stream: &mut Stream, value: &mut [f64], drawn: &mut [f64]) {
        self.draw(stream, drawn);
        value.iter_mut().zip(drawn).for_each(|(value, noise)| *value += *noise);
    }

    /// Fills each row of `out` with one draw from its stream, of the bits of [`VectorNoise::draw`].
    fn draw_rows(&mut self, streams: &mut [&mut Stream], out: &mut [f64]) {
        let d = out.len() / streams.len().max(1);
        streams.iter_mut().zip(out.chunks_exact_mut(d.max(1))).for_each(|(stream, out)| self.draw(stream, out));
    }
}

/// Lists the points among which a noisy choice is made.
pub trait Vertices: fmt::Debug + Send + Sync {
    /// Returns the number of points, at least 1.
    fn count(&self) -> usize;

    /// Writes `<direction, vertex>` of each point, in order.
    /// `out` has [`Vertices::count`] entries.
    fn scores(&self, direction: &[f64], out: &mut [f64]);
}

/// Names the noise of a choice.
/// Scales are those of the first step and decrease as 1/sqrt(step).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ChoiceLaw {
    /// No noise: the least score, and the lowest index among equal scores.
    Exact,
    /// Laplace noise on every score.
    Laplace {
        /// Scale, > 0.
        scale: f64,
    },
    /// The exponential mechanism: the law of the least score after Gumbel noise.
    Gumbel {
        /// Scale, > 0.
        scale: f64,
    },
}

impl ChoiceLaw {
    /// Returns the name that ledgers use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "none",
            Self::Laplace { .. } => "laplace",
            Self::Gumbel { .. } => "gumbel",
        }
    }
}

/// Says how the recursive estimate starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// `d_1 = grad/2` [Han2022, equation 3.1].
    Half,
    /// `d_1 = grad` [Han2022, algorithm 2, line 4]: twice the weight of the first sample.
    /// See erratum E28, `docs/privacy.md`.
    Full,
    /// The estimate is not recursive: every contribution is `grad` (Kairouz2021).
    Never,
}

/// The ball into which features are moved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleClip {
    /// Norm of the ball.
    pub norm: Norm,
    /// Radius of the ball.
    pub radius: f64,
}

/// Bounds that a privatizer enforces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clip {
    /// Ball for the features of a sample.
    pub sample: SampleClip,
    /// Norm in which gradients and contributions are bounded.
    pub norm: Norm,
    /// Bound on one gradient.
    /// Neither bound acts on a loss that keeps its stated constants; they make the guarantee independent of these constants.
    pub gradient: f64,
    /// Bound on one sample's contribution `(t + 1) grad - t grad'` to a recursive sum.
    pub contribution: f64,
}
