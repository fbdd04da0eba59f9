//! Measures what the machine gives a matrix product and a copy.

use ndarray::{Array2, LinalgScalar};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Instant;

#[derive(Debug, Clone, PartialEq)]
pub struct Ceilings {
    /// Operations a second (two a multiply-add) of a matrix product in f64; absent where the device has no f64.
    pub f64_flops: Option<f64>,
    /// The same in f32.
    pub f32_flops: Option<f64>,
    /// Bytes read and written a second by a copy of a buffer larger than any cache.
    pub copy_bytes: f64,
    pub how: String,
    /// Threads of the processor that reached them together; `None` for a device.
    pub threads: Option<usize>,
}

/// Size of the square product.
const SIDE: usize = 640;
/// Bytes copied: larger than last-level caches.
const COPIED: usize = 256 << 20;
/// Least seconds of a measurement, and its repetitions at least.
const SECONDS: f64 = 0.2;
const REPEATS: usize = 3;

impl Ceilings {
    /// Measures on the threads of the current rayon pool.
    pub fn of_cpu() -> Self {
        let threads = rayon::current_num_threads();
        let flops = 2.0 * (SIDE * SIDE * SIDE) as f64 * threads as f64;
        let f64_seconds = best_seconds(|| on_all(threads, || drop(black_box(product(1.0f64 / 3.0)))));
        let f32_seconds = best_seconds(|| on_all(threads, || drop(black_box(product(1.0f32 / 3.0)))));
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
                "{threads} thread{}: matrix product {SIDE}³ by a library; copy of {} MiB",
                if threads == 1 { "" } else { "s" },
                COPIED >> 20
            ),
            threads: Some(threads),
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

/// `C = A B` with all entries of `A` and `B` equal to `value`, by the library whose product the dense screens use: it picks
/// the processor's widest vector instructions at run time.
fn product<T: LinalgScalar>(value: T) -> Array2<T> {
    let a = Array2::from_elem((SIDE, SIDE), black_box(value));
    a.dot(&a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_a_product() {
        assert!(product(0.5f64).iter().all(|&entry| entry == 0.25 * SIDE as f64));
        assert!(product(0.5f32).iter().all(|&entry| entry == 0.25 * SIDE as f32));
    }
}
