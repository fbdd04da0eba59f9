//! Interleaved matrices of eight trials: each entry is a vector with one number per trial.
//!
//! A factorization then has no short rows and no sum that crosses SIMD lanes. Lanes of any width give the same bits, and
//! a trial's bits do not depend on its neighbours.
//!
//! Products are fused with sums by `mul_add` (never the `_e` forms, which round twice on a processor without the
//! instruction), so there is one rounding on every processor.
//!
//! A square matrix is stored in panels of four columns ([`place`]), row by row within a panel: the products of a tile
//! read two panels sequentially.

use pulp::{Simd, WithSimd};

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

/// Returns the index of the first tile of row block `block` in the narrow copy.
///
/// The narrow copy of a lower triangular matrix has four rows per block, column by column, up to the last diagonal entry
/// of the block.
#[inline(always)]
pub const fn narrow_place(block: usize) -> usize {
    TILE * TILE * block * (block + 1) / 2
}

#[inline(always)]
fn load<S: Simd>(entry: &Eight, slice: usize) -> S::f64s {
    S::as_simd_f64s(&entry.0).0[slice]
}

#[inline(always)]
fn store<S: Simd>(entry: &mut Eight, slice: usize, value: S::f64s) {
    S::as_mut_simd_f64s(&mut entry.0).0[slice] = value;
}

/// Computes `sums[r][c] -= sum_k left[k][r] right[k][c]`, k ascending.
#[inline(always)]
fn reduce<S: Simd>(simd: S, slice: usize, left: &[Eight], right: &[Eight], sums: &mut [[S::f64s; TILE]; TILE]) {
    for (left, right) in left.as_chunks::<TILE>().0.iter().zip(right.as_chunks::<TILE>().0) {
        let x: [S::f64s; TILE] = std::array::from_fn(|c| load::<S>(&right[c], slice));
        for r in 0..TILE {
            let factor = load::<S>(&left[r], slice);
            for c in 0..TILE {
                sums[r][c] = simd.negate_mul_add_f64s(factor, x[c], sums[r][c]);
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
                *sum = simd.negate_mul_add_f64s(factor, above, *sum);
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

/// Replaces the upper triangle of `a` by `U` with `U^T U = a`.
///
/// The number of padded rows is a multiple of four, with panels as in [`place`]. `pivots` are the squares of the diagonal
/// of `U`, which the caller must check; `inverses` are the reciprocals of the diagonal.
pub struct Factorize<'a> {
    /// `padded x padded`.
    pub a: &'a mut [Eight],
    /// Output, `padded`.
    pub pivots: &'a mut [Eight],
    /// Output, `padded`.
    pub inverses: &'a mut [Eight],
}

impl WithSimd for Factorize<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { a, pivots, inverses } = self;
        for slice in 0..LANES / S::F64_LANES {
            factorize(simd, slice, a, pivots, inverses);
        }
    }
}

#[inline(always)]
fn factorize<S: Simd>(simd: S, slice: usize, a: &mut [Eight], pivots: &mut [Eight], inverses: &mut [Eight]) {
    let padded = pivots.len();
    for j in 0..padded / TILE {
        let (before, panel) = a.split_at_mut(j * padded * TILE);
        let panel = &mut panel[..padded * TILE];
        for i in 0..j {
            let left = &before[i * padded * TILE..][..padded * TILE];
            let (above, rest) = panel.split_at_mut(i * TILE * TILE);
            let rest = &mut rest[..TILE * TILE];
            let mut sums: [[S::f64s; TILE]; TILE] =
                std::array::from_fn(|r| std::array::from_fn(|c| load::<S>(&rest[r * TILE + c], slice)));
            reduce(simd, slice, &left[..i * TILE * TILE], above, &mut sums);
            substitute(simd, slice, tile_at(left, i * TILE), &inverses[i * TILE..(i + 1) * TILE], &mut sums);
            for r in 0..TILE {
                for c in 0..TILE {
                    store::<S>(&mut rest[r * TILE + c], slice, sums[r][c]);
                }
            }
        }
        let (above, rest) = panel.split_at_mut(j * TILE * TILE);
        let rest = &mut rest[..TILE * TILE];
        let mut sums: [[S::f64s; TILE]; TILE] =
            std::array::from_fn(|r| std::array::from_fn(|c| load::<S>(&rest[r * TILE + c], slice)));
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
                    sums[q][c] = simd.negate_mul_add_f64s(sums[r][q], sums[r][c], sums[q][c]);
                }
            }
        }
    }
}

/// Inverts the factor `U`: `rows = scale U^{-T}`, `weights = rows^T rows moment`.
///
/// It also computes the sum of the squares of `rows`, and their narrow copy in one half of `narrow`. `rows` has panels as
/// in [`place`], with zeros above the diagonal within a tile.
pub struct Invert<'a, N> {
    /// `padded x padded`, as written by [`Factorize`].
    pub u: &'a [Eight],
    /// `padded`.
    pub inverses: &'a [Eight],
    /// Factor of the inverse.
    pub scale: f64,
    /// Rows and columns without padding; padding is excluded from squares and zero in `narrow`.
    pub n: usize,
    /// Padded with zeros.
    pub moment: &'a [Eight],
    /// Output, `padded x padded`.
    pub rows: &'a mut [Eight],
    /// Output, `padded`.
    pub weights: &'a mut [Eight],
    /// Output.
    pub squares: &'a mut Eight,
    /// Output, [`narrow_place`] of all blocks of rows: one half of each entry is written.
    pub narrow: &'a mut [N],
    /// Which half, 0 or 1.
    pub half: usize,
}

impl<N: AsMut<[f32; 2 * LANES]>> WithSimd for Invert<'_, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { u, inverses, scale, n, moment, rows, weights, squares, narrow, half } = self;
        let padded = inverses.len();
        weights.fill(Eight::ZERO);
        *squares = Eight::ZERO;
        for i in 0..padded / TILE {
            for slice in 0..LANES / S::F64_LANES {
                let mut z = [simd.splat_f64s(0.0); TILE];
                let left = &u[i * padded * TILE..][..padded * TILE];
                let (tile, inverses) = (tile_at(left, i * TILE), &inverses[i * TILE..(i + 1) * TILE]);
                for j in 0..=i {
                    let panel = &mut rows[j * padded * TILE..][..padded * TILE];
                    let (above, rest) = panel.split_at_mut(i * TILE * TILE);
                    let mut sums = [[simd.splat_f64s(0.0); TILE]; TILE];
                    if i == j {
                        (0..TILE).for_each(|r| sums[r][r] = simd.splat_f64s(scale));
                    } else {
                        reduce(simd, slice, &left[j * TILE * TILE..i * TILE * TILE], &above[j * TILE * TILE..], &mut sums);
                    }
                    substitute(simd, slice, tile, inverses, &mut sums);
                    for r in 0..TILE {
                        for c in 0..TILE {
                            store::<S>(&mut rest[r * TILE + c], slice, sums[r][c]);
                            z[r] = simd.mul_add_f64s(sums[r][c], load::<S>(&moment[j * TILE + c], slice), z[r]);
                        }
                    }
                }
                let mut square = [load::<S>(squares, slice), simd.splat_f64s(0.0), simd.splat_f64s(0.0), simd.splat_f64s(0.0)];
                let used = (n - i * TILE).min(TILE);
                for j in 0..=i {
                    let tile = tile_at(&rows[j * padded * TILE..], i * TILE);
                    for c in 0..TILE {
                        let mut weight = load::<S>(&weights[j * TILE + c], slice);
                        for r in 0..used {
                            let x = load::<S>(&tile[r * TILE + c], slice);
                            weight = simd.mul_add_f64s(z[r], x, weight);
                            square[r] = simd.mul_add_f64s(x, x, square[r]);
                        }
                        store::<S>(&mut weights[j * TILE + c], slice, weight);
                    }
                }
                let sum = simd.add_f64s(simd.add_f64s(square[0], square[1]), simd.add_f64s(square[2], square[3]));
                store::<S>(squares, slice, sum);
            }
            let narrow = &mut narrow[narrow_place(i)..narrow_place(i + 1)];
            let used = (n - i * TILE).min(TILE);
            for (j, narrow) in narrow.as_chunks_mut::<{ TILE * TILE }>().0.iter_mut().enumerate() {
                let tile = tile_at(&rows[j * padded * TILE..], i * TILE);
                for c in 0..TILE {
                    for r in 0..TILE {
                        // All eight are read before any is written, so that they are rounded as one vector.
                        let from = tile[r * TILE + c].0;
                        let mut rounded = [0.0; LANES];
                        rounded.iter_mut().zip(from).for_each(|(to, from)| *to = from as f32);
                        narrow[c * TILE + r].as_mut().as_chunks_mut::<LANES>().0[half] = rounded;
                    }
                    for narrow in &mut narrow[c * TILE + used..(c + 1) * TILE] {
                        narrow.as_mut().as_chunks_mut::<LANES>().0[half] = [0.0; LANES];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{cholesky, dot};
    use crate::rng::{Purpose, Streams};

    /// Narrow numbers of sixteen trials.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Sixteen([f32; 2 * LANES]);

    impl Sixteen {
        const ZERO: Self = Self([0.0; 2 * LANES]);
    }

    impl AsMut<[f32; 2 * LANES]> for Sixteen {
        fn as_mut(&mut self) -> &mut [f32; 2 * LANES] {
            &mut self.0
        }
    }

    /// Returns `B B^T + I/2` of eight random matrices.
    fn random_spd(n: usize) -> Vec<Vec<f64>> {
        let one = |lane: u64| {
            let mut stream = Streams::new(lane, "eight").of(n as u64, Purpose::Function);
            let b: Vec<f64> = (0..n * n).map(|_| stream.normal()).collect();
            let entry = |i: usize, j: usize| dot(&b[i * n..(i + 1) * n], &b[j * n..(j + 1) * n]) + if i == j { 0.5 } else { 0.0 };
            (0..n * n).map(|e| entry(e / n, e % n)).collect()
        };
        (0..LANES as u64).map(one).collect()
    }

    /// Factor, pivots, inverse, weights, squares, narrow rows.
    type Made = (Vec<Eight>, Vec<Eight>, Vec<Eight>, Vec<Eight>, Eight, Vec<Sixteen>);

    fn made(matrices: &[Vec<f64>], n: usize, scalar: bool) -> Made {
        let padded = n.next_multiple_of(TILE);
        let mut a = vec![Eight::ZERO; padded * padded];
        for i in 0..padded {
            for j in i..padded {
                let entry = |matrix: &Vec<f64>| if j < n { matrix[i * n + j] } else { f64::from(u8::from(i == j)) };
                a[place(padded, i, j)] = Eight(std::array::from_fn(|lane| entry(&matrices[lane])));
            }
        }
        let (mut pivots, mut inverses, mut weights) =
            (vec![Eight::ZERO; padded], vec![Eight::ZERO; padded], vec![Eight::ZERO; padded]);
        let mut moment = vec![Eight::ZERO; padded];
        (0..n).for_each(|i| moment[i] = Eight(std::array::from_fn(|lane| 1.0 + (i * lane) as f64)));
        let (mut rows, mut squares) = (vec![Eight::ZERO; padded * padded], Eight::ZERO);
        let mut narrow = vec![Sixteen::ZERO; narrow_place(padded / TILE)];
        let arch = pulp::Arch::new();
        let factorize = Factorize { a: &mut a, pivots: &mut pivots, inverses: &mut inverses };
        if scalar {
            factorize.with_simd(pulp::Scalar)
        } else {
            arch.dispatch(factorize)
        }
        let (u, inverses, moment) = (&a[..], &inverses[..], &moment[..]);
        let (rows_out, weights_out, narrow_out) = (&mut rows[..], &mut weights[..], &mut narrow[..]);
        let invert = Invert {
            u,
            inverses,
            scale: 2.0,
            n,
            moment,
            rows: rows_out,
            weights: weights_out,
            squares: &mut squares,
            narrow: narrow_out,
            half: 1,
        };
        if scalar {
            invert.with_simd(pulp::Scalar)
        } else {
            arch.dispatch(invert)
        }
        (a, pivots, rows, weights, squares, narrow)
    }

    #[test]
    fn eight_factors_are_those_of_their_matrices() {
        for n in [1usize, 2, 3, 4, 5, 8, 11, 26] {
            let padded = n.next_multiple_of(TILE);
            let matrices = random_spd(n);
            let (u, pivots, rows, weights, squares, narrow) = made(&matrices, n, false);
            for (lane, matrix) in matrices.iter().enumerate() {
                let mut lower = matrix.clone();
                cholesky(&mut lower, n).expect("positive definite");
                let scale = 1.0 + n as f64;
                let x = |i: usize, j: usize| if j <= i { rows[place(padded, i, j)].0[lane] } else { 0.0 };
                let mut sum = 0.0;
                for i in 0..n {
                    assert!((pivots[i].0[lane].sqrt() - lower[i * n + i]).abs() < 1e-11 * scale);
                    for j in 0..=i {
                        assert!((u[place(padded, j, i)].0[lane] - lower[i * n + j]).abs() < 1e-11 * scale, "{n}: {i}, {j}");
                        let entry: f64 = (j..=i).map(|k| x(i, k) * lower[k * n + j]).sum();
                        assert!((entry - if i == j { 2.0 } else { 0.0 }).abs() < 1e-9 * scale, "{n}: {i}, {j}: {entry}");
                        sum += x(i, j) * x(i, j);
                        assert_eq!(narrow[narrow_place(i / TILE) + TILE * j + i % TILE].0[LANES + lane], x(i, j) as f32);
                    }
                }
                assert!((squares.0[lane] / sum - 1.0).abs() < 1e-12);
                let moment = |j: usize| 1.0 + (j * lane) as f64;
                let y: Vec<f64> = (0..n).map(|i| (0..=i).map(|j| x(i, j) * moment(j)).sum()).collect();
                for (j, weight) in weights[..n].iter().enumerate() {
                    let expected: f64 = (j..n).map(|i| x(i, j) * y[i]).sum();
                    assert!((weight.0[lane] - expected).abs() < 1e-9 * scale * (1.0 + expected.abs()));
                }
            }
        }
    }

    #[test]
    fn lanes_of_any_width_give_the_same_bits() {
        for n in [3, 8, 21] {
            let matrices = random_spd(n);
            assert_eq!(made(&matrices, n, true), made(&matrices, n, false), "{n}");
        }
    }

    #[test]
    fn what_is_not_positive_shows_in_its_lane_alone() {
        let mut matrices = random_spd(9);
        matrices[3][6 * 9 + 6] = -1.0;
        let (_, pivots, ..) = made(&matrices, 9, false);
        for lane in 0..LANES {
            let refused = pivots.iter().position(|pivot| !(0.0 < pivot.0[lane] && pivot.0[lane].is_finite()));
            assert_eq!(refused, (lane == 3).then_some(6));
        }
    }
}
