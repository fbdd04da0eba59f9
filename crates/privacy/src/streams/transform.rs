//! Computes `C x` row by row, for releases whose noise is added to it exactly.
//!
//! From `C x + z`, [`PrefixNoise`] then computes the release `A x + B z`. A transform holds raw rows.
//!
//! [`PrefixNoise`]: super::PrefixNoise

use std::fmt;

/// Computes `C x` of one stream.
pub trait RowTransform: fmt::Debug + Send {
    /// Takes the next row of x and passes on the rows of `C x` that it completes.
    /// They come in the order in which the noise is drawn.
    fn next(&mut self, row: &[f64], out: &mut dyn FnMut(&[f64]));

    /// Returns how many rows of `C x` one row of x changes, if they are not integers for integer x.
    /// Their rounding needs additional noise. 0 for transforms that keep integers.
    fn fractional(&self) -> u64;

    /// Bounds the rounding error of an entry of `C x` in f64.
    /// Sums of magnitudes of x must stay below `largest`.
    fn rounding_error(&self, largest: f64) -> f64;
}

/// Sums the nodes of a binary tree: those that prefixes use, or all complete nodes.
#[derive(Debug)]
pub(super) struct TreeRows {
    round: u64,
    /// Last node at each level that is not a right child.
    levels: Vec<Vec<f64>>,
    all: bool,
}

impl TreeRows {
    pub(super) fn new(levels: u32, length: usize, all: bool) -> Self {
        Self { round: 0, levels: vec![vec![0.0; length]; levels as usize], all }
    }
}

impl RowTransform for TreeRows {
    fn next(&mut self, row: &[f64], out: &mut dyn FnMut(&[f64])) {
        self.round += 1;
        let level = self.round.trailing_zeros() as usize;
        if self.levels.len() <= level {
            self.levels.resize(level + 1, vec![0.0; row.len()]);
        }
        let mut node = row.to_vec();
        for left in &self.levels[..level] {
            if self.all {
                out(&node);
            }
            node.iter_mut().zip(left).for_each(|(sum, left)| *sum += left);
        }
        out(&node);
        self.levels[level] = node;
    }

    fn fractional(&self) -> u64 {
        0
    }

    /// Returns 0: sums of integers below 2^53 are exact.
    fn rounding_error(&self, _largest: f64) -> f64 {
        0.0
    }
}

/// Computes `x_t + sum_i omega_i s_i`, with `s_i <- theta_i s_i + x_t`.
#[derive(Debug)]
pub(super) struct TransformBuffers {
    theta: Vec<f64>,
    omega: Vec<f64>,
    rounds: u64,
    buffers: Vec<Vec<f64>>,
}

impl TransformBuffers {
    pub(super) fn new((theta, omega): (&[f64], &[f64]), rounds: u64, length: usize) -> Self {
        let buffers = vec![vec![0.0; length]; theta.len()];
        Self { theta: theta.to_vec(), omega: omega.to_vec(), rounds, buffers }
    }
}

impl RowTransform for TransformBuffers {
    fn next(&mut self, row: &[f64], out: &mut dyn FnMut(&[f64])) {
        let mut sum = row.to_vec();
        for ((buffer, omega), theta) in self.buffers.iter_mut().zip(&self.omega).zip(&self.theta) {
            for ((sum, buffer), x) in sum.iter_mut().zip(buffer).zip(row) {
                *sum += omega * *buffer;
                *buffer = theta * *buffer + x;
            }
        }
        out(&sum);
    }

    fn fractional(&self) -> u64 {
        self.rounds
    }

    /// Bounds the rounding error by that of the buffers and of the sum over them.
    /// With u the rounding unit and V the bound, a buffer gains an error of at most `2 u V` per round, of which the share theta
    /// remains in the next; the sum over the buffers rounds each product and each addition.
    fn rounding_error(&self, largest: f64) -> f64 {
        let unit = 0.51 * f64::EPSILON * largest;
        let kept = |theta: f64| (1.0 / (1.0 - theta)).min(self.rounds as f64);
        let parts = self.theta.iter().zip(&self.omega);
        parts.map(|(theta, omega)| unit * (omega * (2.0 * kept(*theta) + 1.0) + 2.0)).sum()
    }
}

/// Computes `sum_k c_k x_(t - k)`, with all rows stored.
#[derive(Debug)]
pub(super) struct Kept {
    coefficients: Vec<f64>,
    length: usize,
    rows: Vec<Vec<f64>>,
}

impl Kept {
    pub(super) fn new(coefficients: Vec<f64>, length: usize) -> Self {
        Self { coefficients, length, rows: Vec::new() }
    }
}

impl RowTransform for Kept {
    fn next(&mut self, row: &[f64], out: &mut dyn FnMut(&[f64])) {
        self.rows.push(row.to_vec());
        let mut sum = vec![0.0; self.length];
        for (past, c) in self.rows.iter().rev().zip(&self.coefficients) {
            sum.iter_mut().zip(past).for_each(|(sum, x)| *sum += c * x);
        }
        out(&sum);
    }

    fn fractional(&self) -> u64 {
        self.coefficients.len() as u64
    }

    /// Bounds the rounding of one addition and one product per row; no coefficient exceeds 1.
    fn rounding_error(&self, largest: f64) -> f64 {
        0.51 * f64::EPSILON * largest * (self.coefficients.len() as f64 + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::accounting::sensitivity::Participation;
    use crate::streams::Factorisation;
    use crate::streams::blt::Blt;
    use crate::streams::toeplitz::SquareRoot;

    /// Checks the bound on the rounding error for sums of rows near 2^53.
    /// The error exceeds a quarter of a step, where rounding to integers costs half a step, and stays within the bound:
    /// `C (x + d) - C x` is compared with `C d`, which is small and nearly exact.
    #[test]
    fn rounding_errors_of_large_sums_are_bounded() {
        for (rounds, factorisation) in
            [(64, &Blt::fitted(64, Participation::ONCE) as &dyn Factorisation), (64, &SquareRoot::new(64))]
        {
            let rows = |moved: f64| -> Vec<f64> {
                let mut transform = factorisation.transform(1).expect("an exact form");
                let mut sums = Vec::new();
                for t in 0..rounds {
                    let large = if t == 0 { 7_654_321_987_654_321.0 } else { 1e12 + f64::from(t * t % 17) };
                    transform
                        .next(&[if moved < 0.0 { f64::from(t % 5) } else { large + moved * f64::from(t % 5) }], &mut |row| {
                            sums.push(row[0])
                        });
                }
                sums
            };
            let (plain, moved, difference) = (rows(0.0), rows(1.0), rows(-1.0));
            let errors =
                plain.iter().zip(&moved).zip(&difference).map(|((plain, moved), difference)| (moved - plain - difference).abs());
            let worst = errors.fold(0.0, f64::max);
            let stated = 2.0 * factorisation.transform(1).expect("an exact form").rounding_error(8e15);
            assert!(0.25 < worst && worst < stated, "{}: {worst} of {stated}", factorisation.name());
        }
    }
}
