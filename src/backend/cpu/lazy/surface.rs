//! A trial's mean and what has been taken from its spread², at the nodes of a mesh: from there the largest score of any block is bounded,
//! closely and at the same cost however long ago the block was looked at.

use super::kernels::{Fusible, multiply_add, wide_fused};
use super::mesh::{LANES, Mesh, ROWS, STENCIL, WEIGHT_ROUNDING, weights};
use super::source::Source;
use crate::backend::cpu::vector::larger;
use crate::linalg::wide;
use pulp::NullaryFnOnce;

/// Of one trial; lists over nodes are row-major, with the nodes of the second axis contiguous.
#[derive(Debug)]
pub struct Surface {
    /// Kernels along the axes from the visited points to the nodes, one point after another.
    columns: [Vec<f64>; 2],
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
        Self { columns: [Vec::new(), Vec::new()], p: vec![0.0; n], mean: vec![0.0; n], fallen: vec![0.0; n] }
    }

    /// Multiply-adds of a new run over so many visited points.
    pub fn work_of_a_run(&self, visited: usize) -> usize {
        self.p.len() * visited
    }

    /// Opens a run that over the visited points is `alpha`.
    pub fn start_run(&mut self, mesh: &Mesh, source: &Source, visited: &[u32], alpha: &[f64]) {
        for (axis, columns) in self.columns.iter_mut().enumerate() {
            let count = mesh.counts[axis];
            for &point in &visited[columns.len() / count..] {
                let known = columns.len();
                columns.resize(known + count, 0.0);
                source.along(axis, point as usize, &mut columns[known..]);
            }
        }
        wide_fused(Product { alpha, columns: &self.columns, counts: mesh.counts, out: &mut self.p });
    }

    /// One observation of the open run.
    pub fn observe(&mut self, scale: f64, mean_step: f64) {
        wide(Apply { surface: self, square: scale * scale, step: mean_step });
    }

    /// Multiply-adds of a bound, a point.
    pub const WORK: usize = 2 * STENCIL * (STENCIL + 1);

    /// Upper bounds of the scores and the spreads² of a block.
    pub fn bound(&self, mesh: &Mesh, block: usize, size: usize, slack: Slack) -> (f64, f64) {
        // Products of weights of both axes, and a sum over them, round by shares of what is summed.
        let summed = mesh.amplification * (3.0 * STENCIL as f64 * WEIGHT_ROUNDING + 4.0 * (STENCIL * STENCIL) as f64 * f64::EPSILON);
        let norm = slack.prior.sqrt();
        let mean = mesh.radii[block] * slack.theta
            + (1.0 + mesh.amplification) * slack.mean
            + summed * (slack.theta * norm + slack.mean);
        let variance = slack.prior
            + mesh.squared[block] * slack.n
            + (1.0 + mesh.amplification) * slack.variance
            + summed * (slack.prior + slack.variance);
        let (score, spread) = wide_fused(Interpolate { surface: self, mesh, block, size, width: slack.width, variance });
        (score + mean, spread)
    }
}

/// `out = sum_i alpha_i first_i second_i^T`, by tiles that stay in registers.
struct Product<'a> {
    alpha: &'a [f64],
    columns: &'a [Vec<f64>; 2],
    counts: [usize; 2],
    out: &'a mut [f64],
}

impl Fusible for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(self) {
        let Self { alpha, columns: [first, second], counts: [rows, lanes], out } = self;
        for row in (0..rows).step_by(ROWS) {
            for lane in (0..lanes).step_by(LANES) {
                let tile = tile::<FUSED>(alpha, first.get(row..).unwrap_or(&[]), second.get(lane..).unwrap_or(&[]), rows, lanes);
                for (at, tile) in tile.iter().enumerate() {
                    out[(row + at) * lanes + lane..][..LANES].copy_from_slice(tile);
                }
            }
        }
    }
}

/// Entries from the first places on of both lists, in steps of `rows` and `lanes`.
#[inline(always)]
fn tile<const FUSED: bool>(alpha: &[f64], first: &[f64], second: &[f64], rows: usize, lanes: usize) -> [[f64; LANES]; ROWS] {
    let (mut a, mut b, mut c, mut d) = ([0.0; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for ((&alpha, first), second) in alpha.iter().zip(first.chunks(rows)).zip(second.chunks(lanes)) {
        if let (Some(first), Some(second)) = (first.first_chunk::<ROWS>(), second.first_chunk::<LANES>()) {
            let [e, f, g, h] = first.map(|first| alpha * first);
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

/// Largest interpolated score, `variance` taken for the prior's, and largest spread² of a block.
struct Interpolate<'a> {
    surface: &'a Surface,
    mesh: &'a Mesh,
    block: usize,
    size: usize,
    width: f64,
    variance: f64,
}

impl Fusible for Interpolate<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> (f64, f64) {
        let Self { surface, mesh, block, size, width, variance } = self;
        let [row, lane] = mesh.places[block].map(|place| place as usize);
        let stride = mesh.counts[1];
        let (first, second) = mesh.offsets[block * 2 * size..][..2 * size].split_at(size);
        let of_row = |values: &[f64], i: usize| -> [f64; STENCIL] {
            values.get((row + i) * stride + lane..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0.0; STENCIL])
        };
        let means: [[f64; STENCIL]; STENCIL] = std::array::from_fn(|i| of_row(&surface.mean, i));
        let falls: [[f64; STENCIL]; STENCIL] = std::array::from_fn(|i| of_row(&surface.fallen, i));
        let (mut best, mut most) = ([f64::NEG_INFINITY; LANES], [0.0f64; LANES]);
        for (first, second) in first.as_chunks::<LANES>().0.iter().zip(second.as_chunks::<LANES>().0) {
            let (down, across) = (weights::<FUSED, LANES>(first), weights::<FUSED, LANES>(second));
            let (mut mean, mut fallen) = ([0.0; LANES], [0.0; LANES]);
            for (i, weights) in down.iter().enumerate() {
                let (mut m, mut v) = ([0.0; LANES], [0.0; LANES]);
                for j in 0..STENCIL {
                    for lane in 0..LANES {
                        m[lane] = multiply_add::<FUSED>(means[i][j], across[j][lane], m[lane]);
                        v[lane] = multiply_add::<FUSED>(falls[i][j], across[j][lane], v[lane]);
                    }
                }
                for lane in 0..LANES {
                    mean[lane] = multiply_add::<FUSED>(weights[lane], m[lane], mean[lane]);
                    fallen[lane] = multiply_add::<FUSED>(weights[lane], v[lane], fallen[lane]);
                }
            }
            for lane in 0..LANES {
                let spread = larger(0.0, variance - fallen[lane]);
                most[lane] = larger(most[lane], spread);
                best[lane] = larger(best[lane], mean[lane] + width * spread.sqrt());
            }
        }
        (best.into_iter().fold(f64::NEG_INFINITY, larger), most.into_iter().fold(0.0, larger))
    }
}
