//! Exact forms `|R phi|²` of one trial, read from its SIMD lane, and vectorised over eight trials, with equal bits.

use privateer_numerics::linalg::{Eight, LANES, TILE, dot, place};
use pulp::{NullaryFnOnce, Simd, WithSimd};

/// `R` by columns, four at a time, each from the first row of the tile on the diagonal to the last.
#[derive(Debug)]
pub struct BenchColumns {
    n: usize,
    values: Vec<f64>,
}

impl BenchColumns {
    /// Of one lane of panels, see `linalg::place`.
    pub fn of(panels: &[Eight], lane: usize, n: usize) -> Self {
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
        Self { n, values }
    }
}

/// `|R phi|²`, the sums of a row over columns ascending.
pub struct BenchForm<'a> {
    pub columns: &'a BenchColumns,
    pub phi: &'a [f64],
}

impl NullaryFnOnce for BenchForm<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let Self { columns: BenchColumns { n, values }, phi } = self;
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

/// Points of each trial at a time.
const AT_ONCE: usize = 4;

/// The same of eight trials, some points of each: sums of a row over columns ascending, squares in the order of [`dot`].
pub struct BenchForms<'a> {
    pub panels: &'a [Eight],
    pub n: usize,
    /// Of each point its features, padded with zeros.
    pub phi: [&'a [Eight]; AT_ONCE],
    pub out: &'a mut [Eight; AT_ONCE],
}

impl WithSimd for BenchForms<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { panels, n, phi, out } = self;
        let padded = n.next_multiple_of(TILE);
        let zero = simd.splat_f64s(0.0);
        for slice in 0..LANES / S::F64_LANES {
            let load = |entry: &Eight| S::as_simd_f64s(&entry.0).0[slice];
            // A partial sum for each row modulo eight.
            let mut squares = [[zero; 8]; AT_ONCE];
            for i in (0..n).step_by(TILE) {
                let mut sums = [[zero; TILE]; AT_ONCE];
                for j in (0..=i).step_by(TILE) {
                    let tile = &panels[place(padded, i, j)..][..TILE * TILE];
                    for c in 0..TILE {
                        let x: [S::f64s; AT_ONCE] = std::array::from_fn(|p| load(&phi[p][j + c]));
                        for r in 0..TILE {
                            let entry = load(&tile[r * TILE + c]);
                            for p in 0..AT_ONCE {
                                sums[p][r] = simd.add_f64s(sums[p][r], simd.mul_f64s(x[p], entry));
                            }
                        }
                    }
                }
                for r in 0..TILE.min(n - i) {
                    for p in 0..AT_ONCE {
                        let square = &mut squares[p][(i + r) % 8];
                        *square = simd.add_f64s(*square, simd.mul_f64s(sums[p][r], sums[p][r]));
                    }
                }
            }
            for (out, s) in out.iter_mut().zip(&squares) {
                let add = |a, b| simd.add_f64s(a, b);
                let sum = add(add(add(s[0], s[4]), add(s[2], s[6])), add(add(s[1], s[5]), add(s[3], s[7])));
                S::as_mut_simd_f64s(&mut out.0).0[slice] = sum;
            }
        }
    }
}

/// Forms of eight trials at points of each.
pub fn forms<'a>(panels: &[Eight], n: usize, points: [&[u32]; LANES], row: impl Fn(u32) -> &'a [f64]) -> [Vec<f64>; LANES] {
    let padded = n.next_multiple_of(TILE);
    let most = points.iter().map(|points| points.len()).max().unwrap_or(0);
    let mut found = points.map(|points| Vec::with_capacity(points.len()));
    let mut phi = vec![Eight::ZERO; AT_ONCE * padded];
    for first in (0..most).step_by(AT_ONCE) {
        for (slot, phi) in phi.chunks_exact_mut(padded.max(1)).enumerate() {
            // A lane without another point takes part with whatever was there.
            for (lane, points) in points.iter().enumerate() {
                if let Some(&point) = points.get(first + slot) {
                    phi.iter_mut().zip(row(point)).for_each(|(phi, &value)| phi.0[lane] = value);
                }
            }
        }
        let mut out = [Eight::ZERO; AT_ONCE];
        let of = std::array::from_fn(|slot| &phi[slot * padded..][..padded]);
        pulp::Arch::new().dispatch(BenchForms { panels, n, phi: of, out: &mut out });
        for (lane, found) in found.iter_mut().enumerate() {
            let left = points[lane].len().saturating_sub(first);
            found.extend(out.iter().take(left).map(|out| out.0[lane]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use privateer_numerics::rng::{Purpose, Streams};

    #[test]
    fn forms_side_by_side_are_those_of_each_trial() {
        for n in [1usize, 3, 4, 7, 8, 13, 26] {
            let padded = n.next_multiple_of(TILE);
            let mut stream = Streams::new(3, "columns").of(n as u64, Purpose::Function);
            let mut panels = vec![Eight::ZERO; padded * padded];
            for i in 0..n {
                for j in 0..=i {
                    panels[place(padded, i, j)] = Eight(std::array::from_fn(|_| stream.normal()));
                }
            }
            let table: Vec<f64> = (0..20 * n).map(|_| stream.normal()).collect();
            let row = |point: u32| &table[point as usize * n..][..n];
            let points: [Vec<u32>; LANES] = std::array::from_fn(|lane| (0..2 * lane as u32).collect());
            let found = forms(&panels, n, points.each_ref().map(Vec::as_slice), row);
            for (lane, (points, found)) in points.iter().zip(&found).enumerate() {
                assert_eq!(points.len(), found.len());
                let columns = BenchColumns::of(&panels, lane, n);
                for (&point, found) in points.iter().zip(found) {
                    let alone = pulp::Arch::new().dispatch(BenchForm { columns: &columns, phi: row(point) });
                    assert_eq!(alone.to_bits(), found.to_bits(), "{n}: {lane}, {point}");
                }
            }
        }
    }
}
