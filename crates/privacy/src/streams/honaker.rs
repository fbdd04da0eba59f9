//! Factorises prefix sums by the binary tree with weighted nodes (Honaker2015).
//!
//! Each node is estimated from its own noise and that of its children, with the least variance possible when the node is
//! complete. Right children are used too: two draws per round on average.

use super::transform::TreeRows;
use super::tree::{Tree, largest_over_nodes};
use super::{Factorisation, PrefixNoise, RowTransform, Shape};
use crate::accounting::sensitivity::Participation;

/// The weighted tree over a number of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Honaker {
    tree: Tree,
}

impl Honaker {
    /// Makes the tree for `rounds >= 1` (0 counts as 1).
    pub fn new(rounds: u64) -> Self {
        Self { tree: Tree::new(rounds) }
    }
}

/// Returns the variance of a node's estimate at each level: `1/v' = 1 + 1/(2 v)`.
fn variances() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1.0), |v| Some(2.0 * v / (2.0 * v + 1.0)))
}

impl Factorisation for Honaker {
    fn name(&self) -> &'static str {
        "honaker"
    }

    fn rounds(&self) -> u64 {
        self.tree.rounds()
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        self.tree.norm(participation, true)
    }

    fn variance(&self, round: u64) -> f64 {
        (0..64).zip(variances()).filter(|(level, _)| round >> level & 1 == 1).map(|(_, variance)| variance).sum()
    }

    fn largest_variance(&self) -> f64 {
        largest_over_nodes(self.rounds(), |round| self.variance(round))
    }

    fn noise(&self, shape: Shape) -> Box<dyn PrefixNoise> {
        let level = || Level { estimate: vec![0.0; shape.len()], prefix: vec![0.0; shape.len()] };
        Box::new(HonakerNoise {
            round: 0,
            node: vec![0.0; shape.len()],
            fresh: vec![0.0; shape.len()],
            levels: (0..self.tree.nodes()).map(|_| level()).collect(),
        })
    }

    fn transform(&self, length: usize) -> Option<Box<dyn RowTransform>> {
        Some(Box::new(TreeRows::new(self.tree.nodes(), length, true)))
    }
}

#[derive(Debug, Clone)]
struct Level {
    /// Noise of the estimate of the last complete node at this level that is not a right child.
    estimate: Vec<f64>,
    /// Noise of the prefix that ends with this node.
    prefix: Vec<f64>,
}

#[derive(Debug)]
struct HonakerNoise {
    round: u64,
    node: Vec<f64>,
    fresh: Vec<f64>,
    levels: Vec<Level>,
}

impl PrefixNoise for HonakerNoise {
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64] {
        self.round += 1;
        let level = self.round.trailing_zeros() as usize;
        if self.levels.len() <= level {
            let empty = Level { estimate: vec![0.0; self.node.len()], prefix: vec![0.0; self.node.len()] };
            self.levels.resize(level + 1, empty);
        }
        // The leaf, then its ancestors that are now complete: own noise has weight v_parent, children have weight 1 - v_parent.
        draw(&mut self.node);
        for (left, variance) in self.levels[..level].iter().zip(variances().skip(1)) {
            draw(&mut self.fresh);
            for ((node, left), fresh) in self.node.iter_mut().zip(&left.estimate).zip(&self.fresh) {
                *node = variance * fresh + (1.0 - variance) * (left + *node);
            }
        }
        let parent = self.round & (self.round - 1);
        let (lower, upper) = self.levels.split_at_mut(level + 1);
        let here = &mut lower[level];
        here.estimate.copy_from_slice(&self.node);
        here.prefix.copy_from_slice(&self.node);
        if parent != 0 {
            let before = &upper[parent.trailing_zeros() as usize - level - 1].prefix;
            here.prefix.iter_mut().zip(before).for_each(|(sum, before)| *sum += before);
        }
        &self.levels[level].prefix
    }

    fn state(&self) -> usize {
        2 * self.levels.len() * self.node.len()
    }
}
