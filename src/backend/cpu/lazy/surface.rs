//! A trial's mean and what has been taken from its spread², at the nodes of a mesh: from there the largest score of any block is bounded,
//! closely and at the same cost however long ago the block was looked at.

use super::kernels::{Fusible, multiply_add, multiply_add32, wide_fused};
use super::mesh::{LANES, Mesh, ROWS, STENCIL, WEIGHT_ROUNDINGS, weights};
use super::products::{Components, Products};
use super::source::Source;
use crate::linalg::wide;
use pulp::NullaryFnOnce;

/// Of one trial; lists over nodes are row-major, with the nodes of the second axis contiguous.
#[derive(Debug)]
pub struct Surface {
    /// Room for a matrix times the components of the second axis.
    half: Vec<f64>,
    /// `p` of the open run, mean, and prior variance less spread².
    p: Vec<f64>,
    mean: Vec<f64>,
    fallen: Vec<f64>,
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
    pub fn new(mesh: &Mesh) -> Self {
        let n = mesh.counts[0] * mesh.counts[1];
        Self { half: Vec::new(), p: vec![0.0; n], mean: vec![0.0; n], fallen: vec![0.0; n] }
    }

    /// Opens a run whose row is this matrix.
    pub fn start_run(&mut self, source: &Source, matrix: &[f64]) {
        if let (Some(products), Some([first, second])) = (&source.products, source.of_nodes()) {
            wide_fused(Product { surface: self, products, matrix, first, second });
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
        let (score, spread) = wide_fused(Interpolate { surface: self, mesh, block, size, slack, share, variance });
        if score.is_nan() || spread.is_nan() { (f64::INFINITY, slack.prior) } else { (score + mean, spread) }
    }
}

/// What an interpolation in f32 rounds off, beside the sum of the magnitudes of its terms: two weights, a node, and sums of products over both
/// axes, fused or not; then a root and a score. Half an epsilon each.
const ROUNDING: f64 = (2 * WEIGHT_ROUNDINGS + 4 * STENCIL + 8) as f64 * 0.5 * f32::EPSILON as f64;

/// `p = a^T U b` at the nodes, by tiles that stay in registers.
struct Product<'a> {
    surface: &'a mut Surface,
    products: &'a Products,
    matrix: &'a [f64],
    first: Components<'a>,
    second: Components<'a>,
}

impl Fusible for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(self) {
        let Self { surface: Surface { half, p, .. }, products, matrix, first, second } = self;
        products.along_second::<FUSED>(matrix, second, half);
        let (rows, lanes) = (first.n, second.n);
        for row in (0..rows).step_by(ROWS) {
            for lane in (0..lanes).step_by(LANES) {
                let tile = tile::<FUSED>(first.values.get(row..).unwrap_or(&[]), half.get(lane..).unwrap_or(&[]), rows, lanes);
                for (at, tile) in tile.iter().enumerate() {
                    p[(row + at) * lanes + lane..][..LANES].copy_from_slice(tile);
                }
            }
        }
    }
}

/// Entries from the first places on of both lists, in steps of `rows` and `lanes`.
#[inline(always)]
fn tile<const FUSED: bool>(first: &[f64], second: &[f64], rows: usize, lanes: usize) -> [[f64; LANES]; ROWS] {
    let (mut a, mut b, mut c, mut d) = ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for (first, second) in first.chunks(rows).zip(second.chunks(lanes)) {
        if let (Some(&[e, f, g, h]), Some(second)) = (first.first_chunk::<ROWS>(), second.first_chunk::<LANES>()) {
            for lane in 0..LANES {
                a[lane] = multiply_add::<FUSED>(e, second[lane], a[lane]);
                b[lane] = multiply_add::<FUSED>(f, second[lane], b[lane]);
                c[lane] = multiply_add::<FUSED>(g, second[lane], c[lane]);
                d[lane] = multiply_add::<FUSED>(h, second[lane], d[lane]);
            }
        }
    }
    [a, b, c, d]
}

/// `mean += step p`, `fallen += square p²`.
struct Apply<'a> {
    surface: &'a mut Surface,
    square: f64,
    step: f64,
}

impl NullaryFnOnce for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Surface { p, mean, fallen, .. } = self.surface;
        for ((mean, fallen), &p) in mean.iter_mut().zip(fallen.iter_mut()).zip(p.iter()) {
            *fallen += self.square * (p * p);
            *mean += self.step * p;
        }
    }
}

/// Largest interpolated score and largest spread² of a block, with `variance` and shares of what is summed added.
struct Interpolate<'a> {
    surface: &'a Surface,
    mesh: &'a Mesh,
    block: usize,
    size: usize,
    slack: Slack,
    share: f64,
    variance: f64,
}

/// Points that are interpolated together.
const POINTS: usize = 16;

impl Fusible for Interpolate<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> (f64, f64) {
        let Self { surface, mesh, block, size, slack, share, variance } = self;
        let [row, lane] = mesh.places[block].map(|place| place as usize);
        let stride = mesh.counts[1];
        let of_row = |values: &[f64], i: usize| -> [f64; STENCIL] {
            values.get((row + i) * stride + lane..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([f64::NAN; STENCIL])
        };
        // Copied: through references the compiler keeps no vectors.
        let (mut means, mut spreads) = ([[0.0f32; STENCIL]; STENCIL], [[0.0f32; STENCIL]; STENCIL]);
        let (mut mean_size, mut spread_size) = ([0.0f64; STENCIL], [0.0f64; STENCIL]);
        for i in 0..STENCIL {
            let (mean, fallen) = (of_row(&surface.mean, i), of_row(&surface.fallen, i));
            for j in 0..STENCIL {
                let spread = slack.prior - fallen[j];
                mean_size[j] = reached(mean_size[j], mean[j].abs());
                spread_size[j] = reached(spread_size[j], spread.abs());
                (means[i][j], spreads[i][j]) = (mean[j] as f32, spread as f32);
            }
        }
        let (mean_size, spread_size) = (mean_size.into_iter().fold(0.0, reached), spread_size.into_iter().fold(0.0, reached));
        let variance = (variance + share * spread_size) as f32;
        let width = slack.width as f32;
        let (first, second) = mesh.offsets[block * 2 * size..][..2 * size].split_at(size);
        let (mut best, mut most) = ([f32::NEG_INFINITY; POINTS], [0.0f32; POINTS]);
        for (first, second) in first.as_chunks::<POINTS>().0.iter().zip(second.as_chunks::<POINTS>().0) {
            let (down, across) = (weights(first), weights(second));
            let (mut mean, mut spread) = ([0.0f32; POINTS], [0.0f32; POINTS]);
            for i in 0..STENCIL {
                let (mut m, mut v) = ([0.0f32; POINTS], [0.0f32; POINTS]);
                for j in 0..STENCIL {
                    for lane in 0..POINTS {
                        m[lane] = multiply_add32::<FUSED>(means[i][j], across[j][lane], m[lane]);
                        v[lane] = multiply_add32::<FUSED>(spreads[i][j], across[j][lane], v[lane]);
                    }
                }
                for lane in 0..POINTS {
                    mean[lane] = multiply_add32::<FUSED>(down[i][lane], m[lane], mean[lane]);
                    spread[lane] = multiply_add32::<FUSED>(down[i][lane], v[lane], spread[lane]);
                }
            }
            for lane in 0..POINTS {
                let square = spread[lane] + variance;
                let square = if 0.0 < square { square } else { 0.0 };
                let score = mean[lane] + width * square.sqrt();
                most[lane] = if most[lane] < square { square } else { most[lane] };
                best[lane] = if best[lane] < score { score } else { best[lane] };
            }
        }
        let best = f64::from(best.into_iter().fold(f32::NEG_INFINITY, f32::max));
        let most = f64::from(most.into_iter().fold(0.0, f32::max)) * (1.0 + ROUNDING);
        let rounded = share * mean_size + ROUNDING * (mean_size + slack.width * most.sqrt());
        // Beyond f32 nothing is known.
        if mean_size + spread_size + slack.width < LARGEST { (best + rounded, most) } else { (f64::NAN, f64::NAN) }
    }
}

/// Numbers below this have products and sums in f32.
const LARGEST: f64 = 1e15;

/// The larger; what is no number stays.
#[inline(always)]
fn reached(most: f64, value: f64) -> f64 {
    if value <= most || most.is_nan() { most } else { value }
}
