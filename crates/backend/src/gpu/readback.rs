//! Catches errors of the device, and reads its results back.

use super::device::GpuShared;
use crate::BackendError;
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
    /// Records the first error.
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
///
/// # Errors
/// If the device rejects a call, is out of memory, or was lost before.
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
    mapping: Receiver<Result<(), String>>,
}

impl Staging {
    /// Creates a buffer of `bytes` bytes.
    pub fn new(shared: &GpuShared, bytes: u64) -> Result<Self, BackendError> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let buffer = guarded(shared, "allocate a buffer for answers", |device| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("staging"),
                size: bytes.max(8),
                usage,
                mapped_at_creation: false,
            })
        })?;
        Ok(Self { buffer })
    }

    /// Adds consecutive copies of parts (buffer, offset, bytes), and the mapping, to an encoder.
    pub fn schedule(&self, encoder: &mut wgpu::CommandEncoder, parts: &[(&wgpu::Buffer, u64, u64)]) -> Pending {
        let mut at = 0;
        for &(buffer, offset, bytes) in parts {
            encoder.copy_buffer_to_buffer(buffer, offset, &self.buffer, at, Some(bytes));
            at += bytes;
        }
        let (report, mapping) = channel();
        encoder.map_buffer_on_submit(&self.buffer, wgpu::MapMode::Read, 0..at, move |result| {
            // The receiver is gone if the round was abandoned.
            drop(report.send(result.map_err(|error| error.to_string())));
        });
        Pending { buffer: self.buffer.clone(), bytes: at, mapping }
    }
}

impl Pending {
    /// Waits for the submission and reads the bytes.
    ///
    /// # Errors
    /// If the device hangs, is lost, or does not return the buffer.
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
///
/// # Errors
/// If the mapping failed, or is not reported.
pub fn mapped(shared: &GpuShared, mapping: &Receiver<Result<(), String>>, doing: &str) -> Result<(), BackendError> {
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

/// Returns all bytes of a buffer, for tests.
#[cfg(test)]
pub fn read_all(shared: &GpuShared, buffer: &wgpu::Buffer) -> Result<Vec<u8>, BackendError> {
    let staging = Staging::new(shared, buffer.size())?;
    let (pending, submission) = guarded(shared, "give back a buffer", |device| {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: None });
        let pending = staging.schedule(&mut encoder, &[(buffer, 0, buffer.size())]);
        (pending, shared.queue.submit([encoder.finish()]))
    })?;
    pending.wait(shared, submission, <[u8]>::to_vec)
}
