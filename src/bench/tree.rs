//! The binary tree mechanism's noise for a running sum of symmetric matrices.

use crate::rng::Stream;

/// The noise of one trial after each of up to `updates` updates, in prefix form: with `p` = `k` less its lowest set bit,
/// `E_k = E_p` + one fresh node, and `E_p` still lies in the slot of `p`'s lowest set bit. So an update is one draw, one read
/// and one write, and at most `levels` nodes are summed in any `E_k`.
///
/// Matrices are packed upper triangles, row by row.
#[derive(Debug, Clone)]
pub struct TreeNoise {
    n: usize,
    node_std: f64,
    update: u64,
    /// One packed matrix a level.
    slots: Vec<Vec<f64>>,
    /// Scratch: the draws of a node.
    draws: Vec<f64>,
}

/// `slot = parent + std draws`.
struct Node<'a> {
    slot: &'a mut [f64],
    parent: Option<&'a [f64]>,
    draws: &'a [f64],
    std: f64,
}

impl pulp::NullaryFnOnce for Node<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { slot, parent, draws, std } = self;
        match parent {
            Some(parent) => {
                for ((entry, parent), draw) in slot.iter_mut().zip(parent).zip(draws) {
                    *entry = parent + std * draw;
                }
            }
            None => {
                for (entry, draw) in slot.iter_mut().zip(draws) {
                    *entry = std * draw;
                }
            }
        }
    }
}

/// Levels of the tree over the rounds and the observation before the first: `1 + floor(log2(rounds + 1))`.
#[must_use]
pub fn levels(rounds: usize) -> usize {
    (rounds + 1).ilog2() as usize + 1
}

/// A multiple of the identity that keeps `E_k` above `-shift I`: twice a high quantile of the norm of a sum of `levels`
/// Gaussian matrices.
#[must_use]
pub fn shift(rounds: usize, n: usize, node_std: f64) -> f64 {
    2.0 * node_std * (levels(rounds) as f64).sqrt() * (2.0 * (n as f64).sqrt() + 6.0)
}

impl TreeNoise {
    /// Noise for `n x n` matrices: each node has off-diagonal variance `node_std²` and diagonal variance twice that.
    #[must_use]
    pub fn new(n: usize, rounds: usize, node_std: f64) -> Self {
        Self {
            n,
            node_std,
            update: 0,
            slots: vec![vec![0.0; n * (n + 1) / 2]; levels(rounds)],
            draws: vec![0.0; n * (n + 1) / 2],
        }
    }

    /// Draws the node of the next update, one word an entry, and returns the noise `E_k`.
    pub fn next(&mut self, stream: &mut Stream) -> &[f64] {
        self.update += 1;
        let written = self.update.trailing_zeros() as usize;
        let parent = self.update & (self.update - 1);
        if self.slots.len() <= written {
            self.slots.resize(written + 1, vec![0.0; self.n * (self.n + 1) / 2]);
        }
        let (lower, upper) = self.slots.split_at_mut(written + 1);
        let slot = &mut lower[written];
        stream.normals(&mut self.draws);
        let mut at = 0;
        for row in 0..self.n {
            self.draws[at] *= std::f64::consts::SQRT_2;
            at += self.n - row;
        }
        // The parent's lowest set bit is above that of the update.
        let parent = (parent != 0).then(|| &upper[parent.trailing_zeros() as usize - written - 1][..]);
        pulp::Arch::new().dispatch(Node { slot, parent, draws: &self.draws, std: self.node_std });
        &self.slots[written]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    /// Every E_k is the sum of the nodes of k's binary expansion, each node being the draw of the update that made it.
    #[test]
    fn prefix_sums_of_nodes() {
        let (n, rounds) = (3, 20);
        let stream = || Streams::new(2, "tree").of(0, Purpose::Mechanism("tree"));
        let mut draws = stream();
        let nodes: Vec<Vec<f64>> = (0..=rounds)
            .map(|_| {
                let scale = |entry: usize| if [0, 3, 5].contains(&entry) { 0.5 * std::f64::consts::SQRT_2 } else { 0.5 };
                (0..6).map(|entry| scale(entry) * draws.normal()).collect()
            })
            .collect();
        let mut tree = TreeNoise::new(n, rounds, 0.5);
        let mut stream = stream();
        for k in 1..=rounds as u64 + 1 {
            let found = tree.next(&mut stream).to_vec();
            let (mut prefix, mut summed) = (k, 0);
            let mut expected = [0.0; 6];
            while prefix != 0 {
                expected.iter_mut().zip(&nodes[prefix as usize - 1]).for_each(|(sum, node)| *sum += node);
                prefix &= prefix - 1;
                summed += 1;
            }
            assert!(summed <= levels(rounds));
            assert!(found.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-14), "update {k}");
        }
    }

    #[test]
    fn levels_and_shift_of_the_standard_job() {
        assert_eq!([1, 2, 3, 6, 7, 100, 500].map(levels), [2, 2, 3, 3, 4, 7, 9]);
        assert!((shift(500, 64, 0.05) - 6.6).abs() < 1e-12);
    }
}
