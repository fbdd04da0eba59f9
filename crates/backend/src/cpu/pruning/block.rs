//! Stores the moments of one block of a trial and applies the streaks that it has missed.

use super::blocks::Blocks;
use super::kernels::{PART, TOGETHER, apply, is_fused, score, sums_of_part};
use super::order::MOST_SIZE;
use privateer_numerics::vectorised;

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
    /// Kernel functions of the first visited points at the block's points: for each part of the points, column by column.
    pub columns: Vec<Vec<[f64; PART]>>,
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
        self.columns.resize_with(prior.len() / PART, Vec::new);
        self.columns.iter_mut().for_each(Vec::clear);
        self.mean.clear();
        self.mean.resize(prior.len(), 0.0);
        self.variance.clear();
        self.variance.extend_from_slice(prior);
        self.p.clear();
        self.p.resize(prior.len(), 0.0);
        (self.streak, self.squares, self.steps) = (0, 0.0, 0.0);
    }

    pub fn n_columns(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    pub fn column_bytes(&self) -> usize {
        self.columns.iter().map(|part| size_of::<[f64; PART]>() * part.capacity()).sum()
    }

    /// Computes the columns of visited points that are not there yet.
    #[inline(always)]
    fn fill<const FUSED: bool>(&mut self, shared: &Blocks, visited: &[u32], index: usize) {
        let known = self.n_columns();
        if known == visited.len() {
            return;
        }
        for part in &mut self.columns {
            if part.capacity() < visited.len() {
                // Grow by a quarter at a time: the limit on a trial's memory counts the columns that it has.
                part.reserve_exact(visited.len() - known + FIRST_COLUMNS.max(known / 4));
            }
        }
        let mut column = [0.0; MOST_SIZE];
        for &point in &visited[known..] {
            let column = &mut column[..self.mean.len()];
            shared.column::<FUSED>(point as usize, index, column);
            self.columns.iter_mut().zip(column.as_chunks().0).for_each(|(part, column)| part.push(*column));
        }
    }
}

vectorised! {
    /// Applies the missed ones of these streaks to block number `index`; returns its largest score and posterior variance.
    pub fn take(
        block: &mut Block,
        index: usize,
        shared: &Blocks,
        visited: &[u32],
        streaks: &[BlockStreak],
        first_streak: usize,
        beta: f64,
    ) -> (f64, f64) where _simd: S {
        if is_fused::<S>() {
            block.fill::<true>(shared, visited, index);
        } else {
            block.fill::<false>(shared, visited, index);
        }
        let Block { columns, mean, variance, p, streak, squares, steps } = block;
        let Some((last, before)) = streaks[*streak - first_streak..].split_last() else { return score(mean, variance, beta) };
        // The rest of the streak that was partly applied, then whole streaks, then the last one, whose `p` is kept.
        if let Some((started, whole)) = before.split_first() {
            apply(mean, variance, p, started.squares - *squares, started.steps - *steps);
            let mut sums = [[0.0; PART]; TOGETHER];
            for (part, columns) in columns.iter().enumerate() {
                let [mean, variance, p] = [&mut *mean, &mut *variance, &mut *p].map(|values| &mut values[part * PART..][..PART]);
                for group in streaks[*streak - first_streak + 1..].chunks(TOGETHER) {
                    let mut alphas = [&[][..]; TOGETHER];
                    alphas.iter_mut().zip(group).for_each(|(alpha, streak)| *alpha = &streak.alpha);
                    sums_of_part(&alphas[..group.len()], columns, &mut sums);
                    for (missed, sums) in group.iter().zip(&sums) {
                        p.copy_from_slice(sums);
                        if !std::ptr::eq(missed, last) {
                            apply(mean, variance, p, missed.squares, missed.steps);
                        }
                    }
                }
            }
            (*streak, *squares, *steps) = (*streak + whole.len() + 1, 0.0, 0.0);
        }
        if *squares != last.squares {
            apply(mean, variance, p, last.squares - *squares, last.steps - *steps);
            (*squares, *steps) = (last.squares, last.steps);
        }
        score(mean, variance, beta)
    }
}
