//! Bounds on the scores of blocks, and what they are made of: exact means and spreads of the reference points, distances of theta since a block was scored or looked at,
//! and standardized innovations.

use super::blocks::Blocks;
use super::kernels::{Fusible, apply, weighted_sum, wide_fused};
use super::scan::{First, Largest, OverReferencePoints};
use super::snapshots::{Along, Now, SnapshotSums, Snapshots};
use crate::Band;
use crate::cpu::vector::larger;
use privateer_numerics::linalg::{dot, wide};
use pulp::{Arch, NullaryFnOnce};

/// Turns in which the block of the highest bound is looked for.
const PICKED: usize = 4;

/// Bounds of all blocks of a trial.
#[derive(Debug)]
pub struct Bounds {
    blocks: BlockBounds,
    reference_points: ReferencePointValues,
    theta: ThetaPath,
    snapshots: Snapshots,
    /// The snapshot of this round, once there is one.
    current: Option<u32>,
    /// Bound on `|theta|` now.
    length: f64,
    /// Blocks that hold a point whose score may be this, whatever the other bounds say.
    raised: Vec<(usize, f64)>,
    /// Scratch: a number a reference point, and a number a block.
    of_reference_point: Vec<f64>,
    of_block: Vec<f64>,
    /// Where the search goes on.
    cursor: usize,
}

/// One entry a block.
#[derive(Debug)]
struct BlockBounds {
    /// Bounds on score and spread, and beta, when scored or looked at; and the means of the block's reference points then, one list after another.
    largest: Vec<f64>,
    spread: Vec<f64>,
    beta: Vec<f64>,
    mean_then: Vec<f64>,
    /// The snapshot of theta that these are of.
    snapshot: Vec<u32>,
    /// Bounds now; minus infinity for blocks scored this round.
    now: Vec<f64>,
    /// A bound on `|theta_t - theta_s|`, and the root of the squared beta and innovations since.
    reach: Vec<f64>,
    root: Vec<f64>,
}

/// The model at the reference points; lists are padded like `columns`.
#[derive(Debug)]
struct ReferencePointValues {
    /// The reference points' means now, their spreads² where these are bounds (else none), and `p` of the open streak there.
    mean: Vec<f64>,
    variance: Vec<f64>,
    p: Vec<f64>,
    /// Kernel functions of the visited points at the reference points, one after another.
    columns: Vec<f64>,
    /// The open streak's row as a matrix, where reference points are found by that and no columns are kept.
    matrix: Vec<f64>,
    /// Scratch of the products that find them.
    room: Vec<f64>,
}

/// Theta along the open streak.
#[derive(Debug)]
struct ThetaPath {
    /// `m`: theta at the start of the open streak; the open streak's row, and its square.
    start: Vec<f64>,
    row: Vec<f64>,
    row_square: f64,
    /// `|theta|²` and `theta · u` for those.
    square: f64,
    along: f64,
    open: SnapshotSums,
    /// Number of the open streak.
    streak: usize,
    /// Largest `|theta|` at the starts of streaks and when blocks were bounded.
    largest: f64,
}

impl Bounds {
    /// Before the first observation: every block as if scored with beta 0.
    pub fn new(shared: &Blocks, m: usize) -> Self {
        let (n, padded) = (shared.by_reference.radii.len(), shared.source.padded_reference_points());
        let mut variance = shared.by_reference.prior.clone();
        if shared.by_reference.bound_scores() {
            variance.resize(padded, 0.0);
        }
        Self {
            blocks: BlockBounds {
                largest: vec![0.0; n],
                spread: shared.widest.clone(),
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
                columns: if shared.source.products().is_some() { Vec::new() } else { Vec::with_capacity(16 * padded) },
                matrix: Vec::new(),
                room: Vec::new(),
            },
            theta: ThetaPath {
                start: vec![0.0; m],
                row: vec![0.0; m],
                row_square: 0.0,
                square: 0.0,
                along: 0.0,
                open: SnapshotSums::default(),
                streak: 0,
                largest: 0.0,
            },
            snapshots: Snapshots::new(n as u32),
            current: None,
            length: 0.0,
            raised: Vec::new(),
            of_reference_point: vec![0.0; padded],
            of_block: vec![0.0; n],
            cursor: 0,
        }
    }

    /// Multiply-adds of a new streak over so many visited points, with those of an interpolation grid of these counts.
    pub fn work_of_a_streak(&self, shared: &Blocks, visited: usize) -> usize {
        let counts = shared.grid.as_ref().map_or([0; 2], |grid| grid.counts);
        let reference_points = self.reference_points.p.len();
        let of_reference_points =
            shared.source.products().map_or(reference_points * visited, |(products, _)| products.work(reference_points, counts));
        of_reference_points + (self.snapshots.len() + 3) * self.theta.start.len()
    }

    /// The open streak's row as a matrix, where reference points stand in lines.
    pub fn matrix(&self) -> &[f64] {
        &self.reference_points.matrix
    }

    /// `|u|²` of the open streak's row.
    pub fn row_square(&self) -> f64 {
        self.theta.row_square
    }

    /// Multiply-adds of the bounds of a round, about.
    pub fn work_of_a_round(&self) -> usize {
        2 * self.reference_points.p.len()
            + 8 * self.blocks.reach.len()
            + 4 * self.blocks.mean_then.len()
            + 8 * self.snapshots.len()
    }

    /// Closes the open streak and opens one along `row`, which over the visited points is `alpha`.
    pub fn start_streak(&mut self, shared: &Blocks, visited: &[u32], row: &[f64], alpha: &[f64]) {
        let rounded = self.rounded();
        self.snapshots.close(self.theta.open, self.theta.row_square, rounded);
        wide_fused(StartBounds { bounds: self, shared, visited, row, alpha });
        self.theta.open = SnapshotSums::default();
        self.theta.streak += 1;
    }

    /// One observation of the open streak.
    pub fn observe(&mut self, scale: f64, mean_step: f64) {
        self.theta.open.steps += mean_step;
        self.theta.open.squares += scale * scale;
        let (mean, variance) = (&mut self.reference_points.mean, &mut self.reference_points.variance);
        wide(ApplyBounds { p: &self.reference_points.p, square: scale * scale, step: mean_step, mean, variance });
    }

    /// Bounds of all blocks at this beta; `beyond` bounds what theta's coordinates leave out of a distance.
    pub fn update(&mut self, beta: f64, shared: &Blocks, beyond: f64, band: Band) {
        let a = self.theta.open.steps;
        let reach = a.abs() * self.theta.row_square.sqrt();
        // What theta has rounded off, a share of itself a streak.
        let theta_error = 4.0 * (self.theta.streak as f64 + 2.0) * f64::EPSILON * (self.theta.largest + reach) + beyond;
        let length = self.theta.square + a * (2.0 * self.theta.along + a * self.theta.row_square);
        let rounded = self.rounded();
        self.length = (length.max(0.0) + rounded).sqrt() + theta_error;
        // Snapshots are taken after this, in the middle of streaks too.
        self.theta.largest = larger(self.theta.largest, self.length);
        self.raised.clear();
        self.cursor = 0;
        self.snapshots.update(Now { open: self.theta.open, row_square: self.theta.row_square, beta, rounded, theta_error });
        if band == Band::Stale {
            self.blocks.reach.fill(0.0);
            self.blocks.root.fill(0.0);
        } else {
            let (reaches, roots) = self.snapshots.reach_and_root();
            for ((reach, root), &at) in self.blocks.reach.iter_mut().zip(&mut self.blocks.root).zip(&self.blocks.snapshot) {
                (*reach, *root) = (reaches[at as usize], roots[at as usize]);
            }
        }
        let reference_points = &shared.by_reference.reference_points;
        Arch::new().dispatch(OverReferencePoints {
            reference_points,
            now: &self.reference_points.mean,
            then: Some(&self.blocks.mean_then),
            out: &mut self.of_block,
        });
        wide(BoundLoop { bounds: self, beta, shared });
    }

    /// Bound on what the square of a distance rounds off by a streak: its parts are sums of m products each, of numbers of this size.
    fn rounded(&self) -> f64 {
        let size = self.theta.largest + self.theta.open.steps.abs() * self.theta.row_square.sqrt();
        8.0 * (self.theta.start.len() as f64 + 8.0) * f64::EPSILON * size * size
    }

    /// Blocks whose bounds reach the floor.
    pub fn reaching(&self, floor: f64) -> usize {
        self.blocks.now.iter().filter(|bound| floor <= **bound).count()
    }

    /// Lowers bounds by what the reference points' scores say now.
    pub fn refine(&mut self, beta: f64, shared: &Blocks) {
        wide(Refine { bounds: self, beta });
        let reference_points = &shared.by_reference.reference_points;
        Arch::new().dispatch(OverReferencePoints {
            reference_points,
            now: &self.of_reference_point,
            then: None,
            out: &mut self.of_block,
        });
        let apart = self.length + beta;
        wide(Lower { bounds: self, apart, radii: &shared.by_reference.radii });
        for &(block, score) in &self.raised {
            if f64::NEG_INFINITY < self.blocks.now[block] {
                self.blocks.now[block] = larger(self.blocks.now[block], score);
            }
        }
    }

    /// Multiply-adds of that, about.
    pub fn work_of_refining(&self) -> usize {
        16 * self.reference_points.p.len() + 2 * self.blocks.mean_then.len() + 4 * self.blocks.reach.len()
    }

    /// A block holds a point whose score is at most this.
    pub fn raise(&mut self, block: usize, score: f64) {
        self.blocks.now[block] = larger(self.blocks.now[block], score);
        self.raised.push((block, score));
    }

    /// The block to be scored next: one whose bound reaches the floor, in the first turns the one with the highest. The floor never falls.
    pub fn next(&mut self, turn: usize, floor: f64) -> Option<usize> {
        let reaches = |least: f64| move |bound: &f64| least <= *bound && f64::NEG_INFINITY < *bound;
        if turn < PICKED {
            let least = floor.max(Arch::new().dispatch(Largest(&self.blocks.now)));
            return self.blocks.now.iter().position(reaches(least));
        }
        let at = self.cursor + self.blocks.now[self.cursor..].iter().position(reaches(floor))?;
        self.cursor = at + 1;
        Some(at)
    }

    /// A block was scored.
    pub fn scored(&mut self, block: usize, largest: f64, spread: f64, beta: f64, shared: &Blocks) {
        self.blocks.now[block] = f64::NEG_INFINITY;
        self.bounded(block, largest, spread, beta, shared);
    }

    /// A block was not scored, but these were found to bound it now: over features, where no block is raised.
    pub fn screened(&mut self, block: usize, largest: f64, spread: f64, beta: f64, shared: &Blocks) {
        self.blocks.now[block] = self.blocks.now[block].min(largest);
        self.bounded(block, largest, spread, beta, shared);
    }

    fn bounded(&mut self, block: usize, largest: f64, spread: f64, beta: f64, shared: &Blocks) {
        self.blocks.largest[block] = largest;
        self.blocks.spread[block] = spread;
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

    /// The block with the highest bound, where that reaches the floor.
    pub fn highest(&self, floor: f64) -> Option<usize> {
        let most = Arch::new().dispatch(Largest(&self.blocks.now));
        if f64::NEG_INFINITY < most && floor <= most {
            Arch::new().dispatch(First { list: &self.blocks.now, least: most })
        } else {
            None
        }
    }

    /// The first block from there on whose bound reaches the floor.
    pub fn reaching_from(&self, from: usize, floor: f64) -> Option<usize> {
        // Of minus infinity no bound is as high.
        let least = if floor == f64::NEG_INFINITY { f64::MIN } else { floor };
        Arch::new().dispatch(First { list: &self.blocks.now[from..], least }).map(|at| from + at)
    }

    /// Bound on `|theta|` now.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// The bound of a block that was not scored this round; minus infinity for the others.
    pub fn bound(&self, block: usize) -> f64 {
        self.blocks.now[block]
    }

    /// No more blocks this round.
    pub fn end_round(&mut self) {
        self.current = None;
    }

    /// What bounded the scores of a block when it was last scored or looked at.
    pub fn largest(&self, block: usize) -> f64 {
        self.blocks.largest[block]
    }
}

/// [`Bounds::start_streak`] in wide lanes.
struct StartBounds<'a> {
    bounds: &'a mut Bounds,
    shared: &'a Blocks,
    visited: &'a [u32],
    row: &'a [f64],
    alpha: &'a [f64],
}

impl Fusible for StartBounds<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(self) {
        let Self { bounds, shared, visited, row, alpha } = self;
        let Bounds {
            theta: ThetaPath { start: theta, row: own, row_square, square, along, open, largest, .. },
            reference_points,
            snapshots,
            ..
        } = bounds;
        let ReferencePointValues { columns, matrix, room, p, .. } = reference_points;
        for (theta, u) in theta.iter_mut().zip(own.iter()) {
            *theta += open.steps * u;
        }
        // Over the visited points there is a coordinate more with each of them.
        theta.resize(row.len(), 0.0);
        own.clear();
        own.extend_from_slice(row);
        *row_square = dot(row, row);
        (*square, *along) = (dot(theta, theta), dot(theta, row));
        *largest = largest.max(square.sqrt());
        Along { snapshots, row, theta_along: *along }.call::<FUSED>();
        if let Some((products, reference_points)) = shared.source.products() {
            products.of_row(row, matrix);
            products.at_reference_points(matrix, reference_points, room, p);
            return;
        }
        for &point in &visited[columns.len() / p.len()..] {
            let known = columns.len();
            columns.resize(known + p.len(), 0.0);
            shared.source.at_reference_points::<FUSED>(point as usize, &mut columns[known..]);
        }
        weighted_sum::<FUSED>(alpha, columns, p);
    }
}

// Loops over plain slices: of chunks the compiler makes one loop with the lanes gathered.

/// The bounds from their parts, in wide lanes.
struct BoundLoop<'a> {
    bounds: &'a mut Bounds,
    beta: f64,
    shared: &'a Blocks,
}

impl NullaryFnOnce for BoundLoop<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { bounds, beta, shared } = self;
        let n = shared.by_reference.radii.len();
        let Bounds { blocks, of_block, .. } = bounds;
        let BlockBounds { now: bound, largest, spread, beta: then, reach, root, .. } = blocks;
        let (bound, moved, radii) = (&mut bound[..n], &of_block[..n], &shared.by_reference.radii[..n]);
        let (largest, spread, then, reach, root) = (&largest[..n], &spread[..n], &then[..n], &reach[..n], &root[..n]);
        for at in 0..n {
            let wider = larger(0.0, beta - then[at]) * spread[at];
            let near = wider + moved[at] + reach[at] * radii[at];
            let far = larger(0.0, root[at] - then[at]) * spread[at];
            bound[at] = largest[at] + if near < far { near } else { far };
        }
    }
}

/// Scores of the reference points, in wide lanes.
struct Refine<'a> {
    bounds: &'a mut Bounds,
    beta: f64,
}

impl NullaryFnOnce for Refine<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { bounds, beta } = self;
        let Bounds { reference_points: ReferencePointValues { mean, variance, .. }, of_reference_point, .. } = bounds;
        for ((score, &mean), &variance) in of_reference_point.iter_mut().zip(mean.iter()).zip(variance.iter()) {
            *score = mean + beta * root_above(larger(0.0, variance));
        }
    }
}

/// Lowers bounds to what the largest scores of their reference points say.
struct Lower<'a> {
    bounds: &'a mut Bounds,
    /// `|theta|` and beta together.
    apart: f64,
    radii: &'a [f64],
}

impl NullaryFnOnce for Lower<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Bounds { blocks: BlockBounds { now: bound, .. }, of_block, .. } = self.bounds;
        for ((bound, most), radius) in bound.iter_mut().zip(of_block.iter()).zip(self.radii) {
            let fresh = most + self.apart * radius;
            *bound = if fresh < *bound { fresh } else { *bound };
        }
    }
}

/// No smaller than the root, and hardly larger: roots in f32 take a third of the time.
#[inline(always)]
fn root_above(square: f64) -> f64 {
    // Rounded twice; what is too small for f32 is lost, what is too large for it stands for its own root.
    let small = f64::from((square as f32).sqrt()) * (1.0 + 4.0 * f64::from(f32::EPSILON)) + 2e-19;
    if square < 1e38 { small } else { square }
}

/// `variance -= square p²`, `mean += step p` in wide lanes.
struct ApplyBounds<'a> {
    p: &'a [f64],
    square: f64,
    step: f64,
    mean: &'a mut [f64],
    variance: &'a mut [f64],
}

impl NullaryFnOnce for ApplyBounds<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        if self.variance.is_empty() {
            self.mean.iter_mut().zip(self.p).for_each(|(mean, &p)| *mean += self.step * p);
        } else {
            apply(self.mean, self.variance, self.p, self.square, self.step);
        }
    }
}
