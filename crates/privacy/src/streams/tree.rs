//! Factorises prefix sums by the binary tree [Chan2011, Dwork2010] in Fenwick form.
//!
//! Every node holds the sum of its leaves and its own fresh noise; noise in leaves only would grow with the square root of the
//! round (erratum E6, `docs/privacy.md`). Only the nodes that prefixes use are drawn: one per round.

use super::transform::TreeRows;
use super::tree_norm::ReturningUser;
use super::vectors::add_to;
use super::{Factorisation, PrefixNoise, RowTransform, Shape};
use crate::accounting::sensitivity::Participation;
use crate::memo::Memo;
use crate::planted::{self, PlantedFault};

/// The tree over a number of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    rounds: u64,
}

impl Tree {
    /// Makes the tree for `rounds >= 1` (0 counts as 1).
    pub fn new(rounds: u64) -> Self {
        Self { rounds: rounds.max(1) }
    }

    /// Returns the number of used nodes that hold one leaf: `floor(log2 rounds) + 1` (E10).
    pub fn nodes(&self) -> u32 {
        self.rounds.ilog2() + 1
    }

    /// Returns the largest norm of a sum of columns over one user's rounds, or an upper bound.
    ///
    /// * `every` — whether prefixes use all complete nodes, or left children alone
    pub(super) fn norm(self, participation: Participation, every: bool) -> f64 {
        /// Squares by rounds, count, separation and whether all nodes are used: all cells of a sweep ask for a few of them.
        static SQUARES: Memo<(u64, u64, u64, bool), f64> = Memo::new(64);
        let separation = participation.separation.max(1);
        let count = participation.covered().clamp(1, self.rounds.div_ceil(separation));
        let levels = (self.nodes() - u32::from(planted::is(PlantedFault::TreeNodes))).max(1);
        if count == 1 {
            return libm::sqrt(f64::from(levels));
        }
        let user = ReturningUser { rounds: self.rounds, levels, every, count, separation };
        libm::sqrt(SQUARES.get((self.rounds, count, separation, every), || user.squares()))
    }
}

/// Returns the largest variance on the prefixes `1 ..= rounds`, each the sum over its nodes.
///
/// A prefix is made of the nodes of its binary digits. Of all that agree with `rounds` down to a digit and are smaller there, the
/// one whose later digits are all 1 has every node of the others.
pub(super) fn largest_over_nodes(rounds: u64, variance: impl Fn(u64) -> f64) -> f64 {
    let smaller = (0..64).filter(|digit| rounds >> digit & 1 == 1).map(|digit| rounds - 1 - rounds % (1 << digit));
    smaller.chain([rounds]).filter(|&round| 0 < round).map(variance).fold(0.0, f64::max)
}

impl Factorisation for Tree {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        // Every other node of a level is a right child, which no prefix uses.
        self.norm(participation, false)
    }

    fn variance(&self, round: u64) -> f64 {
        f64::from(round.count_ones())
    }

    fn largest_variance(&self) -> f64 {
        largest_over_nodes(self.rounds, |round| self.variance(round))
    }

    fn noise(&self, shape: Shape) -> Box<dyn PrefixNoise> {
        Box::new(TreeNoise { round: 0, length: shape.len(), slots: vec![vec![0.0; shape.len()]; self.nodes() as usize] })
    }

    fn transform(&self, length: usize) -> Option<Box<dyn RowTransform>> {
        Some(Box::new(TreeRows::new(self.nodes(), length, false)))
    }
}

/// Noise of a tree: prefix k is prefix `k - lowbit(k)` plus one fresh node.
/// The former prefix is still in the slot of its own lowest one bit.
#[derive(Debug)]
struct TreeNoise {
    round: u64,
    /// Number of entries of a node.
    length: usize,
    slots: Vec<Vec<f64>>,
}

impl PrefixNoise for TreeNoise {
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64] {
        self.round += 1;
        let level = self.round.trailing_zeros() as usize;
        let parent = self.round & (self.round - 1);
        if self.slots.len() <= level {
            self.slots.resize(level + 1, vec![0.0; self.length]);
        }
        let (lower, upper) = self.slots.split_at_mut(level + 1);
        let slot = &mut lower[level];
        if level != 0 || self.round == 1 || !planted::is(PlantedFault::TreeReuse) {
            draw(slot);
        } else {
            slot.fill(0.0);
        }
        if parent != 0 {
            add_to(slot, &upper[parent.trailing_zeros() as usize - level - 1]);
        }
        &self.slots[level]
    }

    fn state(&self) -> usize {
        self.slots.len() * self.length
    }
}

#[cfg(test)]
mod tests {
    use super::super::honaker::Honaker;
    use super::*;

    /// The norm is that of the worst set of rounds of a short stream, among all sets.
    #[test]
    fn the_norm_is_that_of_the_worst_rounds() {
        for rounds in 1..=16_u64 {
            for every in [false, true] {
                // The largest sum of squares by number of rounds and least distance.
                let mut best = vec![vec![0_u32; 18]; 17];
                for held in 1_u32..1 << rounds {
                    let of_level = |level: u32| {
                        let nodes = (0..rounds >> level).filter(move |node| every || node.is_multiple_of(2));
                        nodes
                            .map(move |node| (held >> (node << level) & ((1_u64 << (1 << level)) - 1) as u32).count_ones().pow(2))
                    };
                    let squares: u32 = (0..=rounds.ilog2()).flat_map(of_level).sum();
                    let distance = (1..rounds).find(|by| held & (held >> by) != 0).unwrap_or(17);
                    let found = &mut best[held.count_ones() as usize][distance as usize];
                    *found = squares.max(*found);
                }
                let tree: Box<dyn Factorisation> =
                    if every { Box::new(Honaker::new(rounds)) } else { Box::new(Tree::new(rounds)) };
                for (count, separation) in (1..=rounds).flat_map(|count| (1..=rounds).map(move |by| (count, by))) {
                    let found = (1..=count as usize).flat_map(|n| best[n][separation as usize..].iter()).max();
                    let exact = f64::from(*found.expect("rounds")).sqrt();
                    assert_eq!(
                        tree.sensitivity(Participation { count, separation }),
                        exact,
                        "{rounds} {every} {count} {separation}"
                    );
                }
            }
        }
    }

    /// The same for three rounds of longer streams, whose length is no power of two; beyond the choices that are compared, the bound
    /// is above it.
    #[test]
    fn the_norm_is_that_of_the_worst_three_rounds() {
        for (rounds, separation) in [(37, 1), (60, 7), (100, 12), (100, 33)] {
            let nodes: Vec<(u64, u64)> = (1..=rounds).map(|end: u64| (end & (end - 1), end)).collect();
            let held = |set: &[u64]| -> u64 {
                let of = |(start, end): &(u64, u64)| set.iter().filter(|round| (*start..*end).contains(round)).count() as u64;
                nodes.iter().map(|node| of(node) * of(node)).sum()
            };
            let mut most = 0;
            for first in 0..rounds {
                for second in first + separation..rounds {
                    let third = (second + separation..rounds).map(|third| held(&[first, second, third])).max();
                    most = most.max(third.unwrap_or(0));
                }
            }
            let norm = Tree::new(rounds).sensitivity(Participation { count: 3, separation });
            assert_eq!(norm, (most as f64).sqrt(), "{rounds} {separation}");
        }
        let often = Tree::new(1 << 12).sensitivity(Participation { count: 1 << 12, separation: 1 });
        let all: u64 = (0..=12).map(|level| (1_u64 << (12 - level)).div_ceil(2) << (2 * level)).sum();
        assert!((all as f64).sqrt() <= often && often <= 2.0 * (all as f64).sqrt(), "{often}");
    }
}
