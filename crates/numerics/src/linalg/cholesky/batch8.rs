//! Interleaved matrices of eight trials: each entry is a vector with one number per trial.
//!
//! A factorization then has no short rows and no sum that crosses SIMD lanes. Lanes of any width give the same bits, and
//! a trial's bits do not depend on its neighbours.
//!
//! Factors and inverses use fused products and sums, which every machine rounds alike; solves do not.
//!
//! The operations on an entry and their order are those of [`super::cholesky_upper`],
//! [`super::inverse_of_upper_transposed`] and [`super::solve_upper`], so a trial has the same bits there and here.
//!
//! A square matrix is stored in panels of four columns ([`place`]), row by row within a panel: the products of a tile
//! read two panels sequentially.

use crate::vectorised;
use pulp::Simd;

/// Number of interleaved trials.
pub const LANES: usize = 8;
/// One number for each of eight trials: a cache line.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub struct Eight(pub [f64; LANES]);

impl Eight {
    /// The zero vector.
    pub const ZERO: Self = Self([0.0; LANES]);
}

/// Rows and columns of a tile: sixteen partial sums in registers.
pub const TILE: usize = 4;

/// Returns the index of entry (`i`, `j`) in a matrix with `padded` padded rows.
#[inline(always)]
pub const fn place(padded: usize, i: usize, j: usize) -> usize {
    (j / TILE * padded + i) * TILE + j % TILE
}

#[inline(always)]
fn load<S: Simd>(entry: &Eight, slice: usize) -> S::f64s {
    S::as_simd_f64s(&entry.0).0[slice]
}

#[inline(always)]
fn store<S: Simd>(entry: &mut Eight, slice: usize, value: S::f64s) {
    S::as_mut_simd_f64s(&mut entry.0).0[slice] = value;
}

#[inline(always)]
fn load_tile<S: Simd>(tile: &[Eight], slice: usize) -> [[S::f64s; TILE]; TILE] {
    std::array::from_fn(|r| std::array::from_fn(|c| load::<S>(&tile[r * TILE + c], slice)))
}

#[inline(always)]
fn store_tile<S: Simd>(tile: &mut [Eight], slice: usize, sums: &[[S::f64s; TILE]; TILE]) {
    for (entry, &sum) in tile.iter_mut().zip(sums.as_flattened()) {
        store::<S>(entry, slice, sum);
    }
}

/// Returns `sum - a b`, rounded once.
#[inline(always)]
fn less<S: Simd>(simd: S, sum: S::f64s, a: S::f64s, b: S::f64s) -> S::f64s {
    simd.mul_add_f64s(simd.neg_f64s(a), b, sum)
}

/// Computes `sums[r][c] -= sum_k left[k][r] right[k][c]`, k ascending.
#[inline(always)]
fn reduce<S: Simd>(simd: S, slice: usize, left: &[Eight], right: &[Eight], sums: &mut [[S::f64s; TILE]; TILE]) {
    for (left, right) in left.as_chunks::<TILE>().0.iter().zip(right.as_chunks::<TILE>().0) {
        let x: [S::f64s; TILE] = std::array::from_fn(|c| load::<S>(&right[c], slice));
        for r in 0..TILE {
            let factor = load::<S>(&left[r], slice);
            for c in 0..TILE {
                sums[r][c] = less(simd, sums[r][c], factor, x[c]);
            }
        }
    }
}

/// Replaces `sums` by `U^{-T} sums` for the upper tile `U`, given the inverses of its diagonal.
#[inline(always)]
fn substitute<S: Simd>(
    simd: S,
    slice: usize,
    tile: &[Eight; TILE * TILE],
    inverses: &[Eight],
    sums: &mut [[S::f64s; TILE]; TILE],
) {
    for r in 0..TILE {
        let (above, rest) = sums.split_at_mut(r);
        for (q, above) in above.iter().enumerate() {
            let factor = load::<S>(&tile[q * TILE + r], slice);
            for (sum, &above) in rest[0].iter_mut().zip(above) {
                *sum = less(simd, *sum, factor, above);
            }
        }
        let inverse = load::<S>(&inverses[r], slice);
        for sum in &mut rest[0] {
            *sum = simd.mul_f64s(*sum, inverse);
        }
    }
}

#[inline(always)]
fn tile_at(panel: &[Eight], row: usize) -> &[Eight; TILE * TILE] {
    &panel.as_chunks::<{ TILE * TILE }>().0[row / TILE]
}

vectorised! {
    /// Factors eight matrices, and inverts and solves with their factors.
    ///
    /// The number of padded rows is a multiple of four, with panels as in [`place`].
    ///
    /// * `a` — `padded x padded`: its upper triangle becomes `U` with `U^T U = a`
    /// * `pivots` — output, `padded`: the squares of the diagonal of `U`, which the caller must check
    /// * `inverses` — output, `padded`: the reciprocals of the diagonal
    /// * `scale` — factors of the inverses
    /// * `rows` — output, `padded x padded`: `scale U^{-T}`, with zeros above the diagonal within a tile
    /// * `b` — one entry per row without padding; becomes `(U^T U)^{-1} b`
    pub fn factor_eight(
        a: &mut [Eight],
        pivots: &mut [Eight],
        inverses: &mut [Eight],
        scale: Eight,
        rows: &mut [Eight],
        b: &mut [Eight],
    ) where simd: S {
        factorize(simd, a, pivots, inverses);
        invert(simd, a, inverses, scale, rows);
        solve(simd, a, pivots.len(), b);
    }
}

#[inline(always)]
fn factorize<S: Simd>(simd: S, a: &mut [Eight], pivots: &mut [Eight], inverses: &mut [Eight]) {
    let padded = pivots.len();
    for slice in 0..LANES / S::F64_LANES {
        for j in 0..padded / TILE {
            let (before, panel) = a.split_at_mut(j * padded * TILE);
            let panel = &mut panel[..padded * TILE];
            for i in 0..j {
                let left = &before[i * padded * TILE..][..padded * TILE];
                let (above, rest) = panel.split_at_mut(i * TILE * TILE);
                let rest = &mut rest[..TILE * TILE];
                let mut sums = load_tile::<S>(rest, slice);
                reduce(simd, slice, &left[..i * TILE * TILE], above, &mut sums);
                substitute(simd, slice, tile_at(left, i * TILE), &inverses[i * TILE..(i + 1) * TILE], &mut sums);
                store_tile::<S>(rest, slice, &sums);
            }
            let (above, rest) = panel.split_at_mut(j * TILE * TILE);
            let rest = &mut rest[..TILE * TILE];
            let mut sums = load_tile::<S>(rest, slice);
            reduce(simd, slice, above, above, &mut sums);
            for r in 0..TILE {
                let pivot = sums[r][r];
                let root = simd.sqrt_f64s(pivot);
                let inverse = simd.div_f64s(simd.splat_f64s(1.0), root);
                store::<S>(&mut pivots[j * TILE + r], slice, pivot);
                store::<S>(&mut inverses[j * TILE + r], slice, inverse);
                store::<S>(&mut rest[r * TILE + r], slice, root);
                for c in r + 1..TILE {
                    sums[r][c] = simd.mul_f64s(sums[r][c], inverse);
                    store::<S>(&mut rest[r * TILE + c], slice, sums[r][c]);
                }
                for q in r + 1..TILE {
                    for c in q..TILE {
                        sums[q][c] = less(simd, sums[q][c], sums[r][q], sums[r][c]);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn invert<S: Simd>(simd: S, u: &[Eight], inverses: &[Eight], scale: Eight, rows: &mut [Eight]) {
    let padded = inverses.len();
    for i in 0..padded / TILE {
        for slice in 0..LANES / S::F64_LANES {
            let left = &u[i * padded * TILE..][..padded * TILE];
            let (tile, inverses) = (tile_at(left, i * TILE), &inverses[i * TILE..(i + 1) * TILE]);
            for j in 0..=i {
                let panel = &mut rows[j * padded * TILE..][..padded * TILE];
                let (above, rest) = panel.split_at_mut(i * TILE * TILE);
                let mut sums = [[simd.splat_f64s(0.0); TILE]; TILE];
                if i == j {
                    (0..TILE).for_each(|r| sums[r][r] = load::<S>(&scale, slice));
                } else {
                    reduce(simd, slice, &left[j * TILE * TILE..i * TILE * TILE], &above[j * TILE * TILE..], &mut sums);
                }
                substitute(simd, slice, tile, inverses, &mut sums);
                store_tile::<S>(&mut rest[..TILE * TILE], slice, &sums);
            }
        }
    }
}

#[inline(always)]
fn solve<S: Simd>(simd: S, u: &[Eight], padded: usize, b: &mut [Eight]) {
    let n = b.len();
    for slice in 0..LANES / S::F64_LANES {
        let entry = |k: usize, i: usize| load::<S>(&u[place(padded, k, i)], slice);
        for k in 0..n {
            let value = simd.div_f64s(load::<S>(&b[k], slice), entry(k, k));
            store::<S>(&mut b[k], slice, value);
            for (i, b) in b.iter_mut().enumerate().skip(k + 1) {
                let sum = simd.sub_f64s(load::<S>(b, slice), simd.mul_f64s(value, entry(k, i)));
                store::<S>(b, slice, sum);
            }
        }
        for k in (0..n).rev() {
            // The partial sums of `dot`.
            let mut s = [simd.splat_f64s(0.0); 8];
            for (at, (i, b)) in b.iter().enumerate().skip(k + 1).enumerate() {
                s[at % 8] = simd.add_f64s(s[at % 8], simd.mul_f64s(entry(k, i), load::<S>(b, slice)));
            }
            let add = |a, b| simd.add_f64s(a, b);
            let sum = add(add(add(s[0], s[4]), add(s[2], s[6])), add(add(s[1], s[5]), add(s[3], s[7])));
            let value = simd.div_f64s(simd.sub_f64s(load::<S>(&b[k], slice), sum), entry(k, k));
            store::<S>(&mut b[k], slice, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::cholesky::random_spd;
    use crate::linalg::{cholesky_upper, inverse_of_upper_transposed, solve_upper};
    use crate::rng::{Purpose, Streams};

    /// Returns `B B^T + I/2` of eight random matrices.
    fn random_eight(n: usize) -> Vec<Vec<f64>> {
        let stream = |lane: u64| Streams::new(lane, "eight").of(n as u64, Purpose::Function);
        (0..LANES as u64).map(|lane| random_spd(n, &mut stream(lane))).collect()
    }

    /// Returns factor, pivots, inverse and solution.
    fn interleaved(matrices: &[Vec<f64>], n: usize, scalar: bool) -> [Vec<Eight>; 4] {
        let padded = n.next_multiple_of(TILE);
        let mut u = vec![Eight::ZERO; padded * padded];
        for i in 0..padded {
            for j in i..padded {
                let entry = |matrix: &Vec<f64>| if j < n { matrix[i * n + j] } else { f64::from(u8::from(i == j)) };
                u[place(padded, i, j)] = Eight(std::array::from_fn(|lane| entry(&matrices[lane])));
            }
        }
        let (mut pivots, mut inverses) = (vec![Eight::ZERO; padded], vec![Eight::ZERO; padded]);
        let mut rows = vec![Eight::ZERO; padded * padded];
        let mut b: Vec<Eight> = (0..n).map(|i| Eight(std::array::from_fn(|lane| 1.0 + (i * lane) as f64))).collect();
        let scale = Eight([2.0; LANES]);
        if scalar {
            let simd = pulp::Scalar::new();
            factorize(simd, &mut u, &mut pivots, &mut inverses);
            invert(simd, &u, &inverses, scale, &mut rows);
            solve(simd, &u, padded, &mut b);
        } else {
            factor_eight(&mut u, &mut pivots, &mut inverses, scale, &mut rows, &mut b);
        }
        [u, pivots, rows, b]
    }

    /// A trial has the bits of its factor alone, in SIMD lanes of any width.
    #[test]
    fn eight_factors_are_those_of_their_matrices() {
        for n in [1usize, 2, 3, 4, 5, 8, 11, 26] {
            let padded = n.next_multiple_of(TILE);
            let matrices = random_eight(n);
            let found = interleaved(&matrices, n, false);
            assert_eq!(found, interleaved(&matrices, n, true), "{n}");
            let [u, _, rows, b] = found;
            for (lane, matrix) in matrices.iter().enumerate() {
                let mut upper = matrix.clone();
                cholesky_upper(&mut upper, n).expect("positive definite");
                let mut inverse = vec![f64::NAN; n * n];
                inverse_of_upper_transposed(&upper, n, 2.0, &mut inverse);
                let mut solved: Vec<f64> = (0..n).map(|i| 1.0 + (i * lane) as f64).collect();
                solve_upper(&upper, &mut solved);
                for i in 0..n {
                    assert_eq!(b[i].0[lane].to_bits(), solved[i].to_bits(), "{n}: {i}");
                    for j in 0..=i {
                        assert_eq!(u[place(padded, j, i)].0[lane].to_bits(), upper[j * n + i].to_bits(), "{n}: {i}, {j}");
                        assert_eq!(rows[place(padded, i, j)].0[lane].to_bits(), inverse[i * n + j].to_bits(), "{n}: {i}, {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_positive_shows_in_its_lane_alone() {
        let mut matrices = random_eight(9);
        matrices[3][6 * 9 + 6] = -1.0;
        let [_, pivots, ..] = interleaved(&matrices, 9, false);
        for lane in 0..LANES {
            let refused = pivots.iter().position(|pivot| !(0.0 < pivot.0[lane] && pivot.0[lane].is_finite()));
            assert_eq!(refused, (lane == 3).then_some(6));
        }
    }
}
