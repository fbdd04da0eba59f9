//! Stores the moments of one block of a trial and applies the streaks that it has missed.

use super::blocks::Blocks;
use super::kernels::{Fusible, TOGETHER, Together, apply, apply_together, score, weighted_sum};

/// Initial capacity of a block, in columns.
const FIRST_COLUMNS: usize = 16;

/// A streak: consecutive observations of one point.
#[derive(Debug, Default)]
pub struct BlockStreak {
    /// Coefficients over the kernel functions of the visited points.
    pub alpha: Vec<f64>,
    /// Sum of `scale²`, and of `mean_step`, over the observations so far.
    pub squares: f64,
    pub steps: f64,
}

/// Moments of the points of one block, as of the last time that the block was updated.
#[derive(Debug, Default)]
pub struct Block {
    /// Kernel functions of the first visited points at the block's points, column by column.
    pub columns: Vec<f64>,
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
    /// Values of the row at the block's points, for the streak that was applied last.
    pub p: Vec<f64>,
    /// Index of that streak, and its sums as far as they have been applied.
    pub streak: usize,
    pub squares: f64,
    pub steps: f64,
}

impl Block {
    /// Resets the block to the prior and keeps its allocated memory.
    pub fn start(&mut self, prior: &[f64]) {
        self.columns.clear();
        self.mean.clear();
        self.mean.resize(prior.len(), 0.0);
        self.variance.clear();
        self.variance.extend_from_slice(prior);
        self.p.clear();
        self.p.resize(prior.len(), 0.0);
        (self.streak, self.squares, self.steps) = (0, 0.0, 0.0);
    }
}

/// Applies the missed streaks to a block; returns its largest score and posterior variance.
pub struct BlockTake<'a> {
    pub shared: &'a Blocks,
    pub visited: &'a [u32],
    pub streaks: &'a [BlockStreak],
    pub first_streak: usize,
    pub index: usize,
    pub block: &'a mut Block,
    pub beta: f64,
}

impl Fusible for BlockTake<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> (f64, f64) {
        let Self { shared, visited, streaks, first_streak, index, block, beta } = self;
        let Block { columns, mean, variance, p, streak, squares, steps } = block;
        let size = mean.len();
        let known = columns.len() / size;
        if columns.capacity() < visited.len() * size {
            // Grow by a quarter at a time: the limit on a trial's memory counts the columns that it has.
            columns.reserve_exact((visited.len() + FIRST_COLUMNS.max(known / 4) - known) * size);
        }
        if known < visited.len() {
            columns.resize(visited.len() * size, 0.0);
            for (&point, column) in visited[known..].iter().zip(columns[known * size..].chunks_exact_mut(size)) {
                shared.column::<FUSED>(point as usize, index, column);
            }
        }
        // The rest of the streak that was partly applied, then whole streaks, then the last one, whose `p` is kept.
        let Some((last, before)) = streaks[*streak - first_streak..].split_last() else { return score(mean, variance, beta) };
        if let Some((started, whole)) = before.split_first() {
            apply(mean, variance, p, started.squares - *squares, started.steps - *steps);
            let mut groups = whole.chunks_exact(TOGETHER);
            for group in &mut groups {
                let streaks = Together {
                    weights: std::array::from_fn(|i| group[i].alpha.as_slice()),
                    squares: std::array::from_fn(|i| group[i].squares),
                    steps: std::array::from_fn(|i| group[i].steps),
                };
                apply_together::<FUSED>(&streaks, columns, mean, variance);
            }
            for missed in groups.remainder() {
                weighted_sum::<FUSED>(&missed.alpha, &columns[..missed.alpha.len() * size], p);
                apply(mean, variance, p, missed.squares, missed.steps);
            }
            weighted_sum::<FUSED>(&last.alpha, &columns[..last.alpha.len() * size], p);
            (*streak, *squares, *steps) = (first_streak + streaks.len() - 1, 0.0, 0.0);
        }
        if *squares != last.squares {
            apply(mean, variance, p, last.squares - *squares, last.steps - *steps);
            (*squares, *steps) = (last.squares, last.steps);
        }
        score(mean, variance, beta)
    }
}
