//! A trial's mean and what has been taken from its spread², at the nodes of a mesh: from there the largest score of any block is bounded,
//! closely and at the same cost however long ago the block was looked at.

use super::interpolate::{Interpolate, Nodes};
use super::mesh::{Mesh, STENCIL, WEIGHT_ROUNDINGS};
use super::source::Source;
use crate::linalg::wide;
use pulp::{Arch, NullaryFnOnce};

/// Of one trial; lists over nodes are row-major, with the nodes of the second axis contiguous.
#[derive(Debug)]
pub struct Surface {
    /// Room for a matrix times the components of the second axis.
    half: Vec<f64>,
    /// `p` of the open run, mean and spread², and these rounded.
    p: Vec<f64>,
    mean: Vec<f64>,
    spread: Vec<f64>,
    rounded_mean: Vec<f32>,
    rounded_spread: Vec<f32>,
}

/// How far an interpolated mean and fall of spread² can be from the exact ones, and what else a bound is made of.
#[derive(Debug, Clone, Copy)]
pub struct Slack {
    pub width: f64,
    /// The largest prior variance.
    pub prior: f64,
    /// Bounds on the lengths of theta and N.
    pub theta: f64,
    pub n: f64,
    /// Errors of a mean and a variance that are kept.
    pub mean: f64,
    pub variance: f64,
}

impl Surface {
    /// The prior.
    pub fn new(mesh: &Mesh, prior: f64) -> Self {
        let n = mesh.counts[0] * mesh.counts[1];
        Self {
            half: Vec::new(),
            p: vec![0.0; n],
            mean: vec![0.0; n],
            spread: vec![prior; n],
            rounded_mean: vec![0.0; n],
            rounded_spread: vec![prior as f32; n],
        }
    }

    /// Opens a run whose row is this matrix.
    pub fn start_run(&mut self, source: &Source, matrix: &[f64]) {
        if let (Some(products), Some(nodes)) = (&source.products, source.of_nodes()) {
            products.at_nodes(matrix, nodes, &mut self.half, &mut self.p);
        }
    }

    /// One observation of the open run.
    pub fn observe(&mut self, scale: f64, mean_step: f64) {
        wide(Apply { surface: self, square: scale * scale, step: mean_step });
    }

    /// Multiply-adds of a bound, a point.
    pub const WORK: usize = 2 * STENCIL * (STENCIL + 1);

    /// Upper bounds of the scores and the spreads² of a block. As weights of a point sum to 1, spread² is interpolated from that of the nodes.
    pub fn bound(&self, mesh: &Mesh, block: usize, size: usize, slack: Slack) -> (f64, f64) {
        let mean = mesh.radii[block] * slack.theta + (1.0 + mesh.amplification) * slack.mean;
        let variance = mesh.squared[block] * slack.n + (1.0 + mesh.amplification) * slack.variance;
        let share = ROUNDING * mesh.amplification;
        let [row, lane] = mesh.places[block].map(|place| place as usize);
        let (down, across) = mesh.offsets[block * 2 * size..][..2 * size].split_at(size);
        let stride = mesh.counts[1];
        let found = Arch::new().dispatch(Interpolate {
            means: Nodes { values: &self.mean, rounded: &self.rounded_mean, stride },
            spreads: Nodes { values: &self.spread, rounded: &self.rounded_spread, stride },
            first: row * stride + lane,
            offsets: [down, across],
            width: slack.width as f32,
            variance,
            share,
        });
        let spread = found.spread * (1.0 + ROUNDING);
        let rounded = share * found.mean_size + ROUNDING * (found.mean_size + slack.width * spread.sqrt());
        let score = found.score + mean + rounded;
        // Beyond f32 nothing is known.
        if score.is_finite() && spread.is_finite() { (score, spread) } else { (f64::INFINITY, slack.prior) }
    }
}

/// What an interpolation in f32 rounds off, beside the sum of the magnitudes of its terms: two weights, a node, and sums of products over both
/// axes, fused or not; then a root and a score. Half an epsilon each.
const ROUNDING: f64 = (2 * WEIGHT_ROUNDINGS + 4 * STENCIL + 8) as f64 * 0.5 * f32::EPSILON as f64;

/// `mean += step p`, `spread -= square p²`.
struct Apply<'a> {
    surface: &'a mut Surface,
    square: f64,
    step: f64,
}

impl NullaryFnOnce for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Surface { p, mean, spread, rounded_mean, rounded_spread, .. } = self.surface;
        for ((mean, rounded), &p) in mean.iter_mut().zip(rounded_mean.iter_mut()).zip(p.iter()) {
            *mean += self.step * p;
            *rounded = *mean as f32;
        }
        for ((spread, rounded), &p) in spread.iter_mut().zip(rounded_spread.iter_mut()).zip(p.iter()) {
            *spread -= self.square * (p * p);
            *rounded = *spread as f32;
        }
    }
}
