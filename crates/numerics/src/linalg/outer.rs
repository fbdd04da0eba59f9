//! Sums of outer products of rows, in tiles that stay in registers.

use crate::vectorised;

const PANEL: usize = 16;
/// Number of rows of a tile of the result, which has the columns of a panel.
const ROWS: usize = 4;

vectorised! {
    /// Adds `x_i x_j` of every row x of a row-major matrix with `d` columns, in the order of the rows, to entry `(i, j)` of `out`.
    ///
    /// `out` is `d x d` row-major. Entries below the diagonal are unspecified.
    pub fn add_outer_products(rows: &[f64], d: usize, out: &mut [f64]) {
        debug_assert_eq!(out.len(), d * d);
        let d = d.max(1);
        // A panel holds its columns of each row.
        let mut panels = vec![0.0; d.div_ceil(PANEL) * PANEL * (rows.len() / d)];
        let length = (PANEL * (rows.len() / d)).max(1);
        for (panel, at) in panels.chunks_exact_mut(length).zip((0..d).step_by(PANEL)) {
            let width = PANEL.min(d - at);
            for (line, row) in panel.as_chunks_mut::<PANEL>().0.iter_mut().zip(rows.chunks_exact(d)) {
                line[..width].copy_from_slice(&row[at..at + width]);
            }
        }
        for (right, at) in panels.chunks_exact(length).zip((0..d).step_by(PANEL)) {
            for (left, first) in panels.chunks_exact(length).zip((0..=at).step_by(PANEL)) {
                let (left, right) = (left.as_chunks::<PANEL>().0, right.as_chunks::<PANEL>().0);
                for offset in (0..PANEL.min(d - first)).step_by(ROWS) {
                    add_tile(left, offset, right, &mut out[(first + offset) * d..], d, at);
                }
            }
        }
    }
}

/// Adds the products of a few columns of `left`, from `offset` on, with all of `right` to a tile of `out` from column `at` on.
#[inline(always)]
fn add_tile(left: &[[f64; PANEL]], offset: usize, right: &[[f64; PANEL]], out: &mut [f64], d: usize, at: usize) {
    let width = PANEL.min(d - at);
    let mut tile = [[0.0; PANEL]; ROWS];
    for (tile, out) in tile.iter_mut().zip(out.chunks_exact(d)) {
        tile[..width].copy_from_slice(&out[at..at + width]);
    }
    tile = products_added(left, offset, right, tile);
    for (tile, out) in tile.iter().zip(out.chunks_exact_mut(d)) {
        out[at..at + width].copy_from_slice(&tile[..width]);
    }
}

/// Returns the sums of a tile; they stay in registers.
#[inline(always)]
fn products_added(
    left: &[[f64; PANEL]],
    offset: usize,
    right: &[[f64; PANEL]],
    [mut a, mut b, mut c, mut e]: [[f64; PANEL]; ROWS],
) -> [[f64; PANEL]; ROWS] {
    for (x, y) in left.iter().zip(right) {
        let x = &x[offset..offset + ROWS];
        for lane in 0..PANEL {
            a[lane] += x[0] * y[lane];
            b[lane] += x[1] * y[lane];
            c[lane] += x[2] * y[lane];
            e[lane] += x[3] * y[lane];
        }
    }
    [a, b, c, e]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_added_in_the_order_of_rows() {
        for d in [1, 2, 3, 4, 5, 15, 16, 17, 20, 31, 32, 33, 50, 70] {
            for n in [0, 1, 2, 33] {
                let rows: Vec<f64> = (0..n * d).map(|i| libm::sin(0.7 * i as f64)).collect();
                let mut found: Vec<f64> = (0..d * d).map(|i| libm::cos(1.3 * i as f64)).collect();
                let mut expected = found.clone();
                add_outer_products(&rows, d, &mut found);
                for row in rows.chunks_exact(d) {
                    for i in 0..d {
                        for j in i..d {
                            expected[i * d + j] += row[i] * row[j];
                        }
                    }
                }
                for i in 0..d {
                    let upper = i * d + i..(i + 1) * d;
                    assert_eq!(found[upper.clone()], expected[upper], "{d} {n} {i}");
                }
            }
        }
    }
}
