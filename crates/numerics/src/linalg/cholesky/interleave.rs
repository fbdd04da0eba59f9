//! Moves numbers between the matrices of single trials and interleaved matrices of eight; nothing is rounded.

use super::batch8::{Eight, LANES, TILE, place};
use crate::linalg::triangle_sums::{TriangleSums, larger};
use crate::vectorised;

vectorised! {
    /// Writes the upper triangles of eight matrices, interleaved in panels as in [`place`].
    ///
    /// * `packed` — `n (n + 1) / 2` numbers each, row by row
    /// * `padded` — `n`, rounded up to a multiple of four; entries beyond the `n`th column are not written
    pub fn interleave_upper(packed: [&[f64]; LANES], n: usize, padded: usize, upper: &mut [Eight]) {
        let mut rows = packed.map(|packed| &packed[..n * (n + 1) / 2]);
        for i in 0..n {
            for j in i..n {
                upper[place(padded, i, j)] = Eight(rows.map(|row| row[j - i]));
            }
            rows = rows.map(|row| &row[n - i..]);
        }
    }
}

vectorised! {
    /// Writes the lower triangles of up to eight interleaved matrices, each with its [`TriangleSums`].
    ///
    /// * `rows` — `padded x padded`, in panels as in [`place`], with zeros above the diagonal within a tile
    /// * `out` — `n x n` numbers of each trial, row-major; entries beyond the tile of the diagonal are not written
    pub fn separate_lower(rows: &[Eight], n: usize, padded: usize, out: &mut [&mut [f64]]) -> [TriangleSums; LANES] {
        let mut columns = vec![Eight::ZERO; padded];
        let (mut squares, mut largest_row) = ([Eight::ZERO; TILE], Eight::ZERO);
        for i in 0..n {
            let mut sums = [Eight::ZERO; TILE];
            for (panel, columns) in columns.as_chunks_mut::<TILE>().0.iter_mut().enumerate().take(i / TILE + 1) {
                let tile = &rows[place(padded, i, panel * TILE)..].as_chunks::<TILE>().0[0];
                for c in 0..TILE {
                    for lane in 0..LANES {
                        let entry = tile[c].0[lane].abs();
                        sums[c].0[lane] += entry;
                        squares[c].0[lane] += entry * entry;
                        columns[c].0[lane] += entry;
                    }
                }
                let at = i * n + panel * TILE;
                for (lane, out) in out.iter_mut().enumerate() {
                    out[at..(at + TILE).min((i + 1) * n)].iter_mut().zip(tile).for_each(|(out, entry)| *out = entry.0[lane]);
                }
            }
            for lane in 0..LANES {
                largest_row.0[lane] = larger(sums.iter().map(|sum| sum.0[lane]).sum(), largest_row.0[lane]);
            }
        }
        std::array::from_fn(|lane| TriangleSums {
            squares: squares.iter().map(|sum| sum.0[lane]).sum(),
            largest_row: largest_row.0[lane],
            largest_column: columns.iter().fold(0.0, |largest, column| f64::max(largest, column.0[lane])),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(lane: usize, i: usize, j: usize) -> f64 {
        libm::cos((100 * lane + 10 * i + 3 * j) as f64)
    }

    #[test]
    fn interleave_upper_writes_every_entry() {
        for n in 0..15_usize {
            let padded = n.next_multiple_of(TILE);
            let packed: Vec<Vec<f64>> =
                (0..LANES).map(|lane| (0..n).flat_map(|i| (i..n).map(move |j| number(lane, i, j))).collect()).collect();
            let packed: [&[f64]; LANES] = std::array::from_fn(|lane| &packed[lane][..]);
            let mut upper = vec![Eight::ZERO; padded * padded];
            interleave_upper(packed, n, padded, &mut upper);
            for (i, j) in (0..n).flat_map(|i| (i..n).map(move |j| (i, j))) {
                assert_eq!(upper[place(padded, i, j)], Eight(std::array::from_fn(|lane| number(lane, i, j))), "{n}: {i}, {j}");
            }
        }
    }

    /// Rows and sums are those of each trial alone, for any number of trials.
    #[test]
    fn rows_and_sums_are_those_of_each_trial() {
        for (n, trials) in (0..15_usize).flat_map(|n| [(n, 8), (n, 3)]) {
            let padded = n.next_multiple_of(TILE);
            let mut rows = vec![Eight::ZERO; padded * padded];
            for (i, j) in (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                rows[place(padded, i, j)] = Eight(std::array::from_fn(|lane| number(lane, i, j)));
            }
            let mut out = vec![vec![0.0; n * n]; trials];
            let mut slices: Vec<&mut [f64]> = out.iter_mut().map(|out| &mut out[..]).collect();
            let sums = separate_lower(&rows, n, padded, &mut slices);
            for (lane, out) in out.iter().enumerate() {
                let entry = |e: usize| if e % n <= e / n { number(lane, e / n, e % n) } else { 0.0 };
                assert_eq!(*out, (0..n * n).map(entry).collect::<Vec<_>>(), "{n}: {lane}");
                assert_eq!(sums[lane], TriangleSums::of(out, n), "{n}: {lane}");
            }
        }
    }
}
