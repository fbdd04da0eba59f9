//! Bounds the scores of blocks.
//!
//! A bound uses the exact means and posterior variances of the reference points, the distance that theta has moved since a
//! block was last scored or bounded by interpolation, and the standardized innovations since. Derivation:
//! `docs/derivations/block-pruning.md`.

use super::blocks::Blocks;
use super::kernels::{apply, is_fused, weighted_sum};
use super::lattice::ReferencePoints;
use super::snapshots::{self, Now, SnapshotSums, Snapshots};
use crate::Band;
use crate::cpu::vector::larger;
use privateer_numerics::linalg::dot;
use privateer_numerics::vectorised;

/// Bounds of all blocks of a trial; one entry per block unless stated otherwise.
#[derive(Debug)]
pub struct Bounds {
    pub blocks: BlockBounds,
    pub reference_points: ReferencePointValues,
    pub theta: ThetaPath,
    snapshots: Snapshots,
    /// The snapshot of this round, once there is one.
    current: Option<u32>,
    /// Bound on `|theta|` now.
    pub length: f64,
    /// Blocks that hold a point whose score may be this, whatever the other bounds say.
    raised: Vec<(usize, f64)>,
    /// Scratch: a number a reference point, and a number a block.
    of_reference_point: Vec<f64>,
    of_block: Vec<f64>,
}

/// One entry a block.
#[derive(Debug)]
pub struct BlockBounds {
    /// Bounds on score and posterior standard deviation, and `beta`, when last bounded.
    ///
    /// `mean_then` holds the means of the block's reference points at that time, one list after another.
    pub largest: Vec<f64>,
    deviation: Vec<f64>,
    beta: Vec<f64>,
    mean_then: Vec<f64>,
    /// The snapshot of theta that these are of.
    snapshot: Vec<u32>,
    /// Bounds now; minus infinity for blocks scored this round.
    pub now: Vec<f64>,
    /// A bound on `|theta_t - theta_s|`, and the root of the squared beta and innovations since.
    reach: Vec<f64>,
    root: Vec<f64>,
}

/// The model at the reference points; lists are padded like `columns`.
#[derive(Debug)]
pub struct ReferencePointValues {
    /// Means at the reference points, their posterior variances (empty if unused), and `p` there.
    ///
    /// `p` is that of the open streak. All are padded like `columns`.
    mean: Vec<f64>,
    variance: Vec<f64>,
    p: Vec<f64>,
    /// Kernel functions of the visited points at the reference points, column by column.
    columns: Vec<f64>,
}

/// Theta along the open streak.
#[derive(Debug, Default)]
pub struct ThetaPath {
    /// `m`: theta at the start of the open streak, that streak's row, and the row's squared norm.
    start: Vec<f64>,
    row: Vec<f64>,
    pub row_square: f64,
    /// `|theta|²` and `theta · u` for this theta and row.
    square: f64,
    along: f64,
    open: SnapshotSums,
    /// Number of streaks.
    streak: usize,
    /// Largest `|theta|` at the starts of streaks and when blocks were bounded.
    largest: f64,
}

impl Bounds {
    /// Creates the bounds of the prior: every block counts as scored with exploration factor 0.
    pub fn new(shared: &Blocks, m: usize) -> Self {
        let (n, padded) = (shared.by_reference.radii.len(), shared.source.padded_reference_points());
        let mut variance = shared.by_reference.prior.clone();
        if shared.by_reference.bound_scores() {
            variance.resize(padded, 0.0);
        }
        Self {
            blocks: BlockBounds {
                largest: vec![0.0; n],
                deviation: shared.widest.clone(),
                beta: vec![0.0; n],
                mean_then: vec![0.0; shared.by_reference.reference_points.corners * n],
                snapshot: vec![0; n],
                now: vec![f64::INFINITY; n],
                reach: vec![0.0; n],
                root: vec![0.0; n],
            },
            reference_points: ReferencePointValues {
                mean: vec![0.0; padded],
                variance,
                p: vec![0.0; padded],
                columns: Vec::with_capacity(16 * padded),
            },
            theta: ThetaPath { start: vec![0.0; m], row: vec![0.0; m], ..ThetaPath::default() },
            snapshots: Snapshots::new(n as u32),
            current: None,
            length: 0.0,
            raised: Vec::new(),
            of_reference_point: vec![0.0; padded],
            of_block: vec![0.0; n],
        }
    }

    /// Returns the multiply-adds of a new streak over `visited` points, those of checks included.
    pub fn work_of_a_streak(&self, shared: &Blocks, visited: usize) -> usize {
        let of_nodes = shared.checks.as_ref().map_or(0, |grid| grid.products.work_at_nodes(grid.counts));
        self.reference_points.p.len() * visited + of_nodes + (self.snapshots.len() + 3) * self.theta.start.len()
    }

    /// Returns the approximate multiply-adds of a round's bounds.
    pub fn work_of_a_round(&self) -> usize {
        2 * self.reference_points.p.len()
            + 8 * self.blocks.reach.len()
            + 4 * self.blocks.mean_then.len()
            + 8 * self.snapshots.len()
    }

    /// Closes the open streak and opens one along `row`, which is `alpha` over the visited points.
    pub fn start_streak(&mut self, shared: &Blocks, visited: &[u32], row: &[f64], alpha: &[f64]) {
        let rounded = self.rounded();
        snapshots::close(&mut self.snapshots, self.theta.open, self.theta.row_square, rounded);
        start_bounds(self, shared, visited, row, alpha);
        self.theta.open = SnapshotSums::default();
        self.theta.streak += 1;
    }

    pub fn observe(&mut self, scale: f64, mean_step: f64) {
        self.theta.open.steps += mean_step;
        self.theta.open.squares += scale * scale;
        let (mean, variance) = (&mut self.reference_points.mean, &mut self.reference_points.variance);
        apply_bounds(&self.reference_points.p, scale * scale, mean_step, mean, variance);
    }

    /// Computes the bounds of all blocks at this exploration factor.
    ///
    /// `beyond` bounds the part of a distance that theta's coordinates omit.
    pub fn update(&mut self, beta: f64, shared: &Blocks, beyond: f64, band: Band) {
        let a = self.theta.open.steps;
        let reach = a.abs() * self.theta.row_square.sqrt();
        // Rounding error of theta: relative to its norm, once per streak.
        let theta_error = 4.0 * (self.theta.streak as f64 + 2.0) * f64::EPSILON * (self.theta.largest + reach) + beyond;
        let length = self.theta.square + a * (2.0 * self.theta.along + a * self.theta.row_square);
        let rounded = self.rounded();
        self.length = (length.max(0.0) + rounded).sqrt() + theta_error;
        // Snapshots are taken after this, also in the middle of a streak.
        self.theta.largest = larger(self.theta.largest, self.length);
        self.raised.clear();
        self.current = None;
        let now = Now { open: self.theta.open, row_square: self.theta.row_square, beta, rounded, theta_error };
        snapshots::update(&mut self.snapshots, now);
        if band == Band::Stale {
            self.blocks.reach.fill(0.0);
            self.blocks.root.fill(0.0);
        } else {
            let Snapshots { reach: reaches, root: roots, .. } = &self.snapshots;
            for ((reach, root), &at) in self.blocks.reach.iter_mut().zip(&mut self.blocks.root).zip(&self.blocks.snapshot) {
                (*reach, *root) = (reaches[at as usize], roots[at as usize]);
            }
        }
        let reference_points = &shared.by_reference.reference_points;
        largest_of_blocks(reference_points, &self.reference_points.mean, Some(&self.blocks.mean_then), &mut self.of_block);
        bound_loop(self, beta, shared);
    }

    /// Bounds the rounding error that one streak adds to a squared distance.
    ///
    /// The parts of a squared distance are sums of m products each, of numbers of this size.
    fn rounded(&self) -> f64 {
        let size = self.theta.largest + self.theta.open.steps.abs() * self.theta.row_square.sqrt();
        8.0 * (self.theta.start.len() as f64 + 8.0) * f64::EPSILON * size * size
    }

    /// Returns the number of blocks whose bounds reach the floor.
    pub fn reaching(&self, floor: f64) -> usize {
        self.blocks.now.iter().filter(|bound| floor <= **bound).count()
    }

    /// Lowers the bounds to those from the present scores of the reference points.
    pub fn refine(&mut self, beta: f64, shared: &Blocks) {
        refine_wide(self, beta);
        let reference_points = &shared.by_reference.reference_points;
        largest_of_blocks(reference_points, &self.of_reference_point, None, &mut self.of_block);
        let apart = self.length + beta;
        lower(self, apart, &shared.by_reference.radii);
        for &(block, score) in &self.raised {
            if f64::NEG_INFINITY < self.blocks.now[block] {
                self.blocks.now[block] = larger(self.blocks.now[block], score);
            }
        }
    }

    /// Returns the approximate multiply-adds of [`Bounds::refine`].
    pub fn work_of_refining(&self) -> usize {
        16 * self.reference_points.p.len() + 2 * self.blocks.mean_then.len() + 4 * self.blocks.reach.len()
    }

    /// Raises the bound of a block: one of its points may have a score up to `score`.
    pub fn raise(&mut self, block: usize, score: f64) {
        self.blocks.now[block] = larger(self.blocks.now[block], score);
        self.raised.push((block, score));
    }

    /// Records bounds on the scores and posterior standard deviation of a block, which was scored or checked.
    pub fn bounded(&mut self, block: usize, largest: f64, deviation: f64, beta: f64, shared: &Blocks) {
        self.blocks.largest[block] = largest;
        self.blocks.deviation[block] = deviation;
        self.blocks.beta[block] = beta;
        let n = self.blocks.reach.len();
        for (corner, reference_point) in shared.by_reference.reference_points.of(block) {
            self.blocks.mean_then[corner * n + block] = self.reference_points.mean[reference_point];
        }
        let current = self
            .current
            .unwrap_or_else(|| self.snapshots.take(&self.theta.start, &self.theta.row, self.theta.open, self.theta.row_square));
        self.current = Some(current);
        self.snapshots.hand_over(self.blocks.snapshot[block], current);
        self.blocks.snapshot[block] = current;
    }

    /// Returns the block with the highest bound, if that bound reaches the floor.
    pub fn highest(&self, floor: f64) -> Option<usize> {
        let most = largest_of(&self.blocks.now);
        if f64::NEG_INFINITY < most && floor <= most { first_from(&self.blocks.now, most) } else { None }
    }

    /// Returns the first block at or after `from` whose bound reaches the floor.
    pub fn reaching_from(&self, from: usize, floor: f64) -> Option<usize> {
        // A scored block has the bound minus infinity, which must not reach a floor of minus infinity.
        let least = if floor == f64::NEG_INFINITY { f64::MIN } else { floor };
        first_from(&self.blocks.now[from..], least).map(|at| from + at)
    }
}

vectorised! {
    /// Writes each block's largest value `now` (less `then`, if given) at its reference points.
    ///
    /// * `then` — one list over all blocks for each corner
    fn largest_of_blocks(reference_points: &ReferencePoints, now: &[f64], then: Option<&[f64]>, out: &mut [f64]) {
        let n = out.len();
        out.fill(f64::NEG_INFINITY);
        for view in &reference_points.views {
            let out = &mut out[view.first_block..][..view.blocks];
            let now = &now[view.first_reference_point..][..view.blocks];
            match then {
                Some(then) => {
                    let then = &then[view.corner * n + view.first_block..][..view.blocks];
                    out.iter_mut().zip(now).zip(then).for_each(|((most, now), then)| *most = larger(*most, now - then));
                }
                None => out.iter_mut().zip(now).for_each(|(most, &now)| *most = larger(*most, now)),
            }
        }
    }
}

/// Numbers that are tested together.
const PART: usize = 64;

vectorised! {
    fn largest_of(list: &[f64]) -> f64 {
        let mut most = [f64::NEG_INFINITY; PART];
        let (parts, rest) = list.as_chunks::<PART>();
        for part in parts {
            most.iter_mut().zip(part).for_each(|(most, &number)| *most = larger(*most, number));
        }
        most.iter().chain(rest).copied().fold(f64::NEG_INFINITY, larger)
    }
}

vectorised! {
    /// Returns the index of the first number that is at least `least`.
    fn first_from(list: &[f64], least: f64) -> Option<usize> {
        let has = |part: &&[f64]| part.iter().fold(false, |any, number| any | (least <= *number));
        let (at, part) = list.chunks(PART).enumerate().find(|(_, part)| has(part))?;
        part.iter().position(|number| least <= *number).map(|place| at * PART + place)
    }
}

vectorised! {
    /// [`Bounds::start_streak`], vectorised.
    fn start_bounds(bounds: &mut Bounds, shared: &Blocks, visited: &[u32], row: &[f64], alpha: &[f64]) where _simd: S {
        let Bounds {
            theta: ThetaPath { start: theta, row: own, row_square, square, along, open, largest, .. },
            reference_points,
            snapshots,
            ..
        } = bounds;
        for (theta, u) in theta.iter_mut().zip(own.iter()) {
            *theta += open.steps * u;
        }
        // Over visited points theta gains one coordinate with each new point.
        theta.resize(row.len(), 0.0);
        own.clear();
        own.extend_from_slice(row);
        *row_square = dot(row, row);
        (*square, *along) = (dot(theta, theta), dot(theta, row));
        *largest = largest.max(square.sqrt());
        snapshots::follow_row(snapshots, row, *along);
        if is_fused::<S>() {
            reference_points.start_streak::<true>(shared, visited, alpha);
        } else {
            reference_points.start_streak::<false>(shared, visited, alpha);
        }
    }
}

impl ReferencePointValues {
    /// Computes `p` of a streak with these coefficients over the visited points.
    #[inline(always)]
    fn start_streak<const FUSED: bool>(&mut self, shared: &Blocks, visited: &[u32], alpha: &[f64]) {
        let Self { columns, p, .. } = self;
        for &point in &visited[columns.len() / p.len()..] {
            let known = columns.len();
            columns.resize(known + p.len(), 0.0);
            shared.source.at_reference_points::<FUSED>(point as usize, &mut columns[known..]);
        }
        weighted_sum::<FUSED>(alpha, columns, p);
    }
}

// Loops over plain slices: loops over chunks compile to a single loop with gathered SIMD lanes.

vectorised! {
    /// Computes the bounds from their parts, vectorised.
    fn bound_loop(bounds: &mut Bounds, beta: f64, shared: &Blocks) {
        let n = shared.by_reference.radii.len();
        let Bounds { blocks, of_block, .. } = bounds;
        let BlockBounds { now: bound, largest, deviation, beta: then, reach, root, .. } = blocks;
        let (bound, moved, radii) = (&mut bound[..n], &of_block[..n], &shared.by_reference.radii[..n]);
        let (largest, deviation, then, reach, root) = (&largest[..n], &deviation[..n], &then[..n], &reach[..n], &root[..n]);
        for at in 0..n {
            let wider = larger(0.0, beta - then[at]) * deviation[at];
            let near = wider + moved[at] + reach[at] * radii[at];
            let far = larger(0.0, root[at] - then[at]) * deviation[at];
            bound[at] = largest[at] + if near < far { near } else { far };
        }
    }
}

vectorised! {
    /// Computes the scores of the reference points, vectorised.
    fn refine_wide(bounds: &mut Bounds, beta: f64) {
        let Bounds { reference_points: ReferencePointValues { mean, variance, .. }, of_reference_point, .. } = bounds;
        for ((score, &mean), &variance) in of_reference_point.iter_mut().zip(mean.iter()).zip(variance.iter()) {
            *score = mean + beta * root_above(larger(0.0, variance));
        }
    }
}

vectorised! {
    /// Lowers each bound to that from the largest score of the block's reference points.
    ///
    /// * `apart` — sum of `|theta|` and the exploration factor.
    fn lower(bounds: &mut Bounds, apart: f64, radii: &[f64]) {
        let Bounds { blocks: BlockBounds { now: bound, .. }, of_block, .. } = bounds;
        for ((bound, most), radius) in bound.iter_mut().zip(of_block.iter()).zip(radii) {
            let fresh = most + apart * radius;
            *bound = if fresh < *bound { fresh } else { *bound };
        }
    }
}

/// Returns a close upper bound on the square root; roots in f32 take a third of the time.
#[inline(always)]
fn root_above(square: f64) -> f64 {
    // Covers two roundings and underflow to zero in f32; a value too large for f32 bounds its own root.
    let small = f64::from((square as f32).sqrt()) * (1.0 + 4.0 * f64::from(f32::EPSILON)) + 2e-19;
    if square < 1e38 { small } else { square }
}

vectorised! {
    /// `variance -= square p²`, `mean += step p`, vectorised.
    fn apply_bounds(p: &[f64], square: f64, step: f64, mean: &mut [f64], variance: &mut [f64]) {
        if variance.is_empty() {
            mean.iter_mut().zip(p).for_each(|(mean, &p)| *mean += step * p);
        } else {
            apply(mean, variance, p, square, step);
        }
    }
}
