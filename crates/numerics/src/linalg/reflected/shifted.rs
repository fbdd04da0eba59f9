//! Inverse roots of tridiagonal matrices, without eigenvalues: a solution for each of a few shifts.

use super::super::dot::LANES;
use super::Fractions;
use super::reflections::Lanes;
use crate::vectorised;
use pulp::Simd;

/// Shifts whose solutions are computed together: enough to hide the latency of dependent steps.
const TOGETHER: usize = 2;

/// The factors `L D_j L^T` of `M + s_j I` for all shifts, M tridiagonal, positive definite.
#[derive(Debug, Clone)]
pub struct ShiftedFactors {
    n: usize,
    weights: Vec<f64>,
    /// `1 / D`, one row of shifts per index.
    pivots: Vec<Lanes>,
    /// Subdiagonal entries of `L`, one row of shifts per index.
    factors: Vec<Lanes>,
}

impl ShiftedFactors {
    vectorised! {
        /// Factors a tridiagonal matrix.
        /// * `diagonal`, `beside` — `n` entries each; `beside[i]` couples i and i + 1, and the last entry is 0
        pub fn of_tridiagonal(fractions: &Fractions, diagonal: &[f64], beside: &[f64]) -> ShiftedFactors {
            let mut shifted = ShiftedFactors::sized(fractions, diagonal.len());
            let blocks = shifted.blocks();
            for (block, shift) in fractions.shifts.as_chunks::<LANES>().0.iter().enumerate() {
                // Amount that the index before subtracts from the pivot.
                let mut taken = [0.0; LANES];
                for (i, (&entry, &coupling)) in diagonal.iter().zip(beside).enumerate() {
                    let (mut pivot, mut factor) = ([0.0; LANES], [0.0; LANES]);
                    for lane in 0..LANES {
                        pivot[lane] = 1.0 / ((entry + shift[lane]) - taken[lane]);
                        factor[lane] = coupling * pivot[lane];
                        taken[lane] = factor[lane] * coupling;
                    }
                    shifted.pivots[i * blocks + block] = pivot;
                    shifted.factors[i * blocks + block] = factor;
                }
            }
            shifted
        }
    }

    vectorised! {
        /// Factors `B^T B` for a lower bidiagonal `B`.
        ///
        /// `B` has these entries on its diagonal and, `below[i]` in row i + 1, below the diagonal. All sums have positive
        /// terms, so small singular values keep their digits.
        pub fn of_bidiagonal(fractions: &Fractions, diagonal: &[f64], below: &[f64]) -> ShiftedFactors {
            let mut shifted = ShiftedFactors::sized(fractions, diagonal.len());
            let (n, blocks) = (diagonal.len(), shifted.blocks());
            for (block, shift) in fractions.shifts.as_chunks::<LANES>().0.iter().enumerate() {
                // t_0 = s + d_0²; D_i = t_i + e_i²; t_(i+1) = s + d_(i+1)² t_i / D_i.
                let mut share = [1.0; LANES];
                for i in 0..n {
                    let (square, next) = (diagonal[i] * diagonal[i], if i + 1 < n { below[i] } else { 0.0 });
                    let coupling = if i + 1 < n { next * diagonal[i + 1] } else { 0.0 };
                    let (mut pivot, mut factor) = ([0.0; LANES], [0.0; LANES]);
                    for lane in 0..LANES {
                        let rest = shift[lane] + square * share[lane];
                        pivot[lane] = 1.0 / (rest + next * next);
                        share[lane] = rest * pivot[lane];
                        factor[lane] = coupling * pivot[lane];
                    }
                    shifted.pivots[i * blocks + block] = pivot;
                    shifted.factors[i * blocks + block] = factor;
                }
            }
            shifted
        }
    }

    fn sized(fractions: &Fractions, n: usize) -> Self {
        let blocks = fractions.weights.len() / LANES;
        let zeros = vec![[0.0; LANES]; n * blocks];
        Self { n, weights: fractions.weights.clone(), pivots: zeros.clone(), factors: zeros }
    }

    fn blocks(&self) -> usize {
        self.weights.len() / LANES
    }

    /// Writes `(M + s_j I)^{-1} x`.
    pub fn solve(&self, j: usize, x: &[f64], out: &mut [f64]) {
        let (blocks, block, lane) = (self.blocks(), j / LANES, j % LANES);
        let mut before = 0.0;
        for (i, (out, x)) in out.iter_mut().zip(x).enumerate() {
            *out = x - before;
            before = self.factors[i * blocks + block][lane] * *out;
        }
        let mut after = 0.0;
        for (i, out) in out.iter_mut().enumerate().rev() {
            let at = i * blocks + block;
            after = *out * self.pivots[at][lane] - self.factors[at][lane] * after;
            *out = after;
        }
    }

    /// Multiplies vectors in lanes by `M^{-1/2}`; `work` has three vectors for each index.
    #[inline(always)]
    pub fn apply<S: Simd>(&self, simd: S, entries: &mut [[S::f64s; 2]], work: &mut [[S::f64s; 2]]) {
        let (n, n_shifts) = (self.n, self.weights.len());
        let zero = simd.splat_f64s(0.0);
        let (sums, work) = work.split_at_mut(n);
        let solved = &mut work.as_chunks_mut::<TOGETHER>().0[..n];
        let (pivots, factors) = (self.pivots.as_flattened(), self.factors.as_flattened());
        sums.fill([zero; 2]);
        for shift in (0..n_shifts).step_by(TOGETHER) {
            let weights = &self.weights[shift..shift + TOGETHER];
            // Minus the factor of the index before, and the solutions there.
            let (mut before, mut current) = ([zero; TOGETHER], [[zero; 2]; TOGETHER]);
            for ((entry, out), factors) in entries.iter().zip(&mut *solved).zip(factors.chunks_exact(n_shifts)) {
                let factors = &factors[shift..shift + TOGETHER];
                for s in 0..TOGETHER {
                    for v in 0..2 {
                        current[s][v] = simd.mul_add_f64s(before[s], current[s][v], entry[v]);
                    }
                    before[s] = simd.splat_f64s(-factors[s]);
                }
                *out = current;
            }
            let mut after = [[zero; 2]; TOGETHER];
            let numbers = pivots.chunks_exact(n_shifts).zip(factors.chunks_exact(n_shifts));
            for ((sum, solved), (pivots, factors)) in sums.iter_mut().zip(&*solved).zip(numbers).rev() {
                let (pivots, factors) = (&pivots[shift..shift + TOGETHER], &factors[shift..shift + TOGETHER]);
                for s in 0..TOGETHER {
                    let (pivot, factor) = (simd.splat_f64s(pivots[s]), simd.splat_f64s(-factors[s]));
                    let weight = simd.splat_f64s(weights[s]);
                    for v in 0..2 {
                        after[s][v] = simd.mul_add_f64s(factor, after[s][v], simd.mul_f64s(solved[s][v], pivot));
                        sum[v] = simd.mul_add_f64s(weight, after[s][v], sum[v]);
                    }
                }
            }
        }
        entries.copy_from_slice(sums);
    }
}

#[cfg(test)]
mod tests {
    use super::super::together::{Step, Vectors, take};
    use super::*;

    #[test]
    fn roots_of_small_tridiagonal_matrices() {
        // [[2, 1], [1, 2]]: eigenvalues 1 and 3.
        let fractions = Fractions::of(0.5, 4.0).expect("a range");
        let root = ShiftedFactors::of_tridiagonal(&fractions, &[2.0, 2.0], &[1.0, 0.0]);
        let mut vectors = [1.0, 1.0, 1.0, -1.0];
        take(&[Step::Root(&root)], Vectors::Rows { values: &mut vectors, stride: 2 }, 2);
        let third = 1.0 / 3.0f64.sqrt();
        assert!(vectors.iter().zip([third, third, 1.0, -1.0]).all(|(a, b)| (a - b).abs() < 1e-14), "{vectors:?}");
        // B = [[1, 0], [1, 1]]: B^T B = [[2, 1], [1, 1]], and its inverse root applied twice is its inverse.
        let fractions = Fractions::of(0.1, 4.0).expect("a range");
        let root = ShiftedFactors::of_bidiagonal(&fractions, &[1.0, 1.0], &[1.0, 0.0]);
        let mut vectors = [2.0, 1.0, 1.0, 1.0];
        take(&[Step::Root(&root)], Vectors::Rows { values: &mut vectors, stride: 2 }, 2);
        take(&[Step::Root(&root)], Vectors::Rows { values: &mut vectors, stride: 2 }, 2);
        assert!(vectors.iter().zip([1.0, 0.0, 0.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-13), "{vectors:?}");
    }
}
