//! Catches errors of the device, and reads its results back.

use super::device::GpuShared;
use privateer_backend::BackendError;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Longest time of a submission, with all queued before it, before the device counts as hanging.
const PATIENCE: Duration = Duration::from_secs(600);

/// Wait for the mapping of a finished submission, per attempt, and the number of attempts.
///
/// Another thread may be about to report the mapping.
const REPORT: Duration = Duration::from_millis(20);
const REPORTS: usize = 500;

/// Errors of a device that occurred outside of any call that could return them.
#[derive(Debug, Default)]
pub struct Health {
    problem: Mutex<Option<String>>,
}

impl Health {
    pub fn note(&self, problem: String) {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
    }

    /// Returns the recorded error, if any.
    pub fn check(&self) -> Result<(), BackendError> {
        match &*self.problem.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(problem) => Err(BackendError::lost(problem.clone())),
            None => Ok(()),
        }
    }
}

/// Runs calls to the device and returns the device's errors in them.
/// * `doing` — as in "compile the shader"
pub fn guarded<T>(shared: &GpuShared, doing: &str, calls: impl FnOnce(&wgpu::Device) -> T) -> Result<T, BackendError> {
    shared.health.check()?;
    let device = &shared.device;
    let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory]
        .map(|filter| device.push_error_scope(filter));
    let done = calls(device);
    let mut problem = None;
    // Error scopes are popped in reverse order.
    for scope in scopes.into_iter().rev() {
        problem = problem.or(pollster::block_on(scope.pop()));
    }
    match problem {
        None => Ok(done),
        Some(wgpu::Error::OutOfMemory { .. }) => {
            Err(BackendError::OutOfMemory { device: shared.facts.name.clone(), action: doing.to_owned() })
        }
        Some(problem) => Err(BackendError::lost(format!("{} refused to {doing}: {problem}", shared.facts.name))),
    }
}

/// Creates a buffer, mapped if the host writes to it.
pub fn buffer(
    shared: &GpuShared,
    doing: &str,
    label: &str,
    bytes: u64,
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, BackendError> {
    guarded(shared, doing, |device| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            // An empty buffer cannot be bound.
            size: bytes.max(16).next_multiple_of(16),
            usage,
            mapped_at_creation: usage.contains(wgpu::BufferUsages::MAP_WRITE),
        })
    })
}

pub type Mapping = Receiver<Result<(), String>>;

/// Adds the mapping of a buffer's first bytes to an encoder.
pub fn map_on_submit(encoder: &mut wgpu::CommandEncoder, buffer: &wgpu::Buffer, mode: wgpu::MapMode, bytes: u64) -> Mapping {
    let (report, mapping) = channel();
    encoder.map_buffer_on_submit(buffer, mode, 0..bytes, move |result| {
        // The receiver is gone if the slots are, or the round was abandoned.
        drop(report.send(result.map_err(|error| error.to_string())));
    });
    mapping
}

/// A buffer to which answers are copied.
#[derive(Debug)]
pub struct Staging {
    buffer: wgpu::Buffer,
}

/// A mapping that a submission will perform.
#[derive(Debug)]
pub struct Pending {
    buffer: wgpu::Buffer,
    bytes: u64,
    /// Result of the mapping, once there is one.
    mapping: Mapping,
}

impl Staging {
    pub fn new(shared: &GpuShared, bytes: u64) -> Result<Self, BackendError> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        Ok(Self { buffer: buffer(shared, "allocate a buffer for answers", "staging", bytes, usage)? })
    }

    /// Adds consecutive copies of parts (buffer, offset, bytes), and the mapping, to an encoder.
    pub fn schedule(&self, encoder: &mut wgpu::CommandEncoder, parts: &[(&wgpu::Buffer, u64, u64)]) -> Pending {
        let mut at = 0;
        for &(buffer, offset, bytes) in parts {
            encoder.copy_buffer_to_buffer(buffer, offset, &self.buffer, at, Some(bytes));
            at += bytes;
        }
        let mapping = map_on_submit(encoder, &self.buffer, wgpu::MapMode::Read, at);
        Pending { buffer: self.buffer.clone(), bytes: at, mapping }
    }
}

impl Pending {
    /// Waits for the submission and reads the bytes.
    pub fn wait<T>(
        self,
        shared: &GpuShared,
        submission: wgpu::SubmissionIndex,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, BackendError> {
        let name = &shared.facts.name;
        let wait = wgpu::PollType::Wait { submission_index: Some(submission), timeout: Some(PATIENCE) };
        match shared.device.poll(wait) {
            Ok(_) => {}
            // Neither error is recoverable: later calls report it at once.
            Err(wgpu::PollError::Timeout) => {
                shared.health.note(format!("{name} did not finish a round in {} s", PATIENCE.as_secs()));
            }
            Err(problem) => shared.health.note(format!("{name} takes no more work: {problem}")),
        }
        shared.health.check()?;
        mapped(shared, &self.mapping, "give its answers back")?;
        let read = match self.buffer.get_mapped_range(0..self.bytes) {
            Ok(view) => read(&view),
            Err(problem) => return Err(BackendError::lost(format!("the answers of {name} cannot be read: {problem}"))),
        };
        self.buffer.unmap();
        Ok(read)
    }
}

/// Waits for the report of a mapping whose submission is done.
pub fn mapped(shared: &GpuShared, mapping: &Mapping, doing: &str) -> Result<(), BackendError> {
    let name = &shared.facts.name;
    let mut mapped = mapping.recv_timeout(Duration::ZERO);
    for _ in 0..REPORTS {
        if mapped != Err(RecvTimeoutError::Timeout) {
            break;
        }
        // Whichever thread polls receives the reports of all; if no other does, this one polls.
        mapped = mapping.recv_timeout(REPORT);
        drop(shared.device.poll(wgpu::PollType::Poll));
    }
    match mapped {
        Ok(Ok(())) => Ok(()),
        Ok(Err(problem)) => Err(BackendError::lost(format!("{name} did not {doing}: {problem}"))),
        Err(_) => Err(BackendError::lost(format!("{name} did not {doing}"))),
    }
}

/// Runs work, and returns the numbers in parts of buffers (buffer, offset, bytes) after it.
/// * `doing` — as in "give back a sample"
pub fn read<T: bytemuck::Pod>(
    shared: &GpuShared,
    doing: &str,
    parts: &[(&wgpu::Buffer, u64, u64)],
    work: impl FnOnce(&mut wgpu::CommandEncoder),
) -> Result<Vec<T>, BackendError> {
    let staging = Staging::new(shared, parts.iter().map(|(_, _, bytes)| bytes).sum())?;
    let (pending, submission) = guarded(shared, doing, |device| {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
        work(&mut encoder);
        let pending = staging.schedule(&mut encoder, parts);
        (pending, shared.queue.submit([encoder.finish()]))
    })?;
    pending.wait(shared, submission, bytemuck::pod_collect_to_vec)
}

/// Returns all numbers of a buffer, for tests.
#[cfg(test)]
pub fn read_all<T: bytemuck::Pod>(shared: &GpuShared, buffer: &wgpu::Buffer) -> Vec<T> {
    read(shared, "give back a buffer", &[(buffer, 0, buffer.size())], |_| ()).expect("read")
}
