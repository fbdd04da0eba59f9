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

/// Takes the first `n` entries of every row of `rows` (`stride` long) through the steps.
///
/// No sum crosses lanes, so a vector has the same bits alone and among others, in lanes of any width.
pub fn take(steps: &[Step<'_>], rows: &mut [f64], n: usize, stride: usize) {
    if n > 0 {
        pulp::Arch::new().dispatch(Take { steps, rows, n, stride });
    }
}

struct Take<'a> {
    steps: &'a [Step<'a>],
    rows: &'a mut [f64],
    n: usize,
    stride: usize,
}

impl WithSimd for Take<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { steps, rows, n, stride } = self;
        let width = 2 * S::F64_LANES;
        let mut buffer = vec![0.0; n * width];
        let mut work = vec![0.0; 3 * n * width];
        for rows in rows.chunks_mut(width * stride) {
            for (lane, row) in rows.chunks_exact(stride).enumerate() {
                for (entry, &value) in buffer.chunks_exact_mut(width).zip(row) {
                    entry[lane] = value;
                }
            }
            let entries = S::as_mut_simd_f64s(&mut buffer).0.as_chunks_mut::<2>().0;
            let work = S::as_mut_simd_f64s(&mut work).0.as_chunks_mut::<2>().0;
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
            for (lane, row) in rows.chunks_exact_mut(stride).enumerate() {
                for (value, entry) in row.iter_mut().zip(buffer.chunks_exact(width)) {
                    *value = entry[lane];
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
        take(&steps, &mut wide, n, stride);
        Take { steps: &steps, rows: &mut narrow, n, stride }.with_simd(pulp::Scalar::new());
        assert_eq!(wide, narrow);
    }
}
