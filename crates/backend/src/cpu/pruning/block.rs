//! Stores the moments of one block of a trial and applies the streaks that it has missed.

use super::blocks::Blocks;
use super::columns::{Columns, PointErrors};
use super::kernels::{BlockScore, Fusible, PART, TOGETHER, apply, score};
use super::order::MOST_SIZE;

/// Initial capacity of a block, in columns.
const FIRST_COLUMNS: usize = 16;

/// A streak: consecutive observations of one point.
#[derive(Debug, Default)]
pub struct BlockStreak {
    /// Coefficients over the kernel functions of the visited points, and the sum of their magnitudes.
    pub alpha: Vec<f64>,
    pub size: f64,
    /// Sum of `scale²`, and of `mean_step`, over the observations so far.
    pub squares: f64,
    pub steps: f64,
}

/// Moments of the points of one block, as of the last time that the block was updated.
#[derive(Debug, Default)]
pub struct Block {
    pub columns: Columns,
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
    /// Values of the row at the block's points, for the streak that was applied last.
    pub p: Vec<f64>,
    /// Errors from columns in f32; empty with columns in f64.
    pub errors: PointErrors,
    /// Index of that streak, and its sums as far as they have been applied.
    pub streak: usize,
    pub squares: f64,
    pub steps: f64,
}

impl Block {
    /// Resets the block to the prior and keeps its allocated memory.
    pub fn start(&mut self, prior: &[f64], is_single: bool) {
        self.columns.start(is_single, prior.len() / PART);
        self.mean.clear();
        self.mean.resize(prior.len(), 0.0);
        self.variance.clear();
        self.variance.extend_from_slice(prior);
        self.p.clear();
        self.p.resize(prior.len(), 0.0);
        self.errors.start(if is_single { prior.len() } else { 0 });
        (self.streak, self.squares, self.steps) = (0, 0.0, 0.0);
    }

    /// Returns the errors of a point's mean and posterior variance from columns in f32.
    pub fn errors_of(&self, at: usize) -> [f64; 2] {
        if self.columns.is_single() { [self.errors.mean[at], self.errors.variance[at]] } else { [0.0; 2] }
    }

    /// Computes the columns of visited points that are not there yet.
    #[inline(always)]
    fn fill<const FUSED: bool>(&mut self, shared: &Blocks, visited: &[u32], index: usize) {
        let known = self.columns.n();
        if known == visited.len() {
            return;
        }
        // Grow by a quarter at a time: the limit on a trial's memory counts the columns that it has.
        self.columns.reserve(visited.len() - known, FIRST_COLUMNS.max(known / 4));
        let mut column = [0.0; MOST_SIZE];
        for &point in &visited[known..] {
            let column = &mut column[..self.mean.len()];
            shared.column::<FUSED>(point as usize, index, column);
            self.columns.push(column);
        }
    }

    /// Adds part of a streak, along its `p`, over a part of the points.
    #[inline(always)]
    fn add(&mut self, part: usize, squares: f64, steps: f64) {
        let [mean, variance] = [&mut self.mean, &mut self.variance].map(|values| &mut values.as_chunks_mut::<PART>().0[part]);
        let p = &self.p.as_chunks::<PART>().0[part];
        apply(mean, variance, p, squares, steps);
        if self.columns.is_single() {
            self.errors.apply(part, p, squares, steps);
        }
    }
}

/// Applies the missed streaks to a block; returns what its scores say.
pub struct BlockTake<'a> {
    pub shared: &'a Blocks,
    pub visited: &'a [u32],
    pub streaks: &'a [BlockStreak],
    pub first_streak: usize,
    pub index: usize,
    pub block: &'a mut Block,
    pub beta: f64,
    /// Bound on the rounding of a column's entry, relative to the entry.
    pub unit: f64,
    /// Memory that is used again.
    pub magnitudes: &'a mut Vec<f64>,
}

impl Fusible for BlockTake<'_> {
    type Output = BlockScore;

    #[inline(always)]
    fn call<const FUSED: bool>(self) -> BlockScore {
        let Self { shared, visited, streaks, first_streak, index, block, beta, unit, magnitudes } = self;
        block.fill::<FUSED>(shared, visited, index);
        let (n_parts, is_single) = (block.mean.len() / PART, block.columns.is_single());
        // The rest of the streak that was partly applied, then whole streaks, then the last one, whose `p` is kept.
        if let Some((last, [started, whole @ ..])) = streaks[block.streak - first_streak..].split_last() {
            (0..n_parts).for_each(|part| block.add(part, started.squares - block.squares, started.steps - block.steps));
            let mut sums = [[0.0; PART]; TOGETHER];
            let missed = &streaks[block.streak - first_streak + 1..];
            // One row of a group holds the magnitudes, for columns in f32.
            let (of_group, extra) = (TOGETHER - usize::from(is_single), usize::from(is_single));
            magnitudes.clear();
            for group in missed.chunks(of_group).filter(|_| is_single) {
                let from = magnitudes.len();
                magnitudes.resize(from + visited.len(), 0.0);
                for streak in group {
                    magnitudes[from..].iter_mut().zip(&streak.alpha).for_each(|(sum, alpha)| *sum += alpha.abs());
                }
            }
            for part in 0..n_parts {
                for (at, group) in missed.chunks(of_group).enumerate() {
                    let mut rows = [&[][..]; TOGETHER];
                    rows.iter_mut().zip(group).for_each(|(row, streak)| *row = &streak.alpha);
                    if is_single {
                        rows[group.len()] = &magnitudes[at * visited.len()..][..rows[group.len() - 1].len()];
                    }
                    block.columns.sums(part, &rows[..group.len() + extra], &mut sums);
                    if is_single {
                        let size = group.iter().map(|streak| streak.size).sum();
                        block.errors.bound(part, &sums[group.len()], size, unit);
                    }
                    for (missed, sums) in group.iter().zip(&sums) {
                        block.p.as_chunks_mut().0[part] = *sums;
                        if !std::ptr::eq(missed, last) {
                            block.add(part, missed.squares, missed.steps);
                        }
                    }
                }
            }
            (block.streak, block.squares, block.steps) = (block.streak + whole.len() + 1, 0.0, 0.0);
        }
        if let Some(last) = streaks.last()
            && block.squares != last.squares
        {
            (0..n_parts).for_each(|part| block.add(part, last.squares - block.squares, last.steps - block.steps));
            (block.squares, block.steps) = (last.squares, last.steps);
        }
        let errors = is_single.then_some([block.errors.mean.as_slice(), &block.errors.variance]);
        score(&block.mean, &block.variance, errors, beta)
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::UNIT;
    use super::super::kernels::wide_fused;
    use super::*;
    use privateer_gp::kernel::{Kernel, Lengthscales, matern::Matern, squared_exponential::SquaredExponential};
    use privateer_gp::posterior::{ExactPosterior, Posterior};
    use privateer_gp::score::{Change, GramSource, ScoreModel};
    use privateer_gp::{KernelGram, Points};
    use privateer_numerics::rng::{Purpose, Streams};
    use std::sync::Arc;

    /// Columns are in f32 where blocks are wide and the ridge is large: a trial over such points then takes the path that is tested here.
    #[test]
    fn wide_blocks_hold_single_columns_above_a_ridge() {
        let kernel: Arc<dyn Kernel> = Arc::new(SquaredExponential::new(Lengthscales::Isotropic(1.0), 1.0));
        let blocks = |d: usize| {
            let mut draws = Streams::new(4, "wide blocks").of(d as u64, Purpose::Function);
            let points = Points::new(d, (0..4096 * d).map(|_| draws.normal()).collect());
            let gram: Arc<dyn GramSource> = Arc::new(KernelGram::new(Arc::clone(&kernel), points));
            Blocks::of_gram(&gram, true)
        };
        let (wide, narrow) = (blocks(6), blocks(2));
        assert_eq!([1.0, 0.26, 0.24].map(|ridge| wide.holds_single(ridge)), [true, true, false]);
        assert!(!narrow.holds_single(1.0));
    }

    /// Largest ratios of the differences between columns in f32 and in f64 to their bounds: of means, variances and scores.
    ///
    /// Points come twice, and again at distances of 1e-9 to 1e-3, so that rows cancel where the ridge is small.
    fn ratios(kernel: &Arc<dyn Kernel>, ridge: f64, unit: f64) -> [f64; 3] {
        let mut draws = Streams::new(3, "single columns").of(ridge.to_bits(), Purpose::Function);
        let d = 3;
        let mut coordinates: Vec<f64> = (0..40 * d).map(|_| 2.0 * draws.normal()).collect();
        for apart in [0.0, 1e-9, 1e-6, 1e-3] {
            coordinates.extend_from_within(..20 * d);
            let from = coordinates.len() - 20 * d;
            coordinates[from..].iter_mut().for_each(|x| *x += apart);
        }
        let gram: Arc<dyn GramSource> = Arc::new(KernelGram::new(Arc::clone(kernel), Points::new(d, coordinates)));
        let shared = Blocks::of_gram(&gram, true);
        let (n, size) = (gram.n_points(), shared.order.size);
        let mut posterior = ExactPosterior::new(gram, ridge);
        let mut streaks = vec![BlockStreak::default()];
        let [mut double, mut single]: [Vec<Block>; 2] =
            [(); 2].map(|()| std::iter::repeat_with(Block::default).take(n / size).collect());
        for (blocks, is_single) in [(&mut double, false), (&mut single, true)] {
            blocks.iter_mut().zip(shared.prior.chunks_exact(size)).for_each(|(block, prior)| block.start(prior, is_single));
        }
        let mut most = [0.0f64; 3];
        let mut point = 0;
        for round in 0..150 {
            if draws.uniform() < 0.7 {
                point = draws.index(n);
            }
            posterior.observe(point, 3.0 * draws.normal());
            let Change::Row { row, scale, mean_step, repeated, .. } = posterior.change() else { panic!("a row") };
            if !repeated {
                let size = row.iter().map(|alpha| alpha.abs()).sum();
                streaks.push(BlockStreak { alpha: row.to_vec(), size, ..BlockStreak::default() });
            }
            if let Some(streak) = streaks.last_mut() {
                streak.squares += scale * scale;
                streak.steps += mean_step;
            }
            posterior.screened();
            for index in (0..n / size).filter(|index| (round + index) % (1 + 4 * index) == 0) {
                let visited = posterior.basis_points();
                let mut taken = [&mut double[index], &mut single[index]].map(|block| {
                    let (shared, streaks, beta) = (&shared, &streaks, 2.0);
                    let magnitudes = &mut Vec::new();
                    let take = BlockTake { shared, visited, streaks, first_streak: 0, index, block, beta, unit, magnitudes };
                    wide_fused(take)
                });
                let (exact, rounded) = (&double[index], &single[index]);
                for at in 0..size {
                    let [of_mean, of_variance] = rounded.errors_of(at);
                    // The roundings of f64, in both.
                    let magnitude = of_variance.max(of_mean) / unit;
                    let slack = 1e-13 * (1.0 + magnitude);
                    most[0] = most[0].max(((exact.mean[at] - rounded.mean[at]).abs() - slack) / of_mean);
                    most[1] = most[1].max(((exact.variance[at] - rounded.variance[at]).abs() - slack) / of_variance);
                }
                taken[1].upper += 1e-11;
                taken[1].lower -= 1e-11;
                let is_between = taken[1].lower <= taken[0].lower && taken[0].upper <= taken[1].upper;
                most[2] = most[2].max(f64::from(u8::from(!is_between)));
            }
        }
        most
    }

    /// Hard cases stay within the bounds, which are not far too large; a bound of a fiftieth is exceeded.
    #[test]
    fn columns_in_f32_stay_within_their_bounds() {
        let lengthscale = |l| Lengthscales::Isotropic(l);
        let smooth: Arc<dyn Kernel> = Arc::new(SquaredExponential::new(lengthscale(1.5), 1.0));
        let rough: Arc<dyn Kernel> = Arc::new(Matern::new(1.5, lengthscale(1.0), 20.0));
        for (kernel, name) in [(smooth, "smooth"), (rough, "rough")] {
            for ridge in [30.0, 1.0, 1e-2, 1e-6] {
                let [mean, variance, outside] = ratios(&kernel, ridge, UNIT);
                assert!(0.1 < mean && mean <= 1.0 && 0.05 < variance && variance <= 1.0, "{name}, {ridge}: {mean} {variance}");
                assert_eq!(outside, 0.0, "{name}, {ridge}");
                let [mean, variance, _] = ratios(&kernel, ridge, UNIT / 50.0);
                assert!(1.0 < mean && 1.0 < variance, "{name}, {ridge}: {mean} {variance} of a bound that is too small");
            }
        }
    }
}
