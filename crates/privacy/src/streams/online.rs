//! Computes sums over the draws of past blocks of rounds by online convolution.
//!
//! Let round n begin a block, and let s be the largest power of two that divides n. One convolution then adds the draws of the
//! s rounds before n to the sums of rounds n to n + s - 1. So a draw is added once to every later round outside its block: at
//! the multiple n of the largest power of two that lies after the draw and not after the round. A stream of T rounds costs
//! O(log² T) operations a round and entry.

use privateer_numerics::linalg::{ComplexLanes, MiddleProduct};
use std::collections::VecDeque;
use std::sync::OnceLock;

/// Number of rounds of a block: a power of two.
pub(super) const BLOCK: usize = 256;
/// Number of entries whose convolutions are interleaved.
const INTERLEAVED: usize = 8;

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
        debug_assert!(block.is_power_of_two());
        Self { block, length, end: rounds, coming: VecDeque::new() }
    }

    /// Returns the first round of the block of a round.
    pub(super) fn start(&self, round: usize) -> usize {
        round / self.block * self.block
    }

    /// Returns the sum of the next round over the draws before its block; `None` in the first block.
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
        let product = middle_product(s);
        let mut x = vec![ComplexLanes::ZERO; s];
        for at in (0..self.length).step_by(INTERLEAVED) {
            let entries = at..self.length.min(at + INTERLEAVED);
            for (x, draw) in x.iter_mut().zip(&draws[n - s..n]) {
                x.0[0][..entries.len()].copy_from_slice(&draw[entries.clone()]);
            }
            product.apply(&mut x);
            for (sum, x) in self.coming.iter_mut().zip(&x[n_past - n..]) {
                sum[entries.clone()].iter_mut().zip(x.0[0]).for_each(|(sum, x)| *sum += x);
            }
        }
    }
}

/// Returns how many numbers one stream takes while it computes.
///
/// They are 16 for each round of its largest convolution, and the tables of all.
pub(crate) fn work_space(rounds: u64) -> f64 {
    let n_earlier = rounds.saturating_sub(1);
    if n_earlier < BLOCK as u64 { 0.0 } else { 28.0 * libm::exp2(f64::from(n_earlier.ilog2())) }
}

/// Returns the middle product of `s` draws, a power of two, with the first `2 s` coefficients.
///
/// A process computes it once and keeps it: `6 s` numbers. Those of all lengths are less than twice the largest.
fn middle_product(s: usize) -> &'static MiddleProduct {
    const LEVELS: usize = usize::BITS as usize;
    static PRODUCTS: [OnceLock<MiddleProduct>; LEVELS] = [const { OnceLock::new() }; LEVELS];
    let kernel = || coefficients().take(2 * s).collect::<Vec<_>>();
    PRODUCTS[s.trailing_zeros() as usize].get_or_init(|| MiddleProduct::new(&kernel()))
}

/// Returns `binom(2k, k)/4^k` for k = 0, 1, ….
pub(super) fn coefficients() -> impl Iterator<Item = f64> {
    (1..).scan(1.0, |c, k| {
        let now = *c;
        *c *= 1.0 - 0.5 / f64::from(k);
        Some(now)
    })
}
