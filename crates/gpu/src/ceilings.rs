//! Measures a device's peak rates: matrix products in both types, and a copy.

use super::buffers::{GpuNumber, filled, storage, uniform};
use super::device::{Gpu, GpuShared, run};
use super::layout::{self, LayoutShape};
use super::pipeline::Pass;
use super::readback::guarded;
use privateer_backend::BackendError;
use privateer_backend::precision::F64Rate;
use std::time::{Duration, Instant};

/// Sides of the products: the first ends soon on any device, the last fills large ones.
const FIRST_SIDE: usize = 512;
const LAST_SIDE: usize = 4096;
/// Longest that a submission may take by estimate: systems end those that seem to hang, and a screen stands still meanwhile.
const LONGEST: f64 = 0.1;

/// Bytes copied, more than the caches of devices hold.
const COPIED: u64 = 256 << 20;

/// Shortest time of a measurement, half the longest of a submission, and most repetitions in it.
const LEAST: Duration = Duration::from_millis(50);
const LEAST_COMPARED: Duration = Duration::from_millis(20);
const MOST: u32 = 1024;

/// Time after which a device counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Measured peak rates of a device: of matrix products, of which a multiply-add counts as two operations, and of a copy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GpuCeilings {
    /// Operations per second in f32.
    pub f32_flops: f64,
    /// Operations per second in f64, if the device has it.
    pub f64_flops: Option<f64>,
    /// Bytes read and written per second by a copy between buffers.
    pub copy_bytes: f64,
    /// Largest side of the matrices.
    pub side: usize,
    /// Bytes of the copied buffer.
    pub copied: u64,
}

impl Gpu {
    /// Measures the peak rates, which takes about a second.
    pub fn ceilings(&self) -> Result<GpuCeilings, BackendError> {
        let shared = self.shared();
        let copied = COPIED.min(shared.max_binding);
        let (f32_flops, side) = fastest_product::<f32>(shared, LEAST)?;
        Ok(GpuCeilings {
            f32_flops,
            f64_flops: if shared.has_f64 { Some(fastest_product::<f64>(shared, LEAST)?.0) } else { None },
            copy_bytes: copy(shared, copied)?,
            side,
            copied,
        })
    }
}

impl GpuShared {
    /// Returns the rate of f64 as a share of that of f32, measured at the first call, which takes about a tenth of a second.
    pub(super) fn f64_rate(&self) -> F64Rate {
        *self.f64_rate.get_or_init(|| {
            if !self.has_f64 {
                return F64Rate::Absent;
            }
            let rates = fastest_product::<f32>(self, LEAST_COMPARED)
                .and_then(|(single, _)| Ok(fastest_product::<f64>(self, LEAST_COMPARED)?.0 / single));
            // A device that fails here fails again where the failure is reported.
            rates.map_or(F64Rate::Unmeasured, F64Rate::Share)
        })
    }
}

/// Returns the operations per second of products of growing sides, and the last of the sides.
///
/// Each side is tried only where the rate of the one before says that its submissions are short.
fn fastest_product<R: GpuNumber>(shared: &GpuShared, least: Duration) -> Result<(f64, usize), BackendError> {
    let (mut rate, mut side) = (product::<R>(shared, FIRST_SIDE, least)?, FIRST_SIDE);
    // The first submission of a size takes longer than later ones.
    while side < LAST_SIDE && 2.0 * operations(2 * side) / rate <= LONGEST {
        // A device without room for the next size has still shown a rate.
        let Ok(next) = product::<R>(shared, 2 * side, least) else { break };
        (rate, side) = (rate.max(next), 2 * side);
    }
    Ok((rate, side))
}

fn operations(side: usize) -> f64 {
    2.0 * (side * side * side) as f64
}

/// Returns the operations per second of a product of two matrices of ones.
fn product<R: GpuNumber>(shared: &GpuShared, side: usize, least: Duration) -> Result<f64, BackendError> {
    let ones = vec![R::of(1.0); side * side];
    let (a, b) = (filled(shared, "left", &ones)?, filled(shared, "right", &ones)?);
    let c = storage(shared, "product", size_of_val(ones.as_slice()) as u64)?;
    let shape = uniform(shared, &LayoutShape { n_columns: side as u32, ..LayoutShape::default() }.words())?;
    let pipeline = shared.pipeline(Pass::making("product", R::PRECISION, R::PRECISION))?;
    let bound = [(layout::SHAPE, &shape), (layout::SOURCE, &a), (layout::COEFFICIENTS, &b), (layout::TABLE, &c)];
    let group = pipeline.bind(shared, &bound)?;
    let tiles = (side / shared.workgroup(R::PRECISION)?.block()) as u32;
    let seconds = best(shared, least, |encoder| run(encoder, &[(&pipeline, &group, [tiles, tiles])]))?;
    Ok(operations(side) / seconds)
}

/// Returns the bytes read and written per second.
fn copy(shared: &GpuShared, bytes: u64) -> Result<f64, BackendError> {
    let (from, to) = (storage(shared, "from", bytes)?, storage(shared, "to", bytes)?);
    let seconds = best(shared, LEAST, |encoder| encoder.copy_buffer_to_buffer(&from, 0, &to, 0, Some(bytes)))?;
    Ok(2.0 * bytes as f64 / seconds)
}

/// Returns the seconds of one piece of work.
///
/// Submissions repeat it more and more often, until they take long enough.
fn best(shared: &GpuShared, least: Duration, work: impl Fn(&mut wgpu::CommandEncoder)) -> Result<f64, BackendError> {
    let mut times = 1;
    loop {
        let submission = guarded(shared, "be measured", |device| {
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
            (0..times).for_each(|_| work(&mut encoder));
            encoder.finish()
        })?;
        let started = Instant::now();
        let index = shared.queue.submit([submission]);
        let waited = shared.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: Some(PATIENCE) });
        let taken = started.elapsed();
        shared.health.check()?;
        waited.map_err(|problem| BackendError::lost(format!("{} did not finish: {problem}", shared.facts.name)))?;
        // The first submission warms up: compilation, first access to memory.
        if 1 < times && (least <= taken || MOST <= times) {
            return Ok(taken.as_secs_f64() / f64::from(times));
        }
        times *= 2;
    }
}
