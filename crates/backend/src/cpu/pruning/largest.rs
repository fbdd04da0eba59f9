//! Finds the largest numbers of lists, and the first number that reaches a level, vectorised.

use super::lattice::{ReferencePoints, View};
use crate::cpu::vector::larger;
use privateer_numerics::vectorised;
use pulp::Simd;

vectorised! {
    /// Writes each block's largest value `now` (less `then`, if given) at its reference points.
    ///
    /// * `then` — one list over all blocks for each corner
    pub fn largest_of_blocks(reference_points: &ReferencePoints, now: &[f64], then: Option<&[f64]>, out: &mut [f64]) where simd: S {
        let n = out.len();
        // All corners of a strip of blocks together.
        for views in reference_points.views.chunks_exact(reference_points.corners) {
            let Some(strip) = views.first() else { return };
            let out = &mut out[strip.first_block..][..strip.blocks];
            let now_of = |view: &View, at: usize, len: usize| &now[view.first_reference_point + at..][..len];
            let place = |view: &View, at: usize| view.corner * n + view.first_block + at;
            let (whole, rest) = S::as_mut_simd_f64s(out);
            let ends = whole.len() * S::F64_LANES;
            for (at, out) in whole.iter_mut().enumerate() {
                let at = at * S::F64_LANES;
                let mut most = simd.splat_f64s(f64::NEG_INFINITY);
                for view in views {
                    let mut value = S::as_simd_f64s(now_of(view, at, S::F64_LANES)).0[0];
                    if let Some(then) = then {
                        value = simd.sub_f64s(value, S::as_simd_f64s(&then[place(view, at)..][..S::F64_LANES]).0[0]);
                    }
                    most = simd.max_f64s(value, most);
                }
                *out = most;
            }
            for (at, out) in (ends..).zip(rest) {
                let value = |view: &View| now[view.first_reference_point + at] - then.map_or(0.0, |then| then[place(view, at)]);
                *out = views.iter().map(value).fold(f64::NEG_INFINITY, larger);
            }
        }
    }
}

vectorised! {
    /// Returns the largest number.
    pub fn largest_of(list: &[f64]) -> f64 where simd: S {
        largest(simd, list)
    }
}

#[inline(always)]
fn largest<S: Simd>(simd: S, list: &[f64]) -> f64 {
    let (whole, rest) = S::as_simd_f64s(list);
    let (fours, ones) = whole.as_chunks::<4>();
    let mut most = [simd.splat_f64s(f64::NEG_INFINITY); 4];
    for four in fours {
        for i in 0..4 {
            most[i] = simd.max_f64s(four[i], most[i]);
        }
    }
    let [a, b, c, d] = most;
    let mut most = simd.max_f64s(simd.max_f64s(a, b), simd.max_f64s(c, d));
    for &one in ones {
        most = simd.max_f64s(one, most);
    }
    rest.iter().copied().fold(simd.reduce_max_f64s(most), larger)
}

vectorised! {
    /// Returns the index of the first number that is at least `least`.
    pub fn first_from(list: &[f64], least: f64) -> Option<usize> where simd: S {
        let has = |part: &&[f64]| least <= largest(simd, part);
        let (at, part) = list.chunks(PART).enumerate().find(|(_, part)| has(part))?;
        part.iter().position(|number| least <= *number).map(|place| at * PART + place)
    }
}

/// Numbers that are tested together.
const PART: usize = 64;
