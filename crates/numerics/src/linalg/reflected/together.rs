//! Vectors that take the same steps together, one in each SIMD lane.

use super::reflections::Reflections;
use super::shifted::ShiftedFactors;
use pulp::{Simd, WithSimd};

/// A linear map of vectors.
pub enum Step<'a> {
    /// All reflections, in descending order if `last_first`, otherwise ascending.
    Reflect { reflections: &'a Reflections, last_first: bool },
    /// The inverse root.
    Root(&'a ShiftedFactors),
    /// `B`, lower bidiagonal; `below[i]` stands in row i + 1.
    Bidiagonal { diagonal: &'a [f64], below: &'a [f64] },
    /// `B^T`.
    BidiagonalTransposed { diagonal: &'a [f64], below: &'a [f64] },
}

/// Where vectors are stored.
pub enum Vectors<'a> {
    /// One in each row of `stride` numbers.
    Rows { values: &'a mut [f64], stride: usize },
    /// One in each column; rows have an even length `stride`.
    Columns { values: &'a mut [f64], stride: usize },
}

/// Takes vectors of `n` entries through the steps.
///
/// No sum crosses lanes, so a vector has the same bits alone and among others, in lanes of any width.
pub fn take(steps: &[Step<'_>], vectors: Vectors<'_>, n: usize) {
    if n > 0 {
        pulp::Arch::new().dispatch(Take { steps, vectors, n });
    }
}

struct Take<'a> {
    steps: &'a [Step<'a>],
    vectors: Vectors<'a>,
    n: usize,
}

impl WithSimd for Take<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { steps, vectors, n } = self;
        let width = 2 * S::F64_LANES;
        let (mut buffer, mut work) = (vec![0.0; n * width], vec![0.0; 3 * n * width]);
        match vectors {
            Vectors::Rows { values, stride } => {
                for rows in values.chunks_mut(width * stride) {
                    for (lane, row) in rows.chunks_exact(stride).enumerate() {
                        buffer.chunks_exact_mut(width).zip(row).for_each(|(entry, &value)| entry[lane] = value);
                    }
                    take_lanes(simd, steps, &mut buffer, &mut work);
                    for (lane, row) in rows.chunks_exact_mut(stride).enumerate() {
                        row.iter_mut().zip(buffer.chunks_exact(width)).for_each(|(value, entry)| *value = entry[lane]);
                    }
                }
            }
            Vectors::Columns { values, stride } => {
                debug_assert!(stride.is_multiple_of(2));
                for first in (0..stride).step_by(width) {
                    let columns = first..(first + width).min(stride);
                    let entries = buffer.chunks_exact_mut(width).zip(values.chunks_exact(stride));
                    entries.for_each(|(entry, row)| copy_lanes(&row[columns.clone()], entry));
                    take_lanes(simd, steps, &mut buffer, &mut work);
                    let entries = buffer.chunks_exact(width).zip(values.chunks_exact_mut(stride));
                    entries.for_each(|(entry, row)| copy_lanes(entry, &mut row[columns.clone()]));
                }
            }
        }
    }
}

/// Copies pairs of lanes, as many as both have: short copies of unknown length would cost a call each.
#[inline(always)]
fn copy_lanes(from: &[f64], to: &mut [f64]) {
    to.as_chunks_mut::<2>().0.iter_mut().zip(from.as_chunks::<2>().0).for_each(|(to, from)| *to = *from);
}

/// Takes the vectors in the lanes of `buffer` through the steps; `work` is three times as long.
#[inline(always)]
fn take_lanes<S: Simd>(simd: S, steps: &[Step<'_>], buffer: &mut [f64], work: &mut [f64]) {
    let entries = S::as_mut_simd_f64s(buffer).0.as_chunks_mut::<2>().0;
    let work = S::as_mut_simd_f64s(work).0.as_chunks_mut::<2>().0;
    let n = entries.len();
    for step in steps {
        match step {
            Step::Reflect { reflections, last_first } => reflections.apply(simd, entries, *last_first),
            Step::Root(shifted) => shifted.apply(simd, entries, work),
            Step::Bidiagonal { diagonal, below } => {
                for k in (0..n).rev() {
                    let beside = k.checked_sub(1).map(|before| (below[before], entries[before]));
                    entries[k] = two_terms(simd, diagonal[k], entries[k], beside);
                }
            }
            Step::BidiagonalTransposed { diagonal, below } => {
                for k in 0..n {
                    let beside = entries.get(k + 1).map(|after| (below[k], *after));
                    entries[k] = two_terms(simd, diagonal[k], entries[k], beside);
                }
            }
        }
    }
}

/// Returns `factor own` plus, where there is one, the other entry multiplied by its factor.
#[inline(always)]
fn two_terms<S: Simd>(simd: S, factor: f64, own: [S::f64s; 2], beside: Option<(f64, [S::f64s; 2])>) -> [S::f64s; 2] {
    let factor = simd.splat_f64s(factor);
    let [a, b] = [simd.mul_f64s(factor, own[0]), simd.mul_f64s(factor, own[1])];
    let Some((factor, [c, d])) = beside else { return [a, b] };
    let factor = simd.splat_f64s(factor);
    [simd.mul_add_f64s(factor, c, a), simd.mul_add_f64s(factor, d, b)]
}

#[cfg(test)]
mod tests {
    use super::super::{InverseRoot, Polar, padded_length};
    use super::*;
    use crate::rng::{Purpose, Streams};

    /// Rows of one matrix, and their images under a root and a polar factor, by this dispatch.
    fn images(rows: &[f64], n: usize) -> Vec<f64> {
        let mut stream = Streams::new(29, "together").of(n as u64, Purpose::Function);
        let mut lower = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                lower[i * n + j] = if i == j { 1.0 } else { 0.3 * stream.normal() };
            }
        }
        let entry = |e: usize| {
            let (i, j) = (e / n, e % n);
            (0..n).map(|k| lower[i * n + k] * lower[j * n + k]).sum::<f64>() + if i == j { 2.0 } else { 0.0 }
        };
        let symmetric: Vec<f64> = (0..n * n).map(entry).collect();
        let mut rows = rows.to_vec();
        InverseRoot::of(&symmetric, n, 1.5).expect("finite").apply(&mut rows);
        let polar = Polar::of(&lower, n).expect("invertible");
        polar.apply(&mut rows);
        polar.apply_transposed(&mut rows);
        rows
    }

    #[test]
    fn a_row_alone_has_the_bits_it_has_among_others() {
        for n in [1, 2, 7, 8, 19] {
            let stride = padded_length(n);
            let mut stream = Streams::new(31, "rows").of(n as u64, Purpose::Function);
            let rows: Vec<f64> = (0..37 * stride).map(|e| if e % stride < n { stream.normal() } else { 0.0 }).collect();
            let all = images(&rows, n);
            for (row, image) in rows.chunks_exact(stride).zip(all.chunks_exact(stride)) {
                assert_eq!(images(row, n), image, "{n}");
            }
        }
    }

    #[test]
    fn lanes_of_any_width_give_the_same_bits() {
        let n = 9;
        let mut reflections = Reflections::none(n);
        for k in 0..n {
            let row = reflections.row_mut(k, k + 1);
            row.iter_mut().enumerate().for_each(|(i, entry)| *entry = libm::sin((3 * i + k) as f64));
            reflections.make(k, k + 1, 1.0);
        }
        reflections.pair();
        let diagonal: Vec<f64> = (0..n).map(|i| 2.0 + i as f64).collect();
        let below: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + i as f64)).collect();
        let fractions = super::super::Fractions::of(1.0, 400.0).expect("a range");
        let shifted = ShiftedFactors::of_bidiagonal(&fractions, &diagonal, &below);
        let steps = [
            Step::Reflect { reflections: &reflections, last_first: true },
            Step::Root(&shifted),
            Step::Bidiagonal { diagonal: &diagonal, below: &below },
            Step::BidiagonalTransposed { diagonal: &diagonal, below: &below },
            Step::Reflect { reflections: &reflections, last_first: false },
        ];
        let stride = padded_length(n);
        let rows: Vec<f64> = (0..21 * stride).map(|e| if e % stride < n { libm::cos(e as f64) } else { 0.0 }).collect();
        let (mut wide, mut narrow) = (rows.clone(), rows);
        let mut columns: Vec<f64> = (0..n * 24).map(|e| wide.get(e % 24 * stride + e / 24).copied().unwrap_or(0.0)).collect();
        take(&steps, Vectors::Rows { values: &mut wide, stride }, n);
        Take { steps: &steps, vectors: Vectors::Rows { values: &mut narrow, stride }, n }.with_simd(pulp::Scalar::new());
        assert_eq!(wide, narrow);
        let mut narrow = columns.clone();
        take(&steps, Vectors::Columns { values: &mut columns, stride: 24 }, n);
        Take { steps: &steps, vectors: Vectors::Columns { values: &mut narrow, stride: 24 }, n }.with_simd(pulp::Scalar::new());
        assert_eq!(columns, narrow);
        assert!((0..21 * n).all(|e| columns[e % n * 24 + e / n] == wide[e / n * stride + e % n]), "columns");
    }
}
