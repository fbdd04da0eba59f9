//! Times the passes of rounds by the device's own clock, on request.

use super::device::{Dispatch, GpuShared, run_timed};
use super::readback::guarded;
use privateer_backend::BackendError;

/// Names of the passes of a round, in order.
pub const PASSES: [&str; 5] = ["factor", "project", "update", "list", "select"];

/// Nanoseconds spent in each pass, in the order of [`PASSES`].
pub type PassTimes = [f64; PASSES.len()];

/// Time stamps of the passes of one submission.
#[derive(Debug)]
pub struct PassClock {
    stamps: wgpu::QuerySet,
    resolved: wgpu::Buffer,
}

/// Bytes of a time stamp.
const STAMP: u64 = 8;

impl PassClock {
    /// Largest number of bytes that a submission reads back.
    pub const BYTES: u64 = 2 * STAMP * PASSES.len() as u64;

    /// Creates a clock; `None` if passes are not timed.
    pub fn new(shared: &GpuShared) -> Result<Option<Self>, BackendError> {
        if !shared.times_passes {
            return Ok(None);
        }
        guarded(shared, "time its passes", |device| {
            let stamps = device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("passes"),
                ty: wgpu::QueryType::Timestamp,
                count: 2 * PASSES.len() as u32,
            });
            let resolved = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("stamps"),
                size: Self::BYTES,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            Some(Self { stamps, resolved })
        })
    }

    /// Adds the dispatches to an encoder, those of each pass between two stamps; returns the passes that are run.
    pub fn run(&self, encoder: &mut wgpu::CommandEncoder, dispatches: &[(usize, Dispatch<'_>)]) -> Vec<usize> {
        let mut timed = Vec::new();
        for pass in 0..PASSES.len() {
            let of_pass: Vec<Dispatch<'_>> =
                dispatches.iter().filter(|(kind, (_, _, [x, y]))| *kind == pass && x * y != 0).map(|(_, one)| *one).collect();
            if of_pass.is_empty() {
                continue;
            }
            let at = 2 * timed.len() as u32;
            run_timed(
                encoder,
                of_pass.iter(),
                Some(wgpu::ComputePassTimestampWrites {
                    query_set: &self.stamps,
                    beginning_of_pass_write_index: Some(at),
                    end_of_pass_write_index: Some(at + 1),
                }),
            );
            timed.push(pass);
        }
        encoder.resolve_query_set(&self.stamps, 0..2 * timed.len() as u32, &self.resolved, 0);
        timed
    }

    /// Returns the part of the buffers that a submission reads back.
    pub fn part(&self, timed: &[usize]) -> (&wgpu::Buffer, u64, u64) {
        (&self.resolved, 0, 2 * STAMP * timed.len() as u64)
    }
}

/// Adds the nanoseconds of each pass from the stamps that were read back.
pub fn add_times(times: &mut PassTimes, timed: &[usize], bytes: &[u8], period: f32) {
    let stamps: Vec<u64> = bytemuck::pod_collect_to_vec(bytes);
    for (&pass, stamps) in timed.iter().zip(stamps.chunks_exact(2)) {
        times[pass] += stamps[1].saturating_sub(stamps[0]) as f64 * f64::from(period);
    }
}
