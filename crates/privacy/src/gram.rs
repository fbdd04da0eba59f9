//! Orders the sums that every private Gram mechanism releases, and adds items to them.
//!
//! [`crate::sums`] releases them for a bandit over features, [`crate::interactions`] for the arms of a contextual bandit; both
//! keep the running sums and their noise in [`crate::streams::PrefixSums`].

use crate::streams::Shape;

/// Says how noisy sums of `z z^T` and `y z` are ordered in one slice.
/// A bandit over features has one block; a contextual bandit has one block for each arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GramLayout {
    /// Number of blocks.
    pub n_blocks: usize,
    /// Number of features of a block.
    pub dimension: usize,
    /// True if all blocks share one matrix, false if each block has its own.
    pub joint: bool,
}

impl GramLayout {
    /// Returns the layout of one block.
    #[must_use]
    pub fn single(dimension: usize) -> Self {
        Self { n_blocks: 1, dimension, joint: true }
    }

    /// Returns the number of matrices.
    #[must_use]
    pub fn n_groups(self) -> usize {
        if self.joint { 1 } else { self.n_blocks }
    }

    /// Returns the number of rows of a matrix.
    #[must_use]
    pub fn n_rows(self) -> usize {
        if self.joint { self.n_blocks * self.dimension } else { self.dimension }
    }

    /// Returns the shape of all matrices with their vectors.
    pub(crate) fn shape(self) -> Shape {
        Shape::Blocks { count: self.n_groups(), rows: self.n_rows() }
    }

    /// Returns the number of entries of a matrix with its vector.
    fn n_entries(self) -> usize {
        Shape::Bordered(self.n_rows()).len()
    }

    /// Returns the number of entries of a packed upper triangle, row by row.
    fn n_gram(self) -> usize {
        Shape::Symmetric(self.n_rows()).len()
    }

    /// Returns the number of entries in all.
    #[must_use]
    pub fn len(self) -> usize {
        self.shape().len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the matrix that a block's features enter, and its first row there.
    #[must_use]
    pub fn place(self, block: usize) -> (usize, usize) {
        if self.joint { (0, block * self.dimension) } else { (block, 0) }
    }

    /// Returns the packed matrix and the vector of a group.
    #[must_use]
    pub fn group(self, entries: &[f64], group: usize) -> (&[f64], &[f64]) {
        let size = self.n_entries();
        entries[group * size..(group + 1) * size].split_at(self.n_gram())
    }

    /// Adds `z z^T` and `y z` for features in a block.
    pub fn add(self, entries: &mut [f64], block: usize, z: &[f64], y: f64) {
        let (group, first) = self.place(block);
        let (size, n) = (self.n_entries(), self.n_rows());
        let (gram, moment) = entries[group * size..(group + 1) * size].split_at_mut(self.n_gram());
        for (i, &x) in z.iter().enumerate() {
            let row = first + i;
            // Row r of the packed triangle starts at r n - r (r - 1)/2; its first entry is on the diagonal.
            let start = row * n - row * row.saturating_sub(1) / 2;
            gram[start..start + z.len() - i].iter_mut().zip(&z[i..]).for_each(|(entry, other)| *entry += x * other);
        }
        moment[first..first + z.len()].iter_mut().zip(z).for_each(|(entry, x)| *entry += y * x);
    }
}
