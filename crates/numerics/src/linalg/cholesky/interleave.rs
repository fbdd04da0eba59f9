//! Moves numbers between the matrices of single trials and interleaved matrices of eight.
//!
//! Nothing is rounded. With AVX-512 a block of four entries of eight trials is transposed in registers.

use super::batch8::{Eight, LANES, TILE, place};
use crate::linalg::triangle_sums::{TriangleSums, larger};
use pulp::{Arch, NullaryFnOnce};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m512d;

/// Writes the upper triangles of eight matrices, interleaved in panels as in [`place`].
///
/// * `packed` — `n (n + 1) / 2` numbers each, row by row
/// * `padded` — `n`, rounded up to a multiple of four; entries beyond the `n`th column are not written
pub fn interleave_upper(packed: [&[f64]; LANES], n: usize, padded: usize, upper: &mut [Eight]) {
    exchange(InterleaveUpper { packed: packed.map(|packed| &packed[..n * (n + 1) / 2]), n, padded, upper });
}

/// Writes the lower triangles of up to eight interleaved matrices, each with its [`TriangleSums`].
///
/// * `rows` — `padded x padded`, in panels as in [`place`], with zeros above the diagonal within a tile
/// * `out` — `n x n` numbers of each trial, row-major; entries beyond the tile of the diagonal are not written
pub fn separate_lower(rows: &[Eight], n: usize, padded: usize, out: &mut [&mut [f64]]) -> [TriangleSums; LANES] {
    exchange(SeparateLower { rows, n, padded, out })
}

/// Exchanges four entries of eight trials.
trait Exchange: Copy {
    fn interleave(self, of_trials: [&[f64; TILE]; LANES]) -> [Eight; TILE];
    fn separate(self, interleaved: &[Eight; TILE]) -> [[f64; TILE]; LANES];
}

#[derive(Clone, Copy)]
struct Plain;

impl Exchange for Plain {
    #[inline(always)]
    fn interleave(self, of_trials: [&[f64; TILE]; LANES]) -> [Eight; TILE] {
        std::array::from_fn(|c| Eight(of_trials.map(|numbers| numbers[c])))
    }

    #[inline(always)]
    fn separate(self, interleaved: &[Eight; TILE]) -> [[f64; TILE]; LANES] {
        std::array::from_fn(|lane| std::array::from_fn(|c| interleaved[c].0[lane]))
    }
}

#[cfg(target_arch = "x86_64")]
impl Exchange for pulp::x86::V4 {
    #[inline(always)]
    fn interleave(self, of_trials: [&[f64; TILE]; LANES]) -> [Eight; TILE] {
        // Trial t and trial t + 4 in one vector.
        let pair = |t: usize| {
            let low = self.avx512f._mm512_castpd256_pd512(pulp::cast(*of_trials[t]));
            self.avx512f._mm512_insertf64x4::<1>(low, pulp::cast(*of_trials[t + TILE]))
        };
        transposed(self, [pair(0), pair(1), pair(2), pair(3)]).map(|numbers| Eight(pulp::cast(numbers)))
    }

    #[inline(always)]
    fn separate(self, interleaved: &[Eight; TILE]) -> [[f64; TILE]; LANES] {
        let entries = interleaved.map(|Eight(numbers)| pulp::cast(numbers));
        // Trials t and t + 4, four numbers each.
        let [[t0, t4], [t1, t5], [t2, t6], [t3, t7]]: [[[f64; TILE]; 2]; TILE] = transposed(self, entries).map(pulp::cast);
        [t0, t1, t2, t3, t4, t5, t6, t7]
    }
}

/// Transposes the lower and the upper halves of four vectors.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transposed(simd: pulp::x86::V4, [a, b, c, d]: [__m512d; TILE]) -> [__m512d; TILE] {
    let f = simd.avx512f;
    let [even_ab, even_cd] = [f._mm512_unpacklo_pd(a, b), f._mm512_unpacklo_pd(c, d)];
    let [odd_ab, odd_cd] = [f._mm512_unpackhi_pd(a, b), f._mm512_unpackhi_pd(c, d)];
    let first = pulp::cast([0_u64, 1, 8, 9, 4, 5, 12, 13]);
    let second = pulp::cast([2_u64, 3, 10, 11, 6, 7, 14, 15]);
    [
        f._mm512_permutex2var_pd(even_ab, first, even_cd),
        f._mm512_permutex2var_pd(odd_ab, first, odd_cd),
        f._mm512_permutex2var_pd(even_ab, second, even_cd),
        f._mm512_permutex2var_pd(odd_ab, second, odd_cd),
    ]
}

trait Pass {
    type Output;

    fn pass<M: Exchange>(self, moves: M) -> Self::Output;
}

/// A pass with the way it exchanges entries, as [`Arch`] takes it.
struct Dispatched<P, M>(P, M);

impl<P: Pass, M: Exchange> NullaryFnOnce for Dispatched<P, M> {
    type Output = P::Output;

    #[inline(always)]
    fn call(self) -> P::Output {
        self.0.pass(self.1)
    }
}

fn exchange<P: Pass>(pass: P) -> P::Output {
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(simd) => simd.vectorize(Dispatched(pass, simd)),
        other => other.dispatch(Dispatched(pass, Plain)),
    }
}

struct InterleaveUpper<'a> {
    packed: [&'a [f64]; LANES],
    n: usize,
    padded: usize,
    upper: &'a mut [Eight],
}

impl Pass for InterleaveUpper<'_> {
    type Output = ();

    #[inline(always)]
    fn pass<M: Exchange>(self, moves: M) {
        let Self { packed, n, padded, upper } = self;
        let mut row = 0;
        for i in 0..n {
            // Entry (i, j) is number `row + j - i`.
            let mut one = |j: usize| upper[place(padded, i, j)] = Eight(packed.map(|packed| packed[row + j - i]));
            let (whole, end) = (i.next_multiple_of(TILE).min(n), n / TILE * TILE);
            (i..whole).for_each(&mut one);
            (end.max(whole)..n).for_each(&mut one);
            for j in (whole..end).step_by(TILE) {
                let at = row + j - i;
                let numbers = packed.map(|packed| &packed[at..at + TILE].as_chunks::<TILE>().0[0]);
                upper[place(padded, i, j)..][..TILE].copy_from_slice(&moves.interleave(numbers));
            }
            row += n - i;
        }
    }
}

struct SeparateLower<'a, 'b> {
    rows: &'a [Eight],
    n: usize,
    padded: usize,
    out: &'a mut [&'b mut [f64]],
}

impl Pass for SeparateLower<'_, '_> {
    type Output = [TriangleSums; LANES];

    #[inline(always)]
    fn pass<M: Exchange>(self, moves: M) -> [TriangleSums; LANES] {
        let Self { rows, n, padded, out } = self;
        let mut columns = vec![Eight::ZERO; padded];
        let (mut squares, mut largest_row) = ([Eight::ZERO; TILE], Eight::ZERO);
        for i in 0..n {
            let mut sums = [Eight::ZERO; TILE];
            for (panel, columns) in columns.as_chunks_mut::<TILE>().0.iter_mut().enumerate().take(i / TILE + 1) {
                let tile = &rows[place(padded, i, panel * TILE)..].as_chunks::<TILE>().0[0];
                for c in 0..TILE {
                    for lane in 0..LANES {
                        let entry = tile[c].0[lane].abs();
                        sums[c].0[lane] += entry;
                        squares[c].0[lane] += entry * entry;
                        columns[c].0[lane] += entry;
                    }
                }
                let numbers = moves.separate(tile);
                let at = i * n + panel * TILE;
                if panel * TILE + TILE <= n {
                    out.iter_mut().zip(&numbers).for_each(|(out, numbers)| out[at..at + TILE].copy_from_slice(numbers));
                } else {
                    let rest = n - panel * TILE;
                    out.iter_mut().zip(&numbers).for_each(|(out, numbers)| out[at..at + rest].copy_from_slice(&numbers[..rest]));
                }
            }
            for lane in 0..LANES {
                largest_row.0[lane] = larger(sums.iter().map(|sum| sum.0[lane]).sum(), largest_row.0[lane]);
            }
        }
        std::array::from_fn(|lane| TriangleSums {
            squares: squares.iter().map(|sum| sum.0[lane]).sum(),
            largest_row: largest_row.0[lane],
            largest_column: columns.iter().fold(0.0, |largest, column| f64::max(largest, column.0[lane])),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(lane: usize, i: usize, j: usize) -> f64 {
        libm::cos((100 * lane + 10 * i + 3 * j) as f64)
    }

    /// Entry `(i, j)` of every trial is interleaved, by shuffles of registers and without.
    #[test]
    fn interleave_upper_writes_every_entry() {
        for n in 0..15_usize {
            let padded = n.next_multiple_of(TILE);
            let packed: Vec<Vec<f64>> =
                (0..LANES).map(|lane| (0..n).flat_map(|i| (i..n).map(move |j| number(lane, i, j))).collect()).collect();
            let packed: [&[f64]; LANES] = std::array::from_fn(|lane| &packed[lane][..]);
            let (mut upper, mut plain) = (vec![Eight::ZERO; padded * padded], vec![Eight::ZERO; padded * padded]);
            interleave_upper(packed, n, padded, &mut upper);
            InterleaveUpper { packed, n, padded, upper: &mut plain }.pass(Plain);
            assert_eq!(upper, plain, "{n}");
            for (i, j) in (0..n).flat_map(|i| (i..n).map(move |j| (i, j))) {
                assert_eq!(upper[place(padded, i, j)], Eight(std::array::from_fn(|lane| number(lane, i, j))), "{n}: {i}, {j}");
            }
        }
    }

    /// Rows and sums are those of each trial alone, for any number of trials.
    #[test]
    fn rows_and_sums_are_those_of_each_trial() {
        for (n, trials) in (0..15_usize).flat_map(|n| [(n, 8), (n, 3)]) {
            let padded = n.next_multiple_of(TILE);
            let mut rows = vec![Eight::ZERO; padded * padded];
            for (i, j) in (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                rows[place(padded, i, j)] = Eight(std::array::from_fn(|lane| number(lane, i, j)));
            }
            let made = |plain: bool| {
                let mut out = vec![vec![0.0; n * n]; trials];
                let mut slices: Vec<&mut [f64]> = out.iter_mut().map(|out| &mut out[..]).collect();
                let sums = if plain {
                    SeparateLower { rows: &rows, n, padded, out: &mut slices }.pass(Plain)
                } else {
                    separate_lower(&rows, n, padded, &mut slices)
                };
                (out, sums)
            };
            assert_eq!(made(false), made(true), "{n}");
            let (out, sums) = made(false);
            for (lane, out) in out.iter().enumerate() {
                let entry = |e: usize| if e % n <= e / n { number(lane, e / n, e % n) } else { 0.0 };
                assert_eq!(*out, (0..n * n).map(entry).collect::<Vec<_>>(), "{n}: {lane}");
                assert_eq!(sums[lane], TriangleSums::of(out, n), "{n}: {lane}");
            }
        }
    }
}
