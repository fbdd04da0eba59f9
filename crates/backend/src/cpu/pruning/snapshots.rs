//! Keeps the model at the times when blocks were last bounded, with one list per quantity.
//!
//! A snapshot gives the distance that theta has moved since, and the growth of the standardized innovations. Distances
//! are updated, not recomputed: a streak with coefficient a along u adds `2 a (theta - theta_s) · u + a² |u|²` to
//! `|theta - theta_s|²`, and a new streak needs only `theta_s · u`. The rounding error is bounded by `rounded`, a share
//! of the largest `|theta|²` per streak.

use privateer_numerics::linalg::{dot, four_dots};
use privateer_numerics::vectorised;

/// Sums over a streak: the summed `mean_step`, squared, over the summed `scale²`.
///
/// That ratio is the square of the streak's standardized innovation.
#[derive(Debug, Clone, Copy, Default)]
pub struct SnapshotSums {
    pub squares: f64,
    pub steps: f64,
}

/// Lists with one entry per snapshot.
#[derive(Debug, Default)]
pub struct Snapshots {
    /// Theta of the snapshot; coordinates that joined later are zero, from the next streak on.
    thetas: Vec<Vec<f64>>,
    /// `|theta - theta_s|²`, `(theta - theta_s) · u`, and the rounding error of the former.
    ///
    /// Theta is that of the start of the open streak, and u that streak's row.
    square: Vec<f64>,
    along: Vec<f64>,
    rounded: Vec<f64>,
    /// Squared innovations of closed streaks since the snapshot; and sums of the open streak then.
    ///
    /// The sums are zero if a streak has been closed since.
    innovations: Vec<f64>,
    squares: Vec<f64>,
    steps: Vec<f64>,
    /// Number of blocks that were last bounded then.
    blocks: Vec<u32>,
    /// A bound on `|theta_t - theta_s|`, and the square root of `beta² + Z²`.
    pub reach: Vec<f64>,
    pub root: Vec<f64>,
}

/// The open streak and error bounds of theta, see [`update`].
#[derive(Debug, Clone, Copy)]
pub struct Now {
    pub open: SnapshotSums,
    /// `|u|²` of the open streak's row.
    pub row_square: f64,
    pub beta: f64,
    /// Bounds on the present rounding error of a squared distance, and on the error of theta.
    pub rounded: f64,
    pub theta_error: f64,
}

impl Snapshots {
    /// Creates the snapshot of theta = 0, used by `blocks` blocks.
    pub fn new(blocks: u32) -> Self {
        let mut made = Self::default();
        let at = made.place();
        made.blocks[at] = blocks;
        made
    }

    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the index of a snapshot that no block uses, or of a new one.
    fn place(&mut self) -> usize {
        self.blocks.iter().position(|blocks| *blocks == 0).unwrap_or_else(|| {
            self.thetas.push(Vec::new());
            self.blocks.push(0);
            let Self { square, along, rounded, innovations, squares, steps, reach, root, .. } = self;
            for list in [square, along, rounded, innovations, squares, steps, reach, root] {
                list.push(0.0);
            }
            self.blocks.len() - 1
        })
    }

    /// Takes a snapshot of the present model; `theta` is that of the start of the open streak.
    pub fn take(&mut self, theta: &[f64], row: &[f64], open: SnapshotSums, row_square: f64) -> u32 {
        let at = self.place();
        self.thetas[at].clear();
        self.thetas[at].extend(theta.iter().zip(row).map(|(theta, u)| theta + open.steps * u));
        self.square[at] = open.steps * open.steps * row_square;
        self.along[at] = -open.steps * row_square;
        (self.rounded[at], self.innovations[at]) = (0.0, 0.0);
        (self.squares[at], self.steps[at]) = (open.squares, open.steps);
        at as u32
    }

    /// Moves a block from one snapshot to another.
    pub fn hand_over(&mut self, from: u32, to: u32) {
        self.blocks[from as usize] -= 1;
        self.blocks[to as usize] += 1;
    }
}

/// Returns the squared innovation of a part of a streak.
#[inline(always)]
fn innovation(squares: f64, steps: f64) -> f64 {
    if 0.0 < squares { steps * steps / squares } else { 0.0 }
}

vectorised! {
    /// Adds the open streak to the closed ones.
    pub fn close(snapshots: &mut Snapshots, open: SnapshotSums, row_square: f64, more: f64) {
        let Snapshots { square, along, rounded, innovations, squares, steps, .. } = snapshots;
        for (innovations, (squares, steps)) in innovations.iter_mut().zip(squares.iter_mut().zip(steps.iter_mut())) {
            *innovations += innovation(open.squares - *squares, open.steps - *steps);
            (*squares, *steps) = (0.0, 0.0);
        }
        let a = open.steps;
        for ((square, along), rounded) in square.iter_mut().zip(along.iter()).zip(rounded.iter_mut()) {
            *square += a * (2.0 * along + a * row_square);
            *rounded += more;
        }
    }
}

/// Writes `(theta - theta_s) · u` for a new row u; `theta_along` is `theta · u`.
#[inline(always)]
pub fn follow_row(snapshots: &mut Snapshots, row: &[f64], theta_along: f64) {
    let Snapshots { thetas, along, blocks, .. } = snapshots;
    // New coordinates are appended.
    thetas.iter_mut().for_each(|theta| theta.resize(row.len(), 0.0));
    let (fours, rest) = along.as_chunks_mut::<4>();
    let whole = 4 * fours.len();
    for ((at, along), blocks) in fours.iter_mut().enumerate().zip(blocks.as_chunks::<4>().0) {
        if *blocks != [0; 4] {
            let of = |i: usize| thetas[4 * at + i].as_slice();
            let sums = four_dots([of(0), of(1), of(2), of(3)], row);
            along.iter_mut().zip(sums).for_each(|(along, sum)| *along = theta_along - sum);
        }
    }
    for (along, at) in rest.iter_mut().zip(whole..) {
        *along = theta_along - dot(&thetas[at], row);
    }
}

vectorised! {
    /// Computes the bounds of the present model.
    pub fn update(snapshots: &mut Snapshots, now: Now) {
        let Snapshots { square, along, rounded, innovations, squares, steps, reach, root, .. } = snapshots;
        let (n, a) = (square.len(), now.open.steps);
        let (square, along, rounded, reach) = (&square[..n], &along[..n], &rounded[..n], &mut reach[..n]);
        for at in 0..n {
            let square = square[at] + a * (2.0 * along[at] + a * now.row_square);
            let square = if 0.0 < square { square } else { 0.0 };
            reach[at] = (square + (rounded[at] + now.rounded)).sqrt() + now.theta_error;
        }
        let (innovations, squares, steps, root) = (&innovations[..n], &squares[..n], &steps[..n], &mut root[..n]);
        let squared_beta = now.beta * now.beta;
        for at in 0..n {
            let of_open = innovation(now.open.squares - squares[at], a - steps[at]);
            root[at] = (squared_beta + innovations[at] + of_open).sqrt() * (1.0 + 1e-9);
        }
    }
}
