//! The precision matrices of a round, vectorised over eight trials.

use privateer_numerics::linalg::{Eight, LANES, TILE, place};
use pulp::{Simd, WithSimd};

/// Some rows of `V = parent + node + sum phi phi^T`, in one pass over packed rows.
pub struct Formed<'a> {
    /// Eight draws an entry, those on the diagonal stretched.
    pub draws: &'a [f64],
    pub parent: &'a [Eight],
    pub slot: Option<&'a mut [Eight]>,
    /// `n` numbers an observation.
    pub since: &'a [&'a [Eight]],
    pub rows: std::ops::Range<usize>,
    pub n: usize,
    pub padded: usize,
    pub node_std: f64,
    pub upper: &'a mut [Eight],
}

impl WithSimd for Formed<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for slice in 0..LANES / S::F64_LANES {
            let mut at = 0;
            for i in self.rows.clone() {
                // Up to the next panel, then four by four.
                let aligned = i.next_multiple_of(TILE).min(self.n);
                for j in i..aligned {
                    self.entries::<S, 1>(simd, slice, at + j - i, i, j);
                }
                let whole = aligned + (self.n - aligned) / TILE * TILE;
                for j in (aligned..whole).step_by(TILE) {
                    self.entries::<S, TILE>(simd, slice, at + j - i, i, j);
                }
                for j in whole..self.n {
                    self.entries::<S, 1>(simd, slice, at + j - i, i, j);
                }
                at += self.n - i;
            }
        }
    }
}

impl Formed<'_> {
    /// `K` entries of row `i` from column `j` on, which lie in one panel; the first is entry `at` of the packed rows.
    #[inline(always)]
    fn entries<S: Simd, const K: usize>(&mut self, simd: S, slice: usize, at: usize, i: usize, j: usize) {
        let (draws, parent) = (&self.draws[at * LANES..][..K * LANES], &self.parent[at..][..K]);
        let std = simd.splat_f64s(self.node_std);
        let mut sums = [simd.splat_f64s(0.0); K];
        for c in 0..K {
            let draw = S::as_simd_f64s(&draws[c * LANES..][..LANES]).0[slice];
            sums[c] = simd.add_f64s(S::as_simd_f64s(&parent[c].0).0[slice], simd.mul_f64s(std, draw));
        }
        for phi in self.since {
            let factor = S::as_simd_f64s(&phi[i].0).0[slice];
            let phi = &phi[j..][..K];
            for c in 0..K {
                sums[c] = simd.add_f64s(sums[c], simd.mul_f64s(factor, S::as_simd_f64s(&phi[c].0).0[slice]));
            }
        }
        if let Some(slot) = &mut self.slot {
            let slot = &mut slot[at..][..K];
            for c in 0..K {
                S::as_mut_simd_f64s(&mut slot[c].0).0[slice] = sums[c];
            }
        }
        let upper = &mut self.upper[place(self.padded, i, j)..][..K];
        for c in 0..K {
            S::as_mut_simd_f64s(&mut upper[c].0).0[slice] = sums[c];
        }
    }
}
