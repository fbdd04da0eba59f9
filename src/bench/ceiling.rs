//! What the machine gives a plain matrix product and a plain copy, compiled as everything else here.

use rayon::prelude::*;
use std::hint::black_box;
use std::ops::{AddAssign, Mul};
use std::time::Instant;

/// Measured ceilings.
#[derive(Debug, Clone, PartialEq)]
pub struct Ceilings {
    /// Operations a second (two a multiply-add) of a matrix product in f64; absent where the device has no f64.
    pub f64_flops: Option<f64>,
    /// The same in f32.
    pub f32_flops: Option<f64>,
    /// Bytes read and written a second by a copy of a buffer larger than any cache.
    pub copy_bytes: f64,
    /// How they were measured.
    pub how: String,
}

/// Size of the square product: its panels fit first-level caches, so that arithmetic alone counts.
const SIDE: usize = 128;
/// Products in a measurement's step.
const TIMES: usize = 32;
/// Rows of a register tile.
const ROWS: usize = 4;
/// Bytes copied: larger than last-level caches.
const COPIED: usize = 256 << 20;
/// Least seconds of a measurement, and its repetitions at least.
const SECONDS: f64 = 0.2;
const REPEATS: usize = 3;

impl Ceilings {
    /// Measures on the threads of the current rayon pool.
    #[must_use]
    pub fn of_cpu() -> Self {
        let threads = rayon::current_num_threads();
        let flops = 2.0 * (TIMES * SIDE * SIDE * SIDE) as f64 * threads as f64;
        let (f64_work, f32_work, lanes) = products();
        let f64_seconds = best_seconds(|| on_all(threads, f64_work));
        let f32_seconds = best_seconds(|| on_all(threads, f32_work));
        let from = vec![1u64; COPIED / 8];
        let mut to = vec![0u64; COPIED / 8];
        let part = (COPIED / 8).div_ceil(threads);
        let copy_seconds = best_seconds(|| {
            to.par_chunks_mut(part).zip(from.par_chunks(part)).for_each(|(to, from)| to.copy_from_slice(black_box(from)));
            black_box(&mut to);
        });
        Self {
            f64_flops: Some(flops / f64_seconds),
            f32_flops: Some(flops / f32_seconds),
            copy_bytes: 2.0 * COPIED as f64 / copy_seconds,
            how: format!(
                "{threads} thread{}: tiled product {SIDE}³ in {lanes}, without fused operations; copy of {} MiB",
                if threads == 1 { "" } else { "s" },
                COPIED >> 20
            ),
        }
    }
}

fn on_all(threads: usize, work: impl Fn() + Sync) {
    (0..threads).into_par_iter().with_max_len(1).for_each(|_| work());
}

fn best_seconds(mut work: impl FnMut()) -> f64 {
    work();
    let (begun, mut best) = (Instant::now(), f64::INFINITY);
    let mut repeats = 0;
    while repeats < REPEATS || begun.elapsed().as_secs_f64() < SECONDS {
        let started = Instant::now();
        work();
        best = best.min(started.elapsed().as_secs_f64());
        repeats += 1;
    }
    best
}

/// Products in f64 and f32 with the widest lanes of this processor and the tile that fills its registers, and their name.
fn products() -> (fn(), fn(), &'static str) {
    #[cfg(target_arch = "x86_64")]
    match pulp::Arch::new() {
        pulp::Arch::V4(_) => return (|| run::<f64, 32>(1.0), || run::<f32, 32>(1.0), "lanes of 512 bits"),
        pulp::Arch::V3(_) => return (|| run::<f64, 8>(1.0), || run::<f32, 16>(1.0), "lanes of 256 bits"),
        _ => {}
    }
    (|| run::<f64, 4>(1.0), || run::<f32, 8>(1.0), "lanes of 128 bits")
}

fn run<T: Number, const C: usize>(value: T) {
    drop(black_box(pulp::Arch::new().dispatch(Product::<T, C>(value))));
}

trait Number: Copy + Default + Mul<Output = Self> + AddAssign {}
impl<T: Copy + Default + Mul<Output = T> + AddAssign> Number for T {}

/// `A B` with all entries of `A` and `B` equal to the value, from panels of [`ROWS`] rows and `C` columns.
struct Product<T, const C: usize>(T);

impl<T: Number, const C: usize> pulp::NullaryFnOnce for Product<T, C> {
    type Output = Vec<T>;

    #[inline(always)]
    fn call(self) -> Vec<T> {
        let (a, b) = (vec![black_box(self.0); SIDE * SIDE], vec![black_box(self.0); SIDE * SIDE]);
        let mut out = vec![T::default(); SIDE * SIDE];
        for _ in 0..TIMES {
            for (j, columns) in b.chunks_exact(C * SIDE).enumerate() {
                for (i, rows) in a.chunks_exact(ROWS * SIDE).enumerate() {
                    let sums = tile::<T, C>(rows, columns);
                    for (r, sums) in sums.iter().enumerate() {
                        out[(i * ROWS + r) * SIDE + j * C..][..C].copy_from_slice(sums);
                    }
                }
            }
            black_box(&mut out);
        }
        out
    }
}

/// One tile: `rows` holds [`ROWS`] entries for each step of the sum, `columns` holds `C`.
#[inline(always)]
fn tile<T: Number, const C: usize>(rows: &[T], columns: &[T]) -> [[T; C]; ROWS] {
    // One array and one loop a row: each array stays in registers.
    let [mut p, mut q, mut r, mut s] = [[T::default(); C]; ROWS];
    for (a, b) in rows.as_chunks::<ROWS>().0.iter().zip(columns.as_chunks::<C>().0) {
        add(&mut p, a[0], b);
        add(&mut q, a[1], b);
        add(&mut r, a[2], b);
        add(&mut s, a[3], b);
    }
    [p, q, r, s]
}

/// `sums += a b`, lane by lane.
#[inline(always)]
fn add<T: Number, const C: usize>(sums: &mut [T; C], a: T, b: &[T; C]) {
    for c in 0..C {
        sums[c] += a * b[c];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_a_product() {
        let out = pulp::Arch::new().dispatch(Product::<f64, 16>(0.5));
        assert!(out.iter().all(|&entry| entry == 0.25 * SIDE as f64));
        let out = pulp::Arch::new().dispatch(Product::<f32, 8>(0.5));
        assert!(out.iter().all(|&entry| entry == 0.25 * SIDE as f32));
    }
}
