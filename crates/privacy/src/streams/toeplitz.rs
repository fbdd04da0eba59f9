//! Factorises prefix sums by the square root of their matrix (Fichtenberger2023).
//!
//! The coefficients are `c_k = binom(2k, k)/4^k`. Its largest variance is the least of all Toeplitz factorisations
//! (Dvijotham2024), and it is the reference for the other factorisations. Every draw is stored. Sums over draws cost
//! O(log² T) operations a round and entry, by online convolution.

pub(crate) use super::online::work_space;
use super::online::{self, OnlineSums, coefficients};
use super::transform::Kept;
use super::{Factorisation, PrefixNoise, RowTransform, Shape};
use crate::accounting::sensitivity::Participation;
use privateer_numerics::linalg::{add_rows, add_rows_wide};
use privateer_numerics::vectorised;

/// The square-root matrix over a number of rounds.
#[derive(Debug, Clone)]
pub struct SquareRoot {
    rounds: u64,
}

impl SquareRoot {
    /// Makes the matrix for `rounds >= 1` (0 counts as 1).
    /// Memory of a stream grows with its rounds, and time per round with the square of their logarithm.
    pub fn new(rounds: u64) -> Self {
        Self { rounds: rounds.max(1) }
    }

    fn column(&self) -> impl Iterator<Item = f64> {
        coefficients().take(self.rounds as usize)
    }
}

/// Returns the least sensitivity times largest standard deviation of a Toeplitz factorisation.
/// This is the sum of `c_k²` over `rounds`.
pub fn optimum(rounds: u64) -> f64 {
    coefficients().take(rounds.max(1) as usize).map(|c| c * c).sum()
}

/// Returns the norm of a sum of columns of a Toeplitz matrix over `rounds` rounds.
/// The first column, without zeros at its end, must be non-negative and non-increasing. Columns at the least separation, from the first on, are the worst
/// [arXiv 2405.13763, theorem 2].
pub(super) fn column_norm(first: &[f64], rounds: u64, participation: Participation) -> f64 {
    let separation = participation.separation.max(1) as usize;
    let mut sums = vec![0.0; rounds as usize];
    let count = participation.covered().max(1);
    if 1 << 32 < u128::from(count) * first.len() as u128 {
        // Each sum from the one a separation before, in place of hours of additions; rounded up by more than all their errors.
        let group = separation.saturating_mul(count as usize);
        for at in 0..sums.len() {
            let of = |values: &[f64], by: usize| at.checked_sub(by).and_then(|at| values.get(at)).copied().unwrap_or(0.0);
            sums[at] = of(first, 0) + of(&sums, separation) - of(first, group);
        }
        return (1.0 + 1e-7) * libm::sqrt(sums.iter().map(|sum| sum * sum).sum());
    }
    for start in (0..sums.len()).step_by(separation).take(count as usize) {
        sums[start..].iter_mut().zip(first).for_each(|(sum, c)| *sum += c);
    }
    libm::sqrt(sums.iter().map(|sum| sum * sum).sum())
}

impl Factorisation for SquareRoot {
    fn name(&self) -> &'static str {
        "sqrt-toeplitz"
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        if participation.count <= 1 {
            return libm::sqrt(optimum(self.rounds));
        }
        column_norm(&self.column().collect::<Vec<_>>(), self.rounds, participation)
    }

    fn variance(&self, round: u64) -> f64 {
        // Both factors are the same matrix.
        optimum(round)
    }

    fn variances(&self) -> Vec<f64> {
        let growing = self.column().scan(0.0, |sum, c| {
            *sum += c * c;
            Some(*sum)
        });
        growing.collect()
    }

    fn noise(&self, shape: Shape) -> Box<dyn PrefixNoise> {
        Box::new(SquareRootNoise::new(self.rounds, shape.len(), online::BLOCK))
    }

    fn transform(&self, length: usize) -> Option<Box<dyn RowTransform>> {
        Some(Box::new(Kept::new(self.column().collect(), length)))
    }
}

/// Number of rounds whose sums over the draws before them in their block are computed together. Divides a block.
const GROUP: usize = 32;
/// Number of rounds of a group whose sums are computed together, so that a draw is read once for them.
const TOGETHER: usize = 4;
/// Entries in a vector, and vectors of a draw that are added together.
const LANES: usize = 8;
const WIDE: usize = 4;
const WHOLE: usize = WIDE * LANES;

/// Holds the draws of a stream.
///
/// The noise of round t is `sum_{s <= t} c_(t - s) z_s`. The draws of its block are added up in the order of s, and then
/// [`OnlineSums`] adds those of earlier blocks. At the start of a group of rounds the part of the draws before it in its block is
/// computed for all of its rounds, so that a draw is read once for each group and not for each round.
#[derive(Debug)]
struct SquareRootNoise {
    /// The coefficients, last one first: those of a round are a slice in the order of its draws.
    backward: Vec<f64>,
    draws: Vec<Vec<f64>>,
    online: OnlineSums,
    /// Sums of the rounds of the present group over the draws before it in their block.
    ahead: Vec<Vec<f64>>,
    sum: Vec<f64>,
}

impl SquareRootNoise {
    fn new(rounds: u64, length: usize, block: usize) -> Self {
        let online = OnlineSums::new(block, rounds as usize, length);
        let mut backward: Vec<f64> = coefficients().take(block.min(rounds as usize)).collect();
        backward.reverse();
        Self { backward, draws: Vec::new(), online, ahead: Vec::new(), sum: vec![0.0; length] }
    }

    /// Computes `ahead` for the group that starts after the first `n_past` draws.
    fn look_ahead(&mut self, n_past: usize) {
        let draws = &self.draws[self.online.start(n_past)..n_past];
        if self.backward.len() < draws.len() + GROUP {
            self.backward = coefficients().take(2 * (draws.len() + GROUP)).collect();
            self.backward.reverse();
        }
        self.ahead.resize(GROUP, Vec::new());
        for sum in &mut self.ahead {
            sum.clear();
            sum.resize(self.sum.len(), 0.0);
        }
        look_ahead(&self.backward, draws, &mut self.ahead);
    }
}

vectorised! {
    fn look_ahead(backward: &[f64], draws: &[Vec<f64>], ahead: &mut [Vec<f64>]) {
        let length = ahead.first().map_or(0, Vec::len);
        let weights = |round: usize| &backward[backward.len() - 1 - draws.len() - round..][..draws.len()];
        // All rounds pass over some entries of the draws before the next ones, which stay in the L2 cache meanwhile.
        let mut at = 0;
        while at < length {
            let n_entries = [WHOLE, LANES].into_iter().find(|n| at + n <= length).unwrap_or(length - at);
            for (group, ahead) in ahead.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
                let weights: [&[f64]; TOGETHER] = std::array::from_fn(|round| weights(group * TOGETHER + round));
                match n_entries {
                    LANES => add_draws::<1>(weights, draws, ahead, at),
                    WHOLE => add_draws::<WIDE>(weights, draws, ahead, at),
                    _ => ahead
                        .iter_mut()
                        .zip(weights)
                        .for_each(|(sum, weights)| add_rows(weights, |past| &draws[past][at..], &mut sum[at..])),
                }
            }
            at += n_entries;
        }
    }
}

type Lanes = [f64; LANES];

/// Adds all draws to the sums of four rounds, in vectors of entries from `at` on: all sums stay in registers.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "indexed by a constant, the loop is unrolled and its sums stay in registers")]
fn add_draws<const W: usize>(weights: [&[f64]; TOGETHER], draws: &[Vec<f64>], ahead: &mut [Vec<f64>; TOGETHER], at: usize) {
    let mut sums = ([[0.0; LANES]; W], [[0.0; LANES]; W], [[0.0; LANES]; W], [[0.0; LANES]; W]);
    let [of_a, of_b, of_c, of_d] = weights;
    for ((((draw, &a), &b), &c), &d) in draws.iter().zip(of_a).zip(of_b).zip(of_c).zip(of_d) {
        let draw = draw[at..at + W * LANES].as_chunks::<LANES>().0;
        for w in 0..W {
            sums.0[w] = add_scaled(sums.0[w], a, &draw[w]);
            sums.1[w] = add_scaled(sums.1[w], b, &draw[w]);
            sums.2[w] = add_scaled(sums.2[w], c, &draw[w]);
            sums.3[w] = add_scaled(sums.3[w], d, &draw[w]);
        }
    }
    for (ahead, sums) in ahead.iter_mut().zip([sums.0, sums.1, sums.2, sums.3]) {
        ahead[at..at + W * LANES].copy_from_slice(sums.as_flattened());
    }
}

#[inline(always)]
fn add_scaled(mut sum: Lanes, factor: f64, x: &Lanes) -> Lanes {
    for lane in 0..LANES {
        sum[lane] += factor * x[lane];
    }
    sum
}

impl PrefixNoise for SquareRootNoise {
    fn next(&mut self, draw: &mut dyn FnMut(&mut [f64])) -> &[f64] {
        let (round, begun) = (self.draws.len() % GROUP, self.draws.len());
        if round == 0 {
            self.look_ahead(begun);
        }
        let mut fresh = vec![0.0; self.sum.len()];
        draw(&mut fresh);
        let online = self.online.next(&self.draws);
        self.draws.push(fresh);
        self.sum.copy_from_slice(&self.ahead[round]);
        let (weights, draws) = (&self.backward[self.backward.len() - 1 - round..], &self.draws[begun - round..]);
        add_rows_wide(weights, |past| &draws[past], &mut self.sum);
        if let Some(online) = online {
            self.sum.iter_mut().zip(online).for_each(|(sum, online)| *sum += online);
        }
        &self.sum
    }

    fn state(&self) -> usize {
        self.draws.len() * self.sum.len() + self.online.state()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(length: usize, block: usize) -> SquareRootNoise {
        SquareRootNoise::new(50, length, block)
    }

    fn draw(round: usize, length: usize) -> Vec<f64> {
        (0..length).map(|i| libm::sin((round * length + i) as f64)).collect()
    }

    /// The groups give the bits of one sum per round, also beyond the stated rounds.
    #[test]
    fn groups_have_the_bits_of_single_sums() {
        let length = 2 * WHOLE + LANES + 7;
        let (mut summed, mut drawn) = (noise(length, online::BLOCK), Vec::<Vec<f64>>::new());
        let all: Vec<f64> = coefficients().take(100).collect();
        for round in 0..100_usize {
            let fresh = draw(round, length);
            drawn.push(fresh.clone());
            let mut expected = vec![0.0; length];
            for (past, c) in drawn.iter().zip(all[..=round].iter().rev()) {
                expected.iter_mut().zip(past).for_each(|(sum, z)| *sum += c * z);
            }
            assert_eq!(summed.next(&mut |out| out.copy_from_slice(&fresh)), expected, "{round}");
        }
    }

    /// An entry has the bits that it has alone: learners concatenate the streams of trials that run in lockstep.
    #[test]
    fn entries_do_not_mix() {
        let (length, chosen) = (27, 11);
        let (mut many, mut one) = (noise(length, online::BLOCK), noise(1, online::BLOCK));
        for round in 0..700 {
            let fresh = draw(round, length);
            let together = many.next(&mut |out| out.copy_from_slice(&fresh))[chosen];
            let alone = one.next(&mut |out| out[0] = fresh[chosen])[0];
            assert_eq!(together.to_bits(), alone.to_bits(), "{round}");
        }
    }

    /// Blocks give the sums of a single block.
    ///
    /// A middle product of s draws errs by at most `12 eps (log2(s) + 2)` times the norms of the coefficients and of the draws
    /// (`MiddleProduct::apply`). A sum has one of each of at most five lengths, and both ways add at most 601 numbers one by one.
    #[test]
    fn blocks_have_the_sums_of_one_block() {
        let (block, rounds) = (GROUP, 600_usize);
        let levels = f64::from((rounds / block).ilog2() + 1);
        let eps = f64::EPSILON * (12.0 * levels * (libm::log2(rounds as f64) + 2.0) + rounds as f64 + 1.0);
        let of_coefficients = coefficients().take(rounds).map(|c| c * c).sum::<f64>();
        let bound = eps * libm::sqrt(of_coefficients * rounds as f64);
        for length in [1, 7, 16, 17, 71] {
            let (mut direct, mut whole) = (noise(length, 1024), noise(length, block));
            for round in 0..rounds {
                let fresh = draw(round, length);
                let mut fill = |out: &mut [f64]| out.copy_from_slice(&fresh);
                let (direct, whole) = (direct.next(&mut fill), whole.next(&mut fill));
                let error = direct.iter().zip(whole).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(error <= bound, "{length} {round}: {error} of {bound}");
            }
        }
    }
}
