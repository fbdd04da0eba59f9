//! Factorises prefix sums by the binary tree [Chan2011, Dwork2010] in Fenwick form.
//!
//! Every node holds the sum of its leaves and its own fresh noise; noise in leaves only would grow with the square root of the
//! round (erratum E6, `docs/privacy.md`). Only the nodes that prefixes use are drawn: one per round.

use super::transform::TreeRows;
use super::vectors::add_to;
use super::{Factorisation, PrefixNoise, RowTransform, Shape};
use crate::accounting::sensitivity::Participation;
use crate::planted::{self, PlantedFault};

/// The tree over a number of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tree {
    rounds: u64,
}

impl Tree {
    /// Makes the tree for `rounds >= 1` (0 counts as 1).
    #[must_use]
    pub fn new(rounds: u64) -> Self {
        Self { rounds: rounds.max(1) }
    }

    /// Returns the number of used nodes that hold one leaf: `floor(log2 rounds) + 1` (E10).
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.rounds.ilog2() + 1
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
        // Node k sums the 2^level rounds k - lowbit(k) + 1 ..= k, and the nodes of one level share no round. So at most
        // m = min(count, ceil(2^level/separation)) of one user's rounds are in one node. The nodes of a level hold `count`
        // rounds in all; the sum of squares is largest if all but the last hold m. Only round 1 is in one node of every level.
        let separation = participation.separation.max(1);
        let stated = if planted::is(PlantedFault::Participations) { 1 } else { participation.count };
        let count = stated.clamp(1, self.rounds.div_ceil(separation));
        let of_level = |level: u32| {
            let most = count.min((1_u64 << level).div_ceil(separation));
            let square = |held: u64| held as f64 * held as f64;
            (count / most) as f64 * square(most) + square(count % most)
        };
        let missed = u32::from(planted::is(PlantedFault::TreeNodes));
        libm::sqrt((0..(self.nodes() - missed).max(1)).map(of_level).sum())
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
