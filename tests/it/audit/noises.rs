//! Broken noise for running sums.

use privateer_privacy::accounting::sensitivity::Participation;
use privateer_privacy::streams::tree::Tree;
use privateer_privacy::streams::{Factorisation, PrefixNoise, Shape};

/// How the nodes of a tree are noised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// Nodes above the leaves carry no noise of their own, nor that of their leaves.
    RawNodes,
    /// One draw serves all nodes of a level.
    SharedLevels,
    /// One draw serves all nodes.
    OneDraw,
}

/// A tree that claims the sensitivity of a sound one.
#[derive(Debug, Clone, Copy)]
pub struct BrokenTree {
    pub rounds: u64,
    pub fault: Fault,
}

impl Factorisation for BrokenTree {
    fn name(&self) -> &'static str {
        "broken-tree"
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        Tree::new(self.rounds).sensitivity(participation)
    }

    fn variance(&self, round: u64) -> f64 {
        Tree::new(self.rounds).variance(round)
    }

    fn noise(&self, shape: Shape) -> Box<dyn PrefixNoise> {
        Box::new(BrokenNoise { fault: self.fault, round: 0, levels: vec![Vec::new(); 64], prefix: vec![0.0; shape.len()] })
    }
}

#[derive(Debug)]
struct BrokenNoise {
    fault: Fault,
    round: u64,
    /// The draw of each level, if there was one.
    levels: Vec<Vec<f64>>,
    prefix: Vec<f64>,
}

impl PrefixNoise for BrokenNoise {
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64] {
        self.round += 1;
        // The node that is new in this round.
        let level = self.round.trailing_zeros() as usize;
        let fault = self.fault;
        let slot = |level: usize| if fault == Fault::OneDraw { 0 } else { level };
        if self.levels[slot(level)].is_empty() || fault == Fault::RawNodes {
            let mut fresh = vec![0.0; self.prefix.len()];
            draw(&mut fresh);
            if fault == Fault::RawNodes && level != 0 {
                fresh.fill(0.0);
            }
            self.levels[slot(level)] = fresh;
        }
        self.prefix.fill(0.0);
        for bit in (0..64).filter(|bit| self.round >> bit & 1 == 1) {
            self.prefix.iter_mut().zip(&self.levels[slot(bit)]).for_each(|(sum, noise)| *sum += noise);
        }
        &self.prefix
    }

    fn state(&self) -> usize {
        self.levels.len() * self.prefix.len()
    }
}
