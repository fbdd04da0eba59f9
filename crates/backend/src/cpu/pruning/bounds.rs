//! Bounds the scores of blocks.
//!
//! A bound uses the exact means and posterior variances of the reference points, the distance that theta has moved since a
//! block was last scored or bounded by interpolation, and the standardized innovations since. Derivation:
//! `docs/derivations/block-pruning.md`.

use super::blocks::Blocks;
use super::kernels::{Fusible, apply, weighted_sum, wide_fused};
use super::scan::{First, Largest, OverAnchors};
use super::snapshots::{Along, Now, Snapshots, Sums};
use crate::Band;
use crate::cpu::vector::larger;
use privateer_numerics::linalg::{dot, wide};
use pulp::{Arch, NullaryFnOnce};

/// Number of turns in which the search picks the block with the highest bound.
const PICKED: usize = 4;

/// Bounds of all blocks of a trial; one entry per block unless stated otherwise.
#[derive(Debug)]
pub struct Bounds {
    /// Bounds on score and posterior standard deviation, and `beta`, when last bounded.
    ///
    /// `mean_then` holds the means of the block's reference points at that time, one list after another.
    largest: Vec<f64>,
    spread: Vec<f64>,
    width: Vec<f64>,
    mean_then: Vec<f64>,
    snapshot: Vec<u32>,
    /// Means at the reference points, their posterior variances (empty if unused), and `p` there.
    ///
    /// `p` is that of the open streak. All are padded like `columns`.
    mean: Vec<f64>,
    variance: Vec<f64>,
    p: Vec<f64>,
    /// Kernel functions of the visited points at the reference points, column by column.
    columns: Vec<f64>,
    /// The open streak's row as a matrix, used where it replaces `columns` at the reference points.
    matrix: Vec<f64>,
    room: Vec<f64>,
    /// Current bounds; minus infinity for blocks scored this round.
    bound: Vec<f64>,
    snapshots: Snapshots,
    /// Snapshot taken this round, if any.
    current: Option<u32>,
    /// `m`: theta at the start of the open streak, that streak's row, and the row's squared norm.
    theta: Vec<f64>,
    row: Vec<f64>,
    row_square: f64,
    /// `|theta|²` and `theta · u` for this theta and row.
    theta_square: f64,
    theta_along: f64,
    open: Sums,
    /// Index of the open streak.
    run: usize,
    /// Largest `|theta|` at the starts of streaks and when blocks were bounded.
    largest_theta: f64,
    /// Of each block: a bound on `|theta_t - theta_s|`, and the square root of `beta² + Z²`.
    reach: Vec<f64>,
    root: Vec<f64>,
    /// Current bound on `|theta|`.
    length: f64,
    /// Blocks with a visited point whose score may reach this value, above their other bounds.
    raised: Vec<(usize, f64)>,
    /// Scratch: one number per reference point, and one per block.
    of_anchor: Vec<f64>,
    of_block: Vec<f64>,
    /// Block at which the search continues.
    cursor: usize,
}

impl Bounds {
    /// Creates the bounds of the prior: every block counts as scored with exploration factor 0.
    pub fn new(shared: &Blocks, m: usize) -> Self {
        let (n, padded) = (shared.anchored.radii.len(), shared.source.padded_anchors());
        let mut variance = shared.anchored.prior.clone();
        if shared.anchored.bound_scores() {
            variance.resize(padded, 0.0);
        }
        Self {
            largest: vec![0.0; n],
            spread: shared.widest.clone(),
            width: vec![0.0; n],
            mean_then: vec![0.0; shared.anchored.anchors.corners * n],
            snapshot: vec![0; n],
            mean: vec![0.0; padded],
            variance,
            p: vec![0.0; padded],
            columns: if shared.source.products().is_some() { Vec::new() } else { Vec::with_capacity(16 * padded) },
            matrix: Vec::new(),
            room: Vec::new(),
            bound: vec![f64::INFINITY; n],
            snapshots: Snapshots::new(n as u32),
            current: None,
            theta: vec![0.0; m],
            row: vec![0.0; m],
            row_square: 0.0,
            theta_square: 0.0,
            theta_along: 0.0,
            open: Sums::default(),
            run: 0,
            largest_theta: 0.0,
            reach: vec![0.0; n],
            root: vec![0.0; n],
            length: 0.0,
            raised: Vec::new(),
            of_anchor: vec![0.0; padded],
            of_block: vec![0.0; n],
            cursor: 0,
        }
    }

    /// Returns the multiply-adds of a new streak over `visited` points, grid nodes included.
    pub fn work_of_a_run(&self, shared: &Blocks, visited: usize) -> usize {
        let counts = shared.grid.as_ref().map_or([0; 2], |grid| grid.counts);
        let anchors = self.p.len();
        let of_anchors = shared.source.products().map_or(anchors * visited, |(products, _)| products.work(anchors, counts));
        of_anchors + (self.snapshots.len() + 3) * self.theta.len()
    }

    /// Returns the open streak's row as a matrix, used where reference points lie in lines.
    pub fn matrix(&self) -> &[f64] {
        &self.matrix
    }

    /// Returns `|u|²` of the open streak's row.
    pub fn row_square(&self) -> f64 {
        self.row_square
    }

    /// Returns the approximate multiply-adds of a round's bounds.
    pub fn work_of_a_round(&self) -> usize {
        2 * self.p.len() + 8 * self.reach.len() + 4 * self.mean_then.len() + 8 * self.snapshots.len()
    }

    /// Closes the open streak and opens one along `row`, which is `alpha` over the visited points.
    pub fn start_run(&mut self, shared: &Blocks, visited: &[u32], row: &[f64], alpha: &[f64]) {
        let rounded = self.rounded();
        self.snapshots.close(self.open, self.row_square, rounded);
        wide_fused(Start { bounds: self, shared, visited, row, alpha });
        self.open = Sums::default();
        self.run += 1;
    }

    /// Adds an observation to the open streak.
    pub fn observe(&mut self, scale: f64, mean_step: f64) {
        self.open.steps += mean_step;
        self.open.squares += scale * scale;
        let (mean, variance) = (&mut self.mean, &mut self.variance);
        wide(Apply { p: &self.p, square: scale * scale, step: mean_step, mean, variance });
    }

    /// Computes the bounds of all blocks at this exploration factor `width`.
    ///
    /// `beyond` bounds the part of a distance that theta's coordinates omit.
    pub fn update(&mut self, width: f64, shared: &Blocks, beyond: f64, band: Band) {
        let a = self.open.steps;
        let reach = a.abs() * self.row_square.sqrt();
        // Rounding error of theta: relative to its norm, once per streak.
        let theta_error = 4.0 * (self.run as f64 + 2.0) * f64::EPSILON * (self.largest_theta + reach) + beyond;
        let length = self.theta_square + a * (2.0 * self.theta_along + a * self.row_square);
        let rounded = self.rounded();
        self.length = (length.max(0.0) + rounded).sqrt() + theta_error;
        // Snapshots are taken after this, also in the middle of a streak.
        self.largest_theta = larger(self.largest_theta, self.length);
        self.raised.clear();
        self.cursor = 0;
        self.snapshots.update(Now { open: self.open, row_square: self.row_square, width, rounded, theta_error });
        if band == Band::Stale {
            self.reach.fill(0.0);
            self.root.fill(0.0);
        } else {
            let (reaches, roots) = self.snapshots.reach_and_root();
            for ((reach, root), &at) in self.reach.iter_mut().zip(&mut self.root).zip(&self.snapshot) {
                (*reach, *root) = (reaches[at as usize], roots[at as usize]);
            }
        }
        let anchors = &shared.anchored.anchors;
        Arch::new().dispatch(OverAnchors { anchors, now: &self.mean, then: Some(&self.mean_then), out: &mut self.of_block });
        wide(Bound { bounds: self, width, shared });
    }

    /// Bounds the rounding error that one streak adds to a squared distance.
    ///
    /// The parts of a squared distance are sums of m products each, of numbers of this size.
    fn rounded(&self) -> f64 {
        let size = self.largest_theta + self.open.steps.abs() * self.row_square.sqrt();
        8.0 * (self.theta.len() as f64 + 8.0) * f64::EPSILON * size * size
    }

    /// Returns the number of blocks whose bounds reach the floor.
    pub fn reaching(&self, floor: f64) -> usize {
        self.bound.iter().filter(|bound| floor <= **bound).count()
    }

    /// Lowers the bounds to those from the present scores of the reference points.
    pub fn refine(&mut self, width: f64, shared: &Blocks) {
        wide(Refine { bounds: self, width });
        let anchors = &shared.anchored.anchors;
        Arch::new().dispatch(OverAnchors { anchors, now: &self.of_anchor, then: None, out: &mut self.of_block });
        let apart = self.length + width;
        wide(Lower { bounds: self, apart, radii: &shared.anchored.radii });
        for &(block, score) in &self.raised {
            if f64::NEG_INFINITY < self.bound[block] {
                self.bound[block] = larger(self.bound[block], score);
            }
        }
    }

    /// Returns the approximate multiply-adds of [`Bounds::refine`].
    pub fn work_of_refining(&self) -> usize {
        16 * self.p.len() + 2 * self.mean_then.len() + 4 * self.reach.len()
    }

    /// Raises the bound of a block: one of its points may have a score up to `score`.
    pub fn raise(&mut self, block: usize, score: f64) {
        self.bound[block] = larger(self.bound[block], score);
        self.raised.push((block, score));
    }

    /// Returns the next block to score: one whose bound reaches the floor, which never falls.
    ///
    /// In the first turns it is the block with the highest bound.
    pub fn next(&mut self, turn: usize, floor: f64) -> Option<usize> {
        let reaches = |least: f64| move |bound: &f64| least <= *bound && f64::NEG_INFINITY < *bound;
        if turn < PICKED {
            let least = floor.max(Arch::new().dispatch(Largest(&self.bound)));
            return self.bound.iter().position(reaches(least));
        }
        let at = self.cursor + self.bound[self.cursor..].iter().position(reaches(floor))?;
        self.cursor = at + 1;
        Some(at)
    }

    /// Records the largest score and posterior standard deviation of a block that was scored.
    pub fn scored(&mut self, block: usize, largest: f64, spread: f64, width: f64, shared: &Blocks) {
        self.bound[block] = f64::NEG_INFINITY;
        self.bounded(block, largest, spread, width, shared);
    }

    /// Records bounds on a block that was not scored; for features, where no block is raised.
    pub fn screened(&mut self, block: usize, largest: f64, spread: f64, width: f64, shared: &Blocks) {
        self.bound[block] = self.bound[block].min(largest);
        self.bounded(block, largest, spread, width, shared);
    }

    fn bounded(&mut self, block: usize, largest: f64, spread: f64, width: f64, shared: &Blocks) {
        self.largest[block] = largest;
        self.spread[block] = spread;
        self.width[block] = width;
        let n = self.reach.len();
        for (corner, anchor) in shared.anchored.anchors.of(block) {
            self.mean_then[corner * n + block] = self.mean[anchor];
        }
        let current = self.current.unwrap_or_else(|| self.snapshots.take(&self.theta, &self.row, self.open, self.row_square));
        self.current = Some(current);
        self.snapshots.hand_over(self.snapshot[block], current);
        self.snapshot[block] = current;
    }

    /// Returns the block with the highest bound, if that bound reaches the floor.
    pub fn highest(&self, floor: f64) -> Option<usize> {
        let most = Arch::new().dispatch(Largest(&self.bound));
        if f64::NEG_INFINITY < most && floor <= most {
            Arch::new().dispatch(First { list: &self.bound, least: most })
        } else {
            None
        }
    }

    /// Returns the first block at or after `from` whose bound reaches the floor.
    pub fn reaching_from(&self, from: usize, floor: f64) -> Option<usize> {
        // A scored block has the bound minus infinity, which must not reach a floor of minus infinity.
        let least = if floor == f64::NEG_INFINITY { f64::MIN } else { floor };
        Arch::new().dispatch(First { list: &self.bound[from..], least }).map(|at| from + at)
    }

    /// Returns the current bound on `|theta|`.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// Returns the bound of a block; minus infinity if it was scored this round.
    pub fn bound(&self, block: usize) -> f64 {
        self.bound[block]
    }

    /// Ends the round.
    pub fn end_round(&mut self) {
        self.current = None;
    }

    /// Returns the bound on a block's scores from when it was last scored or checked.
    pub fn largest(&self, block: usize) -> f64 {
        self.largest[block]
    }
}

/// [`Bounds::start_run`], vectorised.
struct Start<'a> {
    bounds: &'a mut Bounds,
    shared: &'a Blocks,
    visited: &'a [u32],
    row: &'a [f64],
    alpha: &'a [f64],
}

impl Fusible for Start<'_> {
    type Output = ();

    #[inline(always)]
    fn call<const FUSED: bool>(self) {
        let Self { bounds, shared, visited, row, alpha } = self;
        let Bounds { theta, row: own, snapshots, columns, matrix, room, p, open, .. } = bounds;
        for (theta, u) in theta.iter_mut().zip(own.iter()) {
            *theta += open.steps * u;
        }
        // Over visited points theta gains one coordinate with each new point.
        theta.resize(row.len(), 0.0);
        own.clear();
        own.extend_from_slice(row);
        bounds.row_square = dot(row, row);
        (bounds.theta_square, bounds.theta_along) = (dot(theta, theta), dot(theta, row));
        bounds.largest_theta = bounds.largest_theta.max(bounds.theta_square.sqrt());
        Along { snapshots, row, theta_along: bounds.theta_along }.call::<FUSED>();
        if let Some((products, anchors)) = shared.source.products() {
            products.of_row(row, matrix);
            products.at_anchors(matrix, anchors, room, p);
            return;
        }
        for &point in &visited[columns.len() / p.len()..] {
            let known = columns.len();
            columns.resize(known + p.len(), 0.0);
            shared.source.at_anchors::<FUSED>(point as usize, &mut columns[known..]);
        }
        weighted_sum::<FUSED>(alpha, columns, p);
    }
}

// Loops over plain slices: loops over chunks compile to a single loop with gathered SIMD lanes.

/// Computes the bounds from their parts, vectorised.
struct Bound<'a> {
    bounds: &'a mut Bounds,
    width: f64,
    shared: &'a Blocks,
}

impl NullaryFnOnce for Bound<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { bounds, width, shared } = self;
        let n = shared.anchored.radii.len();
        let Bounds { bound, largest, spread, width: then, reach, root, of_block, .. } = bounds;
        let (bound, moved, radii) = (&mut bound[..n], &of_block[..n], &shared.anchored.radii[..n]);
        let (largest, spread, then, reach, root) = (&largest[..n], &spread[..n], &then[..n], &reach[..n], &root[..n]);
        for at in 0..n {
            let wider = larger(0.0, width - then[at]) * spread[at];
            let near = wider + moved[at] + reach[at] * radii[at];
            let far = larger(0.0, root[at] - then[at]) * spread[at];
            bound[at] = largest[at] + if near < far { near } else { far };
        }
    }
}

/// Computes the scores of the reference points, vectorised.
struct Refine<'a> {
    bounds: &'a mut Bounds,
    width: f64,
}

impl NullaryFnOnce for Refine<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { bounds, width } = self;
        let Bounds { mean, variance, of_anchor, .. } = bounds;
        for ((score, &mean), &variance) in of_anchor.iter_mut().zip(mean.iter()).zip(variance.iter()) {
            *score = mean + width * root_above(larger(0.0, variance));
        }
    }
}

/// Lowers each bound to that from the largest score of the block's reference points.
struct Lower<'a> {
    bounds: &'a mut Bounds,
    /// Sum of `|theta|` and the exploration factor.
    apart: f64,
    radii: &'a [f64],
}

impl NullaryFnOnce for Lower<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Bounds { bound, of_block, .. } = self.bounds;
        for ((bound, most), radius) in bound.iter_mut().zip(of_block.iter()).zip(self.radii) {
            let fresh = most + self.apart * radius;
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

/// `variance -= square p²`, `mean += step p`, vectorised.
struct Apply<'a> {
    p: &'a [f64],
    square: f64,
    step: f64,
    mean: &'a mut [f64],
    variance: &'a mut [f64],
}

impl NullaryFnOnce for Apply<'_> {
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
