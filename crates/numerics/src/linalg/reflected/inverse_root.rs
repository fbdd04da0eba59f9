//! The symmetric inverse square root of a matrix.

use super::super::columns::Columns;
use super::super::dot::{LANES, sum_of};
use super::Fractions;
use super::reflections::{Reflections, bound, fused, fused_add, fused_dot, fused_scaled, largest, padded_length};
use super::shifted::ShiftedFactors;
use super::together::{Step, Vectors, take};
use crate::vectorised;

/// Smallest bound of the eigenvalues with which a condition is computed.
///
/// Below it squares of entries may underflow.
const LEAST_CONDITIONED: f64 = 1e-140;

/// The symmetric `A^{-1/2}`.
#[derive(Debug, Clone)]
pub struct InverseRoot {
    reflections: Reflections,
    fractions: Fractions,
    shifted: ShiftedFactors,
}

impl InverseRoot {
    /// Computes the root of a symmetric matrix (`n x n`, row-major), eigenvalues >= `least` > 0.
    ///
    /// Entries above the diagonal must be finite, and do not enter the root.
    ///
    /// `None` if the matrix or its form is not finite, or if its eigenvalues may be 2^128 times as large as `least`.
    pub fn of(a: &[f64], n: usize, least: f64) -> Option<Self> {
        let form = TridiagonalForm::of(a, n)?;
        let most = form.most().max(least);
        form.root(least, most)
    }

    /// Computes the root of a symmetric matrix whose largest eigenvalue is at most `ratio` times its least.
    ///
    /// * `ratio` — a power of two
    ///
    /// `None` where a bound of the largest by Gershgorin's circles leaves that open, and where squares of entries underflow.
    pub fn of_conditioned(a: &[f64], n: usize, ratio: f64) -> Option<Self> {
        let form = TridiagonalForm::of(a, n)?;
        let most = form.most();
        if most < LEAST_CONDITIONED {
            return None;
        }
        let mut divisor = 2.0;
        while divisor < ratio && !form.exceeds(most / divisor) {
            divisor *= 2.0;
        }
        let least = most / divisor;
        if form.exceeds(least) { form.root(least, most) } else { None }
    }

    /// Replaces every row `x` by `A^{-1/2} x`.
    pub fn apply(&self, rows: &mut [f64]) {
        self.take(Vectors::Rows { values: rows, stride: self.reflections.stride() });
    }

    /// Replaces every column `x` by `A^{-1/2} x`.
    pub fn apply_to_columns(&self, columns: &mut Columns) {
        debug_assert_eq!(columns.n_rows(), self.reflections.n());
        let stride = columns.stride();
        self.take(Vectors::Columns { values: columns.values_mut(), stride });
    }

    /// Returns the fractions of the root.
    pub fn fractions(&self) -> &Fractions {
        &self.fractions
    }

    /// Returns `(A + s_j I)^{-1} x` in row j, for the shifts `s_j` of the fractions.
    pub fn resolvents(&self, x: &[f64]) -> Columns {
        let (n, mut x) = (self.reflections.n(), x.to_vec());
        take(&[self.reflect(true)], Vectors::Rows { values: &mut x, stride: n }, n);
        let mut rows = Columns::zeros(self.fractions.shifts.len(), n);
        for j in 0..rows.n_rows() {
            self.shifted.solve(j, &x, rows.row_mut(j));
        }
        let stride = rows.stride();
        take(&[self.reflect(false)], Vectors::Rows { values: rows.values_mut(), stride }, n);
        rows
    }

    fn take(&self, vectors: Vectors<'_>) {
        let steps = [self.reflect(true), Step::Root(&self.shifted), self.reflect(false)];
        take(&steps, vectors, self.reflections.n());
    }

    fn reflect(&self, last_first: bool) -> Step<'_> {
        Step::Reflect { reflections: &self.reflections, last_first }
    }
}

/// A symmetric matrix as reflections around a tridiagonal one.
struct TridiagonalForm {
    reflections: Reflections,
    diagonal: Vec<f64>,
    /// Couplings of i and i + 1; the last entry is 0.
    beside: Vec<f64>,
}

impl TridiagonalForm {
    /// `None` if the matrix or its form is not finite.
    fn of(a: &[f64], n: usize) -> Option<Self> {
        debug_assert_eq!(a.len(), n * n);
        let (mut reflections, mut diagonal, mut beside) = (Reflections::none(n), vec![0.0; n], vec![0.0; n]);
        let scale = largest(a)?;
        tridiagonalize(&mut Columns::of_rows(a, n), scale, &mut reflections, &mut diagonal, &mut beside);
        if diagonal.iter().chain(&beside).any(|entry| !entry.is_finite()) {
            return None;
        }
        reflections.pair();
        Some(Self { reflections, diagonal, beside })
    }

    /// Returns an upper bound of the eigenvalues; 1 for a matrix without entries.
    fn most(&self) -> f64 {
        if self.diagonal.is_empty() { 1.0 } else { bound(&self.diagonal, &self.beside) }
    }

    /// Returns whether every eigenvalue is above `shift`, up to rounding.
    ///
    /// They are where the pivots of the shifted matrix are positive.
    fn exceeds(&self, shift: f64) -> bool {
        let mut taken = 0.0;
        self.diagonal.iter().zip(&self.beside).all(|(entry, coupling)| {
            let pivot = (entry - shift) - taken;
            taken = coupling * coupling / pivot;
            0.0 < pivot
        })
    }

    fn root(self, least: f64, most: f64) -> Option<InverseRoot> {
        let fractions = Fractions::of(least, most)?;
        let shifted = ShiftedFactors::of_tridiagonal(&fractions, &self.diagonal, &self.beside);
        Some(InverseRoot { reflections: self.reflections, fractions, shifted })
    }
}

vectorised! {
    fn tridiagonalize(a: &mut Columns, scale: f64, reflections: &mut Reflections, diagonal: &mut [f64], beside: &mut [f64]) {
        let (n, stride) = (a.n(), a.stride());
        // The reflection before: its vector v and w, for the update `A - v w^T - w v^T` that is due. Products of the
        // updated matrix with the next vector: below the diagonal row by row, above it column by column.
        let (mut v, mut w) = (vec![0.0; stride], vec![0.0; stride]);
        let (mut next, mut above) = (vec![0.0; stride], vec![0.0; stride]);
        for k in (0..n).rev() {
            let (rest, row) = a.values_mut().split_at_mut(k * stride);
            for (entry, (v_j, w_j)) in row[..=k].iter_mut().zip(v.iter().zip(&w)) {
                *entry = f64::mul_add(-v[k], *w_j, f64::mul_add(-w[k], *v_j, *entry));
            }
            diagonal[k] = row[k];
            if k == 0 {
                break;
            }
            // Reflection k - 1 acts on entries 0..k.
            reflections.row_mut(k - 1, k).copy_from_slice(&row[..k]);
            beside[k - 1] = reflections.make(k - 1, k, scale).0;
            let (factor, size) = (reflections.factor(k - 1), padded_length(k + 1));
            let y = reflections.vector(k - 1, size);
            above[..size].fill(0.0);
            let vectors = [&v[..size], &w[..size], y];
            // Each row is updated and multiplied by the new vector while it is in a register.
            let mut fours = rest.chunks_exact_mut(4 * stride);
            let mut i = 0;
            for four in &mut fours {
                let (one, four) = four.split_at_mut(stride);
                let (two, four) = four.split_at_mut(stride);
                let (three, four) = four.split_at_mut(stride);
                let sums = below_rows([one, two, three, four], i, vectors, &mut above[..size]);
                next[i..i + 4].copy_from_slice(&sums);
                i += 4;
            }
            for line in fours.into_remainder().chunks_exact_mut(stride) {
                [next[i]] = below_rows([line], i, vectors, &mut above[..size]);
                i += 1;
            }
            v[..size].copy_from_slice(y);
            if factor == 0.0 {
                w.fill(0.0);
                continue;
            }
            for ((w, below), above) in w[..k].iter_mut().zip(&next).zip(&above) {
                *w = factor * (below + above);
            }
            w[k..].fill(0.0);
            let along = 0.5 * factor * fused_dot(&w[..size], y);
            fused_add(&mut w[..size], -along, y);
        }
    }
}

/// Updates rows `first..` left of the diagonal and on it, and returns their products with `y`.
///
/// Adds to `above` what the entries left of the diagonal multiply there, as those of its mirror image.
#[inline(always)]
fn below_rows<const R: usize>(rows: [&mut [f64]; R], first: usize, vectors: [&[f64]; 3], above: &mut [f64]) -> [f64; R] {
    let [v, w, y] = vectors.map(|vector| vector.as_chunks::<LANES>().0);
    let above = above.as_chunks_mut::<LANES>().0;
    let mut rows = rows.map(|row| row.as_chunks_mut::<LANES>().0);
    let (whole, mut sums) = (first / LANES, [[0.0; LANES]; R]);
    let entries: [[f64; 3]; R] = std::array::from_fn(|r| {
        let at = first + r;
        [-v[at / LANES][at % LANES], -w[at / LANES][at % LANES], y[at / LANES][at % LANES]]
    });
    for row in &mut rows {
        *row = &mut std::mem::take(row)[..=whole];
    }
    let (v, w, y, above) = (&v[..=whole], &w[..=whole], &y[..=whole], &mut above[..=whole]);
    for block in 0..whole {
        let mut mirrored = above[block];
        for r in 0..R {
            let [v_i, w_i, y_i] = entries[r];
            let new = fused_scaled(v_i, &w[block], fused_scaled(w_i, &v[block], rows[r][block]));
            rows[r][block] = new;
            sums[r] = fused(&new, &y[block], sums[r]);
            mirrored = fused_scaled(y_i, &new, mirrored);
        }
        above[block] = mirrored;
    }
    // The block of the diagonal: entries right of it stay zero, the diagonal has no mirror image.
    for r in 0..R {
        let ([v_i, w_i, y_i], diagonal) = (entries[r], (first + r) % LANES);
        let mut new = fused_scaled(v_i, &w[whole], fused_scaled(w_i, &v[whole], rows[r][whole]));
        for (lane, entry) in new.iter_mut().enumerate() {
            *entry = if diagonal < lane { 0.0 } else { *entry };
        }
        rows[r][whole] = new;
        sums[r] = fused(&new, &y[whole], sums[r]);
        for (lane, entry) in new.iter_mut().enumerate() {
            *entry = if diagonal == lane { 0.0 } else { *entry };
        }
        above[whole] = fused_scaled(y_i, &new, above[whole]);
    }
    sums.map(sum_of)
}

#[cfg(test)]
mod tests {
    use super::super::reflections::identity;
    use super::*;
    use crate::linalg::{dot, eigen_symmetric};
    use crate::rng::{Purpose, Streams};

    fn rows_of(vectors: &[f64], n: usize) -> Vec<f64> {
        vectors.chunks_exact(padded_length(n).max(1)).flat_map(|row| row[..n].to_vec()).collect()
    }

    /// Returns B B^T + least I.
    fn positive(n: usize, rank: usize, least: f64) -> Vec<f64> {
        let mut stream = Streams::new(23, "reflected").of((100 * n + rank) as u64, Purpose::Function);
        let b: Vec<f64> = (0..n * rank).map(|_| 10.0 * stream.normal()).collect();
        let entry = |i: usize, j: usize| dot(&b[i * rank..(i + 1) * rank], &b[j * rank..(j + 1) * rank]);
        (0..n * n).map(|e| entry(e / n, e % n) + if e / n == e % n { least } else { 0.0 }).collect()
    }

    #[test]
    fn a_root_is_found_where_eigenvalues_are_near_enough() {
        for n in [0, 1, 5, 20] {
            // Eigenvalues 1, 2, …, n.
            let a: Vec<f64> = (0..n * n).map(|e| if e / n == e % n { 1.0 + (e / n) as f64 } else { 0.0 }).collect();
            let root = InverseRoot::of_conditioned(&a, n, 64.0).expect("conditioned");
            let mut columns = Columns::zeros(n, n);
            (0..n).for_each(|i| columns.row_mut(i)[i] = 1.0);
            root.apply_to_columns(&mut columns);
            for (i, j) in (0..n * n).map(|e| (e / n, e % n)) {
                let expected = if i == j { 1.0 / (1.0 + i as f64).sqrt() } else { 0.0 };
                assert!((columns.row(i)[j] - expected).abs() < 1e-14, "{n}: {i} {j}");
            }
        }
        assert!(InverseRoot::of_conditioned(&[1e-150, 0.0, 0.0, 1e-150], 2, 16.0).is_none(), "squares underflow");
        for (least, found) in [(0.5, true), (0.1, true), (0.01, false), (0.0, false), (-1.0, false)] {
            assert_eq!(InverseRoot::of_conditioned(&[1.0, 0.0, 0.0, least], 2, 16.0).is_some(), found, "{least}");
        }
    }

    #[test]
    fn resolvents_solve_their_equations() {
        for n in [1, 7, 20] {
            let a = positive(n, n, 3.0);
            let root = InverseRoot::of(&a, n, 3.0).expect("finite");
            let x: Vec<f64> = (0..n).map(|i| libm::sin(i as f64 + 0.5)).collect();
            let resolvents = root.resolvents(&x);
            for (j, shift) in root.fractions().shifts.iter().enumerate() {
                let row = resolvents.row(j);
                for i in 0..n {
                    let found = dot(&a[i * n..(i + 1) * n], row) + shift * row[i];
                    assert!((found - x[i]).abs() < 1e-12, "{n} {shift}: {found} for {}", x[i]);
                }
            }
        }
    }

    #[test]
    fn the_root_agrees_with_eigenvectors() {
        for n in [0, 1, 2, 3, 7, 8, 9, 20, 33] {
            for rank in [0, 1, n] {
                let a = positive(n, rank, 3.0);
                let expected = eigen_symmetric(&a, n).expect("converges").function(|value| 1.0 / value.max(3.0).sqrt());
                let mut found = identity(n);
                InverseRoot::of(&a, n, 3.0).expect("finite").apply(&mut found);
                let found = rows_of(&found, n);
                assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{n}, rank {rank}");
            }
        }
        assert!(InverseRoot::of(&[f64::NAN], 1, 1.0).is_none());
        assert!(InverseRoot::of_conditioned(&[f64::NAN], 1, 1e3).is_none());
        assert!(InverseRoot::of(&[1e300, 1e300, 1e300, 1e300], 2, 1.0).is_none(), "squares overflow");
        // Squares of entries that underflow.
        let mut small = identity(2);
        InverseRoot::of(&[1e-200, 0.0, 0.0, 1e-200], 2, 1e-200).expect("finite").apply(&mut small);
        assert!((small[0] * 1e-100 - 1.0).abs() < 1e-13 && small[1] == 0.0, "{small:?}");
    }
}
