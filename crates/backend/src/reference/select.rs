//! Implements `select.wgsl`: maxima over tiles, then every point above the best lower end.

use super::buffers::Buffers;
use super::update::scored;
use crate::device::CAPACITY;
use crate::device::Real;
use crate::device::answer::{ANSWER_WORDS, HEADER, MAXIMA, checksum};
use crate::device::tables::TILE;

/// List entry without a point.
const NOWHERE: u32 = u32::MAX;

/// Runs step 4 of every work; the list of points is ascending.
pub fn select<R: Real>(buffers: &mut Buffers<R>) {
    let n_tiles = buffers.extent.n_tiles();
    for w in 0..buffers.round.works.len() {
        let work = buffers.round.works[w];
        let tiles = (work.n_scored as usize).div_ceil(TILE);
        let mut maxima = [-R::LARGEST, -R::LARGEST, -R::LARGEST, R::default()];
        let mut n_scored = 0;
        for tile in 0..tiles {
            for (place, most) in maxima.iter_mut().enumerate() {
                *most = most.larger(buffers.partials[(w * MAXIMA + place) * n_tiles + tile]);
            }
            n_scored += buffers.counts[w * n_tiles + tile];
        }
        let best_lower = maxima[0];
        let mut list = [NOWHERE; CAPACITY];
        let mut count = 0u32;
        for tile in 0..tiles {
            let most_upper = buffers.partials[(w * MAXIMA + 1) * n_tiles + tile];
            if most_upper < best_lower {
                continue;
            }
            for place in tile * TILE..((tile + 1) * TILE).min(work.n_scored as usize) {
                let x = if work.listed == 0 { place as u32 } else { buffers.round.indices[work.subset_at as usize + place] };
                let one = scored(buffers, w, x as usize);
                if one.counts && best_lower <= one.upper {
                    if let Some(slot) = list.get_mut(count as usize) {
                        *slot = x;
                    }
                    count += 1;
                }
            }
        }
        let answer = &mut buffers.answers[w * ANSWER_WORDS..(w + 1) * ANSWER_WORDS];
        answer[..HEADER].copy_from_slice(&[work.stamp, n_scored, count, 0]);
        answer[HEADER..].copy_from_slice(&list);
        answer[3] = checksum(answer);
        buffers.maxima[w * MAXIMA..(w + 1) * MAXIMA].copy_from_slice(&maxima);
    }
}
