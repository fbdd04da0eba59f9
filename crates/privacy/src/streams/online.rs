//! Computes sums over the draws of past blocks of rounds by online convolution.
//!
//! Let round n begin a block, and let s be the largest power of two that divides n. One convolution then adds the draws of the
//! s rounds before n to the sums of rounds n to n + s - 1. So a draw is added once to every later round outside its block: at
//! the multiple n of the largest power of two that lies after the draw and not after the round. A stream of T rounds costs
//! O(log² T) operations a round and entry.

use super::toeplitz::coefficients;
use privateer_numerics::linalg::{CyclicConvolution, Sixteen};
use std::collections::VecDeque;
use std::sync::OnceLock;

/// Number of rounds of a block: a power of two.
pub(super) const BLOCK: usize = 256;
/// Number of entries that are convolved together.
const TOGETHER: usize = 16;

/// Holds sums of the coming rounds of a stream over the draws before their blocks.
#[derive(Debug)]
pub(super) struct OnlineSums {
    /// Number of rounds of a block.
    block: usize,
    /// Number of entries of a draw.
    length: usize,
    /// Sums are stored for rounds before this one.
    end: usize,
    /// The stored sums, from the next round on. The rounds of the first block have none.
    coming: VecDeque<Vec<f64>>,
}

impl OnlineSums {
    /// Begins a stream of draws with `length` entries.
    /// Blocks have `block` rounds, a power of two. Sums are stored for `rounds` rounds, and for more once a stream goes on.
    pub(super) fn new(block: usize, rounds: usize, length: usize) -> Self {
        Self { block, length, end: rounds, coming: VecDeque::new() }
    }

    /// Returns the first round of the block of a round.
    pub(super) fn start(&self, round: usize) -> usize {
        round / self.block * self.block
    }

    /// Returns the sum of the round after `draws` over those before its block, if there are any.
    pub(super) fn next(&mut self, draws: &[Vec<f64>]) -> Option<Vec<f64>> {
        let round = draws.len();
        if self.end <= round {
            self.end = 2 * round.max(1);
            self.restore(draws);
        }
        if 0 < round && self.start(round) == round {
            self.add_before(round, draws);
        }
        self.coming.pop_front()
    }

    /// Computes the sums as they are after `draws`, with the bits of a stream that was never interrupted.
    pub(super) fn restore(&mut self, draws: &[Vec<f64>]) {
        self.coming.clear();
        let start = self.start(draws.len());
        for level in (0..usize::BITS).rev().filter(|level| (start >> level) % 2 == 1) {
            let n = (start >> level) << level;
            if n < draws.len() {
                self.add_before(n, draws);
            }
        }
    }

    /// Returns how many numbers are stored.
    pub(super) fn state(&self) -> usize {
        self.coming.len() * self.length
    }

    /// Adds the draws of the rounds before `n`, which begins a block, to the stored sums.
    fn add_before(&mut self, n: usize, draws: &[Vec<f64>]) {
        let (s, n_past) = (1 << n.trailing_zeros(), draws.len());
        let n_rounds = self.end.min(n + s).saturating_sub(n_past);
        if self.coming.len() < n_rounds {
            self.coming.resize(n_rounds, vec![0.0; self.length]);
        }
        let convolution = convolution(2 * s);
        let mut x = vec![Sixteen::ZERO; 2 * s];
        for at in (0..self.length).step_by(TOGETHER) {
            let entries = at..self.length.min(at + TOGETHER);
            x.fill(Sixteen::ZERO);
            for (x, draw) in x.iter_mut().zip(&draws[n - s..n]) {
                x.0.as_flattened_mut()[..entries.len()].copy_from_slice(&draw[entries.clone()]);
            }
            convolution.apply(&mut x);
            // Entry s is the sum of round n: those before it are incomplete, and wrapped around.
            for (sum, x) in self.coming.iter_mut().zip(&x[s + n_past - n..]) {
                sum[entries.clone()].iter_mut().zip(x.0.as_flattened()).for_each(|(sum, x)| *sum += x);
            }
        }
    }
}

/// Returns the convolution with the first `length` coefficients, a power of two.
/// A process computes it once.
fn convolution(length: usize) -> &'static CyclicConvolution {
    const LEVELS: usize = usize::BITS as usize;
    static CONVOLUTIONS: [OnceLock<CyclicConvolution>; LEVELS] = [const { OnceLock::new() }; LEVELS];
    let kernel = || coefficients().take(length).collect::<Vec<_>>();
    CONVOLUTIONS[length.trailing_zeros() as usize].get_or_init(|| CyclicConvolution::new(&kernel()))
}
