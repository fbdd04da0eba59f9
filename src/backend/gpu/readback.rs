//! Errors of the device caught, and what it wrote read back.

use super::device::Shared;
use crate::backend::device::tables::device_error;
use crate::error::Error;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a submission may take before the device counts as hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks for a mapping that another thread is about to report.
const MOMENT: Duration = Duration::from_millis(1);

/// What has gone wrong on a device outside of any call that could say so.
#[derive(Debug, Default)]
pub struct Health {
    problem: Mutex<Option<String>>,
}

impl Health {
    /// Keeps the first problem.
    pub fn note(&self, problem: String) {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
    }

    /// # Errors
    /// If there is a problem.
    pub fn check(&self) -> Result<(), Error> {
        match &*self.problem.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(problem) => Err(device_error(problem.clone())),
            None => Ok(()),
        }
    }
}

/// Runs calls to the device; whatever it refuses in them is this call's error.
/// * `doing` — as in "compile the shader"
///
/// # Errors
/// If the device refuses, is out of memory, or was lost before.
pub fn guarded<T>(shared: &Shared, doing: &str, calls: impl FnOnce(&wgpu::Device) -> T) -> Result<T, Error> {
    shared.health.check()?;
    let device = &shared.device;
    let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory]
        .map(|filter| device.push_error_scope(filter));
    let done = calls(device);
    let mut problem = None;
    // Scopes are popped in the reverse order of their making.
    for scope in scopes.into_iter().rev() {
        problem = problem.or(pollster::block_on(scope.pop()));
    }
    match problem {
        None => Ok(done),
        Some(wgpu::Error::OutOfMemory { .. }) => Err(device_error(format!("{} has no room left to {doing}", shared.facts.name))),
        Some(problem) => Err(device_error(format!("{} refused to {doing}: {problem}", shared.facts.name))),
    }
}

/// How a scheduled mapping went, once it has.
type Mapping = Arc<(Mutex<Option<Result<(), String>>>, Condvar)>;

/// A buffer that answers are copied to.
#[derive(Debug)]
pub struct Staging {
    buffer: wgpu::Buffer,
}

/// A mapping that a submission will do.
#[derive(Debug)]
pub struct Pending {
    buffer: wgpu::Buffer,
    bytes: u64,
    mapping: Mapping,
}

impl Staging {
    /// Of so many bytes.
    ///
    /// # Errors
    /// If there is no room.
    pub fn new(shared: &Shared, bytes: u64) -> Result<Self, Error> {
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

    /// Adds copies of parts of buffers (buffer, offset, bytes), one after the other, and the mapping, to an encoder.
    pub fn schedule(&self, encoder: &mut wgpu::CommandEncoder, parts: &[(&wgpu::Buffer, u64, u64)]) -> Pending {
        let mut at = 0;
        for &(buffer, offset, bytes) in parts {
            encoder.copy_buffer_to_buffer(buffer, offset, &self.buffer, at, Some(bytes));
            at += bytes;
        }
        let mapping = Mapping::default();
        let outcome = Arc::clone(&mapping);
        encoder.map_buffer_on_submit(&self.buffer, wgpu::MapMode::Read, 0..at, move |result| {
            *outcome.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result.map_err(|error| error.to_string()));
            outcome.1.notify_all();
        });
        Pending { buffer: self.buffer.clone(), bytes: at, mapping }
    }
}

impl Pending {
    /// How the mapping went. Another thread that polls the device may have taken the callback and be about to run it: then
    /// it comes in a moment.
    fn mapped(&self, shared: &Shared) -> Option<Result<(), String>> {
        let (outcome, told) = &*self.mapping;
        let until = Instant::now() + PATIENCE;
        let mut guard = outcome.lock().unwrap_or_else(PoisonError::into_inner);
        while guard.is_none() && Instant::now() < until {
            guard = told.wait_timeout(guard, MOMENT).unwrap_or_else(PoisonError::into_inner).0;
            if guard.is_none() {
                drop(guard);
                // What is wrong shows in the mapping or in the device's health.
                drop(shared.device.poll(wgpu::PollType::Poll));
                guard = outcome.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
        guard.take()
    }

    /// Waits for the submission and takes the bytes out.
    ///
    /// # Errors
    /// If the device hangs, is lost, or does not give the buffer back.
    pub fn wait(self, shared: &Shared, submission: wgpu::SubmissionIndex) -> Result<Vec<u8>, Error> {
        let name = &shared.facts.name;
        let waited = shared.device.poll(wgpu::PollType::Wait { submission_index: Some(submission), timeout: Some(PATIENCE) });
        shared.health.check()?;
        match waited {
            Ok(_) => {}
            // Neither heals: whoever comes next is told at once.
            Err(wgpu::PollError::Timeout) => {
                shared.health.note(format!("{name} did not finish a round in {} s", PATIENCE.as_secs()));
            }
            Err(problem) => shared.health.note(format!("{name} takes no more work: {problem}")),
        }
        shared.health.check()?;
        match self.mapped(shared) {
            Some(Ok(())) => {}
            Some(Err(problem)) => return Err(device_error(format!("{name} did not give its answers back: {problem}"))),
            None => return Err(device_error(format!("{name} did not give its answers back"))),
        }
        let bytes = match self.buffer.get_mapped_range(0..self.bytes) {
            Ok(view) => view.to_vec(),
            Err(problem) => return Err(device_error(format!("the answers of {name} cannot be read: {problem}"))),
        };
        self.buffer.unmap();
        Ok(bytes)
    }
}
