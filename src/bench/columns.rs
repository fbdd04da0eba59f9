//! The factor of one trial, taken out of its lane for exact scores.

use crate::linalg::{Eight, TILE, dot};
use pulp::NullaryFnOnce;

/// `R` by columns, four at a time, each from the first row of the tile on the diagonal to the last; and the weights.
#[derive(Debug)]
pub struct Columns {
    n: usize,
    values: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Columns {
    /// Of one lane of panels, see `linalg::place`.
    pub fn of(panels: &[Eight], lane: usize, n: usize, weights: Vec<f64>) -> Self {
        let padded = n.next_multiple_of(TILE);
        let mut values = vec![0.0; padded * (2 * n + TILE - padded) / 2];
        let mut to = &mut values[..];
        // In the order of the memory, or most of the time goes to waiting for it.
        for (j, panel) in panels.chunks_exact((padded * TILE).max(1)).enumerate() {
            let length = n - j * TILE;
            let (columns, rest) = to.split_at_mut(length * TILE);
            to = rest;
            let rows = panel.as_chunks::<TILE>().0[j * TILE..n].iter();
            for (i, row) in rows.enumerate() {
                for c in 0..TILE {
                    columns[c * length + i] = row[c].0[lane];
                }
            }
        }
        Self { n, values, weights }
    }
}

/// `|R phi|²`, the sums of a row over columns ascending.
pub struct Form<'a> {
    pub columns: &'a Columns,
    pub phi: &'a [f64],
}

impl NullaryFnOnce for Form<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let Self { columns: Columns { n, values, .. }, phi } = self;
        let mut y = vec![0.0; *n];
        let mut values = &values[..];
        for (j, phi) in phi.chunks(TILE).enumerate() {
            let length = n - j * TILE;
            let x: [f64; TILE] = std::array::from_fn(|c| phi.get(c).copied().unwrap_or(0.0));
            let (columns, rest) = values.split_at(length * TILE);
            values = rest;
            let (ab, cd) = columns.split_at(2 * length);
            let ((a, b), (c, d)) = (ab.split_at(length), cd.split_at(length));
            for ((((y, a), b), c), d) in y[j * TILE..].iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *y = (((*y + x[0] * a) + x[1] * b) + x[2] * c) + x[3] * d;
            }
        }
        dot(&y, &y)
    }
}
