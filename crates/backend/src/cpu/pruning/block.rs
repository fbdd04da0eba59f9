//! One block of a trial: its moments, and how it catches up with the streaks that it has missed.

use super::blocks::Blocks;
use super::kernels::{Fusible, TOGETHER, Together, apply, apply_together, score, weighted_sum};

/// Columns that a block has room for at first.
const FIRST_COLUMNS: usize = 16;

/// A streak: all observations of one point in a row.
#[derive(Debug, Default)]
pub struct BlockStreak {
    /// Coefficients over the visited points' kernel functions.
    pub alpha: Vec<f64>,
    /// Sums of `scale²` and `mean_step` so far.
    pub squares: f64,
    pub steps: f64,
}

/// The points of a block.
#[derive(Debug, Default)]
pub struct Block {
    /// Kernel functions of the first visited points at the block's points, one after another.
    pub columns: Vec<f64>,
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
    /// Of the streak that was taken last.
    pub p: Vec<f64>,
    /// That streak, and what was taken of it.
    pub streak: usize,
    pub squares: f64,
    pub steps: f64,
}

impl Block {
    /// The prior; what memory there is is kept.
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

/// Brings a block up to date, in wide lanes; gives its largest score and its largest spread².
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
            // By a quarter at a time: what a trial may take is priced by the columns that it has.
            columns.reserve_exact((visited.len() + FIRST_COLUMNS.max(known / 4) - known) * size);
        }
        if known < visited.len() {
            columns.resize(visited.len() * size, 0.0);
            for (&point, column) in visited[known..].iter().zip(columns[known * size..].chunks_exact_mut(size)) {
                shared.column::<FUSED>(point as usize, index, column);
            }
        }
        // What was taken of a streak that has gone on; whole streaks; then the last one, whose sum is kept.
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
