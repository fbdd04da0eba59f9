//! Interleaves the rounded factors of sixteen trials: for each entry, a vector of one number per trial.
//!
//! A vector fills one cache line.

use privateer_gp::score::{Factor, VarianceForm};
use privateer_numerics::linalg::sum_of_squares;

/// Rows of a factor in a tile.
pub const ROWS: usize = 4;

/// Number of interleaved trials.
pub const LANES: usize = 16;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C, align(64))]
pub struct Sixteen(pub [f32; LANES]);

impl Sixteen {
    pub const ZERO: Self = Self([0.0; LANES]);
}

/// Returns the index of the first entry of row block `block`; a block has four rows.
pub const fn block_place(block: usize) -> usize {
    ROWS * ROWS * block * (block + 1) / 2
}

/// The rounded factors of up to sixteen trials; unused SIMD lanes are zero.
#[derive(Debug, Clone, Default)]
pub struct FactorLanes {
    /// Rows of `R`, four at a time, column by column up to the last diagonal entry of the four.
    ///
    /// They are padded with zero rows, and with zero columns to a multiple of four.
    pub rows: Vec<Sixteen>,
    /// One per feature.
    pub weights: Vec<Sixteen>,
    /// Norms of each trial's factor before rounding.
    pub norms: [FactorNorms; LANES],
}

/// Bounds on norms of a factor relative to a multiple `s >= 0` of the identity, and its weights.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FactorNorms {
    /// `s` itself.
    pub centre: f64,
    /// `|R - s I|_F`.
    pub rows: f64,
    /// `|R^T R - s² I|_F`.
    pub form: f64,
    /// `|w|`.
    pub weights: f64,
}

/// Returns whether this is a factor over `n` features with an added variance.
pub fn usable(factor: &Factor<'_>, n: usize) -> bool {
    factor.variance == VarianceForm::Added && factor.weights.len() == n
}

impl FactorLanes {
    /// Rounds and interleaves factors over `n` features, whose rows are lower triangular; others leave their SIMD lane unused.
    pub fn fill(&mut self, factors: &[&Factor<'_>], n: usize) {
        let zeros = vec![0.0; n * n];
        let usable: [Option<&Factor<'_>>; LANES] =
            std::array::from_fn(|lane| factors.get(lane).copied().filter(|factor| usable(factor, n)));
        self.norms = usable.map(|factor| factor.map_or_else(FactorNorms::default, |factor| FactorNorms::of(factor, n)));
        let weights: [&[f64]; LANES] = usable.map(|factor| factor.map_or(&zeros[..n], |factor| &factor.weights[..]));
        self.weights.clear();
        self.weights.extend((0..n).map(|i| Sixteen(std::array::from_fn(|lane| weights[lane][i] as f32))));
        let rows: [&[f64]; LANES] = usable.map(|factor| factor.map_or(&zeros[..], |factor| &factor.rows[..n * n]));
        self.rows.resize(block_place(n.div_ceil(ROWS)), Sixteen::ZERO);
        for block in 0..n.div_ceil(ROWS) {
            let (first, length) = (block * ROWS, n.min((block + 1) * ROWS));
            let to = &mut self.rows[block_place(block)..block_place(block + 1)];
            for r in 0..ROWS.min(n - first) {
                // A row has zeros beyond its diagonal.
                let rows: [&[f64]; LANES] = rows.map(|rows| &rows[(first + r) * n..][..length]);
                for (j, to) in to.as_chunks_mut::<ROWS>().0[..length].iter_mut().enumerate() {
                    to[r] = Sixteen(std::array::from_fn(|lane| rows[lane][j] as f32));
                }
            }
        }
    }
}

impl FactorNorms {
    /// Computes norms about the mean `s` of the diagonal of `R`, or about zero where that gives no smaller bound.
    ///
    /// With `N = R - s I`, `|N|_F² = |R|_F² - 2 s tr R + n s²`, and `R^T R - s² I = s (N + N^T) + N^T N`, where
    /// `|N + N^T|_F² = 2 |N|_F² + 2 |diag N|²` as `N` is triangular.
    fn of(factor: &Factor<'_>, n: usize) -> Self {
        // Sums of squares in f64: their own rounding is far below the factor.
        let up = 1.0 + 1e-9;
        let weights = sum_of_squares(&factor.weights).sqrt() * up;
        let square = factor.squares();
        let diagonal = || (0..n).map(|i| factor.rows[i * n + i]);
        let trace: f64 = diagonal().sum();
        let (n, centre) = (n as f64, (trace / n.max(1) as f64).max(0.0));
        let apart: f64 = diagonal().map(|entry| (entry - centre) * (entry - centre)).sum();
        // Each of the three terms is at most twice the square, and sums of `n²` numbers carry `n² u` of theirs.
        let rounded = 4.0 * (n * n + 8.0) * f64::EPSILON * square;
        let about = (square - 2.0 * centre * trace + n * centre * centre).max(0.0) + rounded;
        let form = (centre * (2.0 * (about + apart)).sqrt() + about) * up;
        if form < square {
            Self { centre, rows: about.sqrt() * up, form, weights }
        } else {
            Self { centre: 0.0, rows: square.sqrt() * up, form: square * up, weights }
        }
    }
}
