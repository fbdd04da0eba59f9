//! Holds the kernel columns of a block in f64 or in f32, and the errors that columns in f32 leave at each point.
//!
//! A round reads the columns of all visited points in every block that it scores, more than the caches hold, so that half the bytes
//! take half the time. Sums over columns are in f64 for both. Derivation: `docs/derivations/block-pruning.md`.

use super::kernels::{Entry, PART, TOGETHER, sums_of_part};

/// Bound on the rounding of an entry to f32, relative to the rounded entry, with that of the sum of these bounds.
pub const UNIT: f64 = f32::EPSILON as f64 * 0.5 * (1.0 + 1e-5);

/// Bound on the rounding of an entry below the normal numbers of f32, in parts of [`UNIT`].
const SUBNORMAL: f64 = 2e-38;

/// Kernel functions of the first visited points at a block's points: for each part of the points, column by column.
#[derive(Debug)]
pub enum Columns {
    Double(Vec<Vec<[f64; PART]>>),
    Single(Vec<Vec<[f32; PART]>>),
}

/// Runs an expression over the parts, whatever their entries are.
macro_rules! of_parts {
    ($columns:expr, $parts:ident => $value:expr) => {
        match $columns {
            Columns::Double($parts) => $value,
            Columns::Single($parts) => $value,
        }
    };
}

impl Default for Columns {
    fn default() -> Self {
        Self::Double(Vec::new())
    }
}

impl Columns {
    /// Removes all columns, and keeps the memory if it suits.
    pub fn start(&mut self, is_single: bool, n_parts: usize) {
        match self {
            Self::Double(_) if is_single => *self = Self::Single(Vec::new()),
            Self::Single(_) if !is_single => *self = Self::Double(Vec::new()),
            _ => {}
        }
        of_parts!(self, parts => {
            parts.resize_with(n_parts, Vec::new);
            parts.iter_mut().for_each(Vec::clear);
        });
    }

    pub fn is_single(&self) -> bool {
        matches!(self, Self::Single(_))
    }

    pub fn n(&self) -> usize {
        of_parts!(self, parts => parts.first().map_or(0, Vec::len))
    }

    /// Returns the bytes that are allocated.
    pub fn bytes(&self) -> usize {
        of_parts!(self, parts => parts.iter().map(bytes).sum())
    }

    /// Removes all columns and gives their memory back; `slice::fill` would keep it.
    pub fn release(&mut self) {
        of_parts!(self, parts => parts.iter_mut().for_each(|part| *part = Vec::new()));
    }

    /// Makes room for `new` further columns, by `more` at least where the memory grows.
    pub fn reserve(&mut self, new: usize, more: usize) {
        let short = |len: usize, capacity: usize| if capacity < len + new { new + more } else { 0 };
        of_parts!(self, parts => parts.iter_mut().for_each(|part| part.reserve_exact(short(part.len(), part.capacity()))));
    }

    pub fn push(&mut self, column: &[f64]) {
        of_parts!(self, parts => parts.iter_mut().zip(column.as_chunks().0).for_each(|(part, column)| part.push(rounded(column))));
    }

    /// Computes the sums of rows over a part, see [`sums_of_part`].
    #[inline(always)]
    pub fn sums(&self, part: usize, weights: &[&[f64]], out: &mut [[f64; PART]; TOGETHER]) {
        of_parts!(self, parts => sums_of_part(weights, &parts[part], out));
    }
}

fn bytes<T>(part: &Vec<T>) -> usize {
    size_of::<T>() * part.capacity()
}

#[inline(always)]
fn rounded<T: Entry>(column: &[f64; PART]) -> [T; PART] {
    column.map(T::of)
}

/// Bounds, for each point of a block, on what the rounding of columns to f32 adds to the errors of the screen.
#[derive(Debug, Default)]
pub struct PointErrors {
    /// Of `p` of the streak that was applied last, of the mean and of the posterior variance.
    pub p: Vec<f64>,
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
}

impl PointErrors {
    /// Returns to zeros.
    pub fn start(&mut self, n: usize) {
        for list in [&mut self.p, &mut self.mean, &mut self.variance] {
            list.clear();
            list.resize(n, 0.0);
        }
    }

    /// Takes the sums of the magnitudes of a group's terms over a part, where coefficients sum to `size` in magnitude.
    #[inline(always)]
    pub fn bound(&mut self, part: usize, magnitudes: &[f64; PART], size: f64, unit: f64) {
        let p = &mut self.p.as_chunks_mut().0[part];
        *p = magnitudes.map(|magnitude| unit * (magnitude + SUBNORMAL * size));
    }

    /// Adds what `mean += steps p` and `variance -= squares p²` add to the errors of a part.
    #[inline(always)]
    pub fn apply(&mut self, part: usize, p: &[f64; PART], squares: f64, steps: f64) {
        let errors = &self.p.as_chunks::<PART>().0[part];
        let (mean, variance) =
            (&mut self.mean.as_chunks_mut::<PART>().0[part], &mut self.variance.as_chunks_mut::<PART>().0[part]);
        for lane in 0..PART {
            mean[lane] += steps.abs() * errors[lane];
            variance[lane] += squares * errors[lane] * (2.0 * p[lane].abs() + errors[lane]);
        }
    }
}
