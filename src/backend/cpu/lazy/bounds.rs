//! Bounds on the scores of blocks, and what they are made of: exact means of the centres, distances of theta since a block was scored,
//! and standardized innovations.

use super::blocks::Blocks;
use super::kernels::weighted_sum;
use crate::linalg::{dot, wide};
use pulp::NullaryFnOnce;

/// A model at the time at which some blocks were scored.
#[derive(Debug, Clone, Default)]
struct Snapshot {
    /// Coefficients of theta over the points visited by then.
    weights: Vec<f64>,
    /// `|theta - theta_s|²` and `(theta - theta_s) · u` for theta at the start of the open run.
    square: f64,
    along: f64,
    /// Blocks that were scored then.
    blocks: u32,
    /// Sum of squared innovations of closed runs, and of the open run: number, squares, steps.
    closed: f64,
    run: usize,
    squares: f64,
    steps: f64,
}

/// Bounds of all blocks of a trial; one entry a block where not said otherwise.
#[derive(Debug)]
pub struct Bounds {
    /// Largest score, largest spread and width when scored, and the centre's mean.
    largest: Vec<f64>,
    spread: Vec<f64>,
    width: Vec<f64>,
    mean_then: Vec<f64>,
    snapshot: Vec<u32>,
    /// The centres' means now, and `p` of the open run there.
    mean: Vec<f64>,
    p: Vec<f64>,
    /// Kernel functions of the visited points at the centres, padded to a whole number of lanes.
    columns: Vec<f64>,
    padded: usize,
    /// Bounds now; minus infinity for blocks scored this round.
    bound: Vec<f64>,
    snapshots: Vec<Snapshot>,
    /// The snapshot of this round, once there is one.
    current: Option<u32>,
    /// theta at the start of the open run, over the visited points.
    weights: Vec<f64>,
    /// Sum of the steps of the open run, of its `scale²`, and its number.
    steps: f64,
    squares: f64,
    run: usize,
    /// The open run's row over the visited points, its square in the features, and the values of `p` at the visited points.
    alpha: Vec<f64>,
    row_square: f64,
    at_visited: Vec<f64>,
    /// Sum of squared innovations of closed runs after each.
    closed: f64,
    /// What the inner products above round off, at most.
    rounded: f64,
    largest_weights: f64,
    /// Of each closed run since the first that matters: squares, steps, and the sum of squared innovations after it.
    finals: Vec<(f64, f64, f64)>,
    /// Error that the centres' means and the squares may carry by the errors of `p`.
    mean_error: f64,
    distances: Vec<f64>,
    innovations: Vec<f64>,
}

/// Points whose sums stay in registers.
const LANES: usize = 32;

/// Turns in which the block of the highest bound is looked for.
const PICKED: usize = 4;

impl Bounds {
    /// Before the first observation: every block as if scored with width 0.
    pub fn new(shared: &Blocks) -> Self {
        let n = shared.centres.len();
        let padded = n.next_multiple_of(LANES);
        Self {
            largest: vec![0.0; n],
            spread: shared.widest.clone(),
            width: vec![0.0; n],
            mean_then: vec![0.0; n],
            snapshot: vec![0; n],
            mean: vec![0.0; padded],
            p: vec![0.0; padded],
            columns: Vec::new(),
            padded,
            bound: vec![f64::INFINITY; n],
            snapshots: vec![Snapshot { blocks: n as u32, ..Snapshot::default() }],
            current: None,
            weights: Vec::new(),
            steps: 0.0,
            squares: 0.0,
            run: 0,
            alpha: Vec::new(),
            row_square: 0.0,
            at_visited: Vec::new(),
            closed: 0.0,
            rounded: 0.0,
            largest_weights: 0.0,
            finals: vec![],
            mean_error: 0.0,
            distances: Vec::new(),
            innovations: Vec::new(),
        }
    }

    /// Multiply-adds of a new run.
    pub fn work(&self, visited: usize) -> usize {
        (self.padded + self.snapshots.len() + visited) * visited
    }

    /// Multiply-adds of the bounds of a round, about.
    pub fn work_of_a_round(&self) -> usize {
        8 * self.padded + 8 * self.snapshots.len()
    }

    /// Closes the open run and opens one along the row `alpha` over the visited points.
    pub fn start_run(&mut self, shared: &Blocks, visited: &[u32], alpha: &[f64], p_error: f64) {
        let (steps, k) = (self.steps, self.alpha.len());
        for (weight, a) in self.weights.iter_mut().zip(&self.alpha) {
            *weight += steps * a;
        }
        let size: f64 = self.weights.iter().map(|w| w.abs()).sum();
        self.largest_weights = self.largest_weights.max(size);
        for snapshot in &mut self.snapshots {
            snapshot.square += steps * (2.0 * snapshot.along + steps * self.row_square);
        }
        let innovation = if 0.0 < self.squares { steps * steps / self.squares } else { 0.0 };
        self.closed += innovation;
        self.finals.push((self.squares, steps, self.closed));
        (self.steps, self.squares) = (0.0, 0.0);
        self.run += 1;
        self.weights.resize(visited.len(), 0.0);
        for &point in &visited[k.min(visited.len())..] {
            let column = shared.centres.iter().map(|&centre| shared.source.entry(point as usize, centre as usize));
            self.columns.extend(column);
            self.columns.resize(self.columns.len().next_multiple_of(self.padded), 0.0);
        }
        self.alpha.clear();
        self.alpha.extend_from_slice(alpha);
        wide(Project { alpha, columns: &self.columns, out: &mut self.p });
        self.at_visited.clear();
        for &point in visited {
            let k = visited.iter().map(|&other| shared.source.entry(other as usize, point as usize));
            self.at_visited.push(k.zip(alpha).map(|(k, a)| k * a).sum());
        }
        self.row_square = dot(&self.at_visited, alpha).max(0.0);
        let most = self.at_visited.iter().fold(0.0f64, |most, p| most.max(p.abs())) + p_error;
        let terms = visited.len() as f64 + 8.0;
        self.rounded = 4.0 * terms * f64::EPSILON * most + 2.0 * p_error;
        for snapshot in &mut self.snapshots {
            let then = &snapshot.weights;
            let shared = dot(&self.weights[..then.len()], &self.at_visited[..then.len()]) - dot(then, &self.at_visited[..then.len()]);
            snapshot.along = shared + dot(&self.weights[then.len()..], &self.at_visited[then.len()..]);
        }
    }

    /// One observation of the open run.
    pub fn observe(&mut self, scale: f64, mean_step: f64) {
        self.steps += mean_step;
        self.squares += scale * scale;
        wide(Add { step: mean_step, p: &self.p, mean: &mut self.mean });
    }

    /// Bounds of all blocks at this width; `variance_error` is that of every spread².
    pub fn update(&mut self, width: f64, variance_error: f64, shared: &Blocks) {
        // Snapshots that no block needs any more are used again.
        let steps = self.steps;
        let weights = 2.0 * self.largest_weights + steps.abs() * self.alpha.iter().map(|a| a.abs()).sum::<f64>();
        let rounded = self.rounded * (weights + steps.abs()) ;
        let _ = variance_error;
        self.distances.clear();
        self.innovations.clear();
        for snapshot in &self.snapshots {
            let square = snapshot.square + steps * (2.0 * snapshot.along + steps * self.row_square);
            self.distances.push((square.max(0.0) + rounded * (1.0 + steps.abs())).sqrt());
            self.innovations.push(self.since(snapshot));
        }
        for (block, bound) in self.bound.iter_mut().enumerate() {
            let at = self.snapshot[block] as usize;
            let (then, spread) = (self.width[block], self.spread[block]);
            let wider = (width - then).max(0.0) * spread;
            let near = wider + (self.mean[block] - self.mean_then[block]) + self.distances[at] * shared.radii[block];
            let far = ((width * width + self.innovations[at]).sqrt() - then).max(0.0) * spread;
            *bound = self.largest[block] + near.min(far);
        }
    }

    /// Sum of squared innovations of the runs since a snapshot, each a whole.
    fn since(&self, snapshot: &Snapshot) -> f64 {
        let part = |squares: f64, steps: f64| if 0.0 < squares { steps * steps / squares } else { 0.0 };
        let open = part(self.squares - snapshot.squares, self.steps - snapshot.steps);
        if snapshot.run == self.run {
            return open;
        }
        let (squares, steps, closed) = self.finals[snapshot.run];
        part(squares - snapshot.squares, steps - snapshot.steps)
            + (self.closed - closed).max(0.0) * (1.0 + 1e-9)
            + part(self.squares, self.steps)
    }

    /// The block to be scored next: one whose bound reaches the floor.
    pub fn next(&mut self, turn: usize, floor: f64) -> Option<usize> {
        if turn < PICKED {
            let (mut best, mut most) = (None, floor);
            for (block, &bound) in self.bound.iter().enumerate() {
                if most <= bound {
                    (best, most) = (Some(block), bound);
                }
            }
            return best;
        }
        self.bound.iter().position(|&bound| floor <= bound)
    }

    /// A block was scored.
    pub fn scored(&mut self, block: usize, largest: f64, spread: f64, width: f64) {
        self.bound[block] = f64::NEG_INFINITY;
        self.largest[block] = largest;
        self.spread[block] = spread;
        self.width[block] = width;
        self.mean_then[block] = self.mean[block];
        let before = self.snapshot[block] as usize;
        self.snapshots[before].blocks -= 1;
        let current = match self.current {
            Some(current) => current,
            None => self.take_snapshot(),
        };
        self.current = Some(current);
        self.snapshots[current as usize].blocks += 1;
        self.snapshot[block] = current;
    }

    fn take_snapshot(&mut self) -> u32 {
        let free = self.snapshots.iter().position(|snapshot| snapshot.blocks == 0);
        let at = free.unwrap_or_else(|| {
            self.snapshots.push(Snapshot::default());
            self.snapshots.len() - 1
        });
        let (steps, square) = (self.steps, self.row_square);
        let snapshot = &mut self.snapshots[at];
        snapshot.weights.clear();
        snapshot.weights.extend(self.weights.iter().zip(&self.alpha).map(|(w, a)| w + steps * a));
        snapshot.square = steps * steps * square;
        snapshot.along = -steps * square;
        snapshot.closed = self.closed;
        snapshot.run = self.run;
        snapshot.squares = self.squares;
        snapshot.steps = steps;
        at as u32
    }

    /// No more blocks this round.
    pub fn end_round(&mut self) {
        self.current = None;
    }

    /// The largest score of a block that was scored this round.
    pub fn largest(&self, block: usize) -> f64 {
        self.largest[block]
    }
}

struct Project<'a> {
    alpha: &'a [f64],
    columns: &'a [f64],
    out: &'a mut [f64],
}

impl NullaryFnOnce for Project<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        weighted_sum(self.alpha, self.columns, self.out);
    }
}

struct Add<'a> {
    step: f64,
    p: &'a [f64],
    mean: &'a mut [f64],
}

impl NullaryFnOnce for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.mean.iter_mut().zip(self.p).for_each(|(mean, &p)| *mean += self.step * p);
    }
}
