//! Implements `project.wgsl`: `p = row · h` for new rows, `mean = weights · h` for new weights.

use super::buffers::{Buffers, MEAN, P};
use super::kernel::kernel;
use crate::device::Real;
use crate::device::pack::{NONE, ROW, TOGETHER, WEIGHTS};
use crate::device::tables::{KernelNumbers, TILE};

/// Decodes an entry of the list: its work, and the parts (row, weights) to project.
///
/// A part is the start of its coefficients and of its plane.
fn entry<R: Real>(buffers: &Buffers<R>, entry: usize) -> (usize, impl Iterator<Item = (usize, usize)> + use<R>) {
    let work = buffers.round.works[entry / 4];
    let part =
        |kind: u32, from: u32, plane: usize| (entry as u32 & kind != 0).then(|| (from as usize, buffers.plane(work.slot, plane)));
    let parts = [part(ROW, work.row_at, P), part(WEIGHTS, work.weights_at, MEAN)];
    (entry / 4, parts.into_iter().flatten())
}

/// Entry `shared`: every row is over all columns of the table, in order.
///
/// Eight rows are processed together.
pub fn shared<R: Real>(buffers: &mut Buffers<R>) {
    let stride = buffers.extent.stride;
    let group = buffers.list(0, buffers.round.projected.len().next_multiple_of(TOGETHER));
    let tiles = buffers.extent.n_tiles() - buffers.skipped_tiles;
    for together in group.chunks(TOGETHER) {
        for x in 0..tiles * TILE {
            for &listed in together.iter().filter(|&&listed| listed != NONE as usize) {
                let (w, parts) = entry(buffers, listed);
                for (from, to) in parts {
                    let row = &buffers.round.coefficients[from..][..buffers.round.works[w].row_len as usize - buffers.dropped];
                    let mut sum = R::default();
                    for (k, &coefficient) in row.iter().enumerate() {
                        sum += coefficient * buffers.source[k * stride + x];
                    }
                    buffers.planes[to + x] = sum;
                }
            }
        }
    }
}

/// Entries `gather` (columns of a table by a list of indices) and `kernel` (from coordinates).
pub fn gather<R: Real>(buffers: &mut Buffers<R>, from_kernel: bool) {
    let tiles = buffers.extent.n_tiles() - buffers.skipped_tiles;
    for listed in buffers.list(0, buffers.round.projected.len()) {
        let (w, parts) = entry(buffers, listed);
        let used = (buffers.round.works[w].row_len as usize).saturating_sub(buffers.dropped);
        for (from, to) in parts {
            for x in 0..tiles * TILE {
                let mut sum = R::default();
                for k in 0..used {
                    sum += buffers.round.coefficients[from + k] * column(buffers, w, k, x, from_kernel);
                }
                buffers.planes[to + x] = sum;
            }
        }
    }
}

/// Returns `h_k(x)` of a work's basis.
pub fn column<R: Real>(buffers: &Buffers<R>, w: usize, k: usize, x: usize, from_kernel: bool) -> R {
    let (work, numbers) = (buffers.round.works[w], &buffers.round.numbers[w]);
    let point = buffers.round.indices[work.slots_at as usize + k] as usize;
    if !from_kernel {
        return buffers.source[point * buffers.extent.stride + x];
    }
    let form = KernelNumbers {
        family: work.family,
        dimension: work.dimension,
        scale: numbers.kernel_scale,
        offset: numbers.kernel_offset,
        row_term: numbers.kernel_row_term,
    };
    kernel(form, &buffers.source[work.coords_at as usize..], buffers.extent.stride, point, x)
}
