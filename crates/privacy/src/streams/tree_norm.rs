//! Computes how much one user who returns changes the nodes of a tree: the largest norm of a sum of columns.

use std::collections::{BTreeMap, VecDeque};

/// Most partial choices of rounds that are compared before an upper bound is taken.
const MOST_COMPARED: usize = 1 << 21;

/// Describes the nodes of a tree, and one user's rounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReturningUser {
    pub(super) rounds: u64,
    /// Number of levels of the tree, at least 1.
    pub(super) levels: u32,
    /// Whether prefixes use all complete nodes, or left children alone.
    pub(super) every: bool,
    /// Largest number of the user's rounds, at least 1.
    pub(super) count: u64,
    /// Least distance of two of them, at least 1.
    pub(super) separation: u64,
}

/// The number of rounds chosen so far, then of those in the present node of each level whose nodes may hold several.
type PartialChoice = Vec<u64>;

impl ReturningUser {
    /// Returns the largest sum over nodes of the squared number of the user's rounds in each; an upper bound where finding it takes
    /// too long.
    pub(super) fn squares(&self) -> f64 {
        self.largest().map_or_else(|| (0..self.levels).map(|level| self.bound(level)).sum(), |squares| squares as f64)
    }

    /// Bounds the sum over the nodes of a level.
    ///
    /// A node of level l sums `2^l` rounds, so that it holds at most m = min(count, ceil(2^l/separation)) of one user, and the nodes
    /// of a level share no round. All of them hold `count` rounds at most; the sum of their squares is largest if all but one hold m.
    fn bound(&self, level: u32) -> f64 {
        let complete = self.rounds >> level;
        let nodes = if self.every { complete } else { complete.div_ceil(2) };
        let most = self.count.min((1_u64 << level).div_ceil(self.separation));
        let full = self.count / most;
        let square = |held: u64| held as f64 * held as f64;
        if full < nodes { full as f64 * square(most) + square(self.count % most) } else { nodes as f64 * square(most) }
    }

    /// Returns whether a prefix uses the node of a level that holds a round, from 0 on.
    fn uses(&self, level: u32, round: u64) -> bool {
        let node = round >> level;
        (self.every || node.is_multiple_of(2)) && (node + 1) << level <= self.rounds
    }

    /// Returns the largest sum, round by round; `None` if more than `MOST_COMPARED` choices are compared.
    ///
    /// Rounds that are multiples of the largest power of two in the separation suffice: moving every round down to the next multiple
    /// keeps distances, and takes none out of a node that is used.
    fn largest(&self) -> Option<u64> {
        let step = 1_u64 << self.separation.trailing_zeros();
        // Nodes up to the separation hold one of the user's rounds at most.
        let single = (self.separation.ilog2() + 1).min(self.levels);
        // The largest sum so far of what may be continued, and what was chosen less than the separation ago.
        let mut ready = BTreeMap::from([(vec![0; 1 + (self.levels - single) as usize], 0_u64)]);
        let (mut waiting, mut compared, mut largest) = (VecDeque::new(), 0, 0);
        for round in (0..self.rounds).step_by(step as usize) {
            // Nodes that begin after `from` hold none.
            let entered = |(mut chosen, squares): (PartialChoice, u64), from: u64| {
                let levels = (single..self.levels).zip(&mut chosen[1..]);
                levels.filter(|(level, _)| from >> level != round >> level).for_each(|(_, held)| *held = 0);
                (chosen, squares)
            };
            let old = if waiting.len() as u64 == self.separation / step { waiting.pop_front() } else { None };
            if old.is_some() || round.is_multiple_of(1 << single) {
                let kept = std::mem::take(&mut ready).into_iter().map(|state| entered(state, round.saturating_sub(step)));
                let old = old.into_iter().flatten().map(|state| entered(state, round - self.separation));
                for (chosen, squares) in kept.chain(old) {
                    let best = ready.entry(chosen).or_insert(0);
                    *best = squares.max(*best);
                }
            }
            let plain = (0..single).filter(|level| self.uses(*level, round)).count() as u64;
            let taken = ready.iter().filter(|(chosen, _)| chosen[0] < self.count).map(|(chosen, squares)| {
                let (mut chosen, mut squares) = (chosen.clone(), squares + plain);
                chosen[0] += 1;
                for (_, held) in (single..self.levels).zip(&mut chosen[1..]).filter(|(level, _)| self.uses(*level, round)) {
                    squares += 2 * *held + 1;
                    *held += 1;
                }
                (chosen, squares)
            });
            let taken: Vec<(PartialChoice, u64)> = taken.collect();
            largest = taken.iter().map(|(_, squares)| *squares).fold(largest, u64::max);
            compared += ready.len();
            if MOST_COMPARED < compared {
                return None;
            }
            waiting.push_back(taken);
        }
        Some(largest)
    }
}
