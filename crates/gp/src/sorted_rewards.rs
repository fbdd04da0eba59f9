//! The rewards seen at one point, sorted so that truncated sums cost one search.
//!
//! Reward `y` was observed in a round of truncation level `b`. A coefficient `u` retains it if `|u y| <= b`, that is, if
//! its key `|y| / b` is at most `1 / |u|`. Rewards are stored in ascending order of keys, in blocks with running sums.

/// Largest number of rewards in a block; a longer block is halved.
const BLOCK: usize = 128;

/// Rewards of one point in ascending order of their keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SortedRewards {
    blocks: Vec<RewardBlock>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct RewardBlock {
    keys: Vec<f64>,
    rewards: Vec<f64>,
    /// Sums of the first 1, 2, … rewards.
    sums: Vec<f64>,
    /// Sum of all blocks before this one.
    before: f64,
}

impl RewardBlock {
    fn sum_from(&mut self, first: usize) {
        self.sums.truncate(first);
        let mut sum = if first == 0 { 0.0 } else { self.sums[first - 1] };
        for &reward in &self.rewards[first..] {
            sum += reward;
            self.sums.push(sum);
        }
    }

    fn largest(&self) -> f64 {
        self.keys.last().copied().unwrap_or(0.0)
    }

    fn total(&self) -> f64 {
        self.before + self.sums.last().copied().unwrap_or(0.0)
    }
}

impl SortedRewards {
    /// Adds a reward observed at `level` > 0; an infinite level means it is never truncated.
    pub fn insert(&mut self, reward: f64, level: f64) {
        let key = (reward.abs() / level).min(f64::MAX);
        let at = self.blocks.partition_point(|block| block.largest() <= key).min(self.blocks.len().saturating_sub(1));
        if self.blocks.is_empty() {
            self.blocks.push(RewardBlock::default());
        }
        let block = &mut self.blocks[at];
        let place = block.keys.partition_point(|&other| other <= key);
        block.keys.insert(place, key);
        block.rewards.insert(place, reward);
        block.sum_from(place);
        if BLOCK < block.keys.len() {
            let half = block.keys.len() / 2;
            let mut upper = RewardBlock {
                keys: block.keys.split_off(half),
                rewards: block.rewards.split_off(half),
                ..RewardBlock::default()
            };
            upper.sum_from(0);
            block.sums.truncate(half);
            self.blocks.insert(at + 1, upper);
        }
        self.sum_blocks_from(at);
    }

    fn sum_blocks_from(&mut self, first: usize) {
        let mut before = if first == 0 { 0.0 } else { self.blocks[first - 1].total() };
        for block in &mut self.blocks[first..] {
            block.before = before;
            before = block.total();
        }
    }

    /// Returns the largest key: a coefficient `u` with `|u| key <= 1` retains all rewards.
    pub fn largest_key(&self) -> f64 {
        self.blocks.last().map_or(0.0, RewardBlock::largest)
    }

    /// Returns the sum of all rewards.
    pub fn total(&self) -> f64 {
        self.blocks.last().map_or(0.0, RewardBlock::total)
    }

    /// Returns the sum of the rewards that the coefficient retains: those with `|u| key <= 1`.
    pub fn kept(&self, u: f64) -> f64 {
        let size = u.abs();
        let whole = self.blocks.partition_point(|block| size * block.largest() <= 1.0);
        let Some(block) = self.blocks.get(whole) else { return self.total() };
        match block.keys.partition_point(|&key| size * key <= 1.0) {
            0 => block.before,
            count => block.before + block.sums[count - 1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_numerics::rng::{Purpose, Streams};
    use proptest::prelude::*;

    proptest! {
        /// Compares with the sum over all rewards in order, with levels that vary by round.
        #[test]
        fn grouped_truncation_is_the_literal_sum(seed in 0u64..1000, n in 0usize..700, flat in any::<bool>()) {
            let mut stream = Streams::new(seed, "rewards").of(0, Purpose::Noise);
            let mut sorted = SortedRewards::default();
            let mut all = Vec::new();
            for _ in 0..n {
                // Rounding produces many equal magnitudes.
                let reward = if stream.uniform() < 0.3 { libm::round(stream.student_t(2.0)) } else { stream.student_t(2.0) };
                let level = if flat { 1.5 } else { 1.0 + stream.uniform() };
                sorted.insert(reward, level);
                all.push((reward, level));
            }
            let magnitude: f64 = 1.0 + all.iter().map(|(reward, _)| reward.abs()).sum::<f64>();
            for u in [0.0, 0.013, -0.2, 0.7001, -1.01, 3.3, 1e9] {
                let literal: f64 = all.iter().filter(|(y, b)| (u * y).abs() <= *b).map(|(y, _)| y).sum();
                prop_assert!((sorted.kept(u) - literal).abs() <= 1e-13 * magnitude, "{} {} {}", u, sorted.kept(u), literal);
            }
            prop_assert!((sorted.total() - all.iter().map(|(y, _)| y).sum::<f64>()).abs() <= 1e-13 * magnitude);
        }
    }

    #[test]
    fn infinite_levels_truncate_nothing() {
        let mut sorted = SortedRewards::default();
        [5.0, -1e12, 3.0].into_iter().for_each(|reward| sorted.insert(reward, f64::INFINITY));
        assert_eq!((sorted.largest_key(), sorted.kept(1e9)), (0.0, 8.0 - 1e12));
    }
}
