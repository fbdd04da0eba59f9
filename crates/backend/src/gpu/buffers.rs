//! Buffers: made, filled, grown.

use super::device::GpuShared;
use super::readback::guarded;
use crate::device::real::Real;
use crate::device::tables::device_error;
use privateer_config::error::Error;

/// A type whose numbers go to the device as they are.
pub trait GpuNumber: Real + bytemuck::Pod {}

impl GpuNumber for f32 {}
impl GpuNumber for f64 {}

/// Bytes that are on their way to the device at once.
const PIECE: usize = 32 << 20;

/// A storage buffer, zeroed.
///
/// # Errors
/// If it is larger than a binding may be, or there is no room.
pub fn storage(shared: &GpuShared, label: &str, bytes: u64) -> Result<wgpu::Buffer, Error> {
    if shared.max_binding < bytes {
        return Err(device_error(format!(
            "the buffer `{label}` would need {bytes} bytes, more than the {} that {} allows",
            shared.max_binding, shared.facts.name
        )));
    }
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    make(shared, label, bytes, usage)
}

/// A uniform buffer with these words.
///
/// # Errors
/// If there is no room.
pub fn uniform(shared: &GpuShared, words: &[u32]) -> Result<wgpu::Buffer, Error> {
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    let buffer = make(shared, "shape", size_of_val(words) as u64, usage)?;
    upload(shared, &buffer, 0, bytemuck::cast_slice(words))?;
    Ok(buffer)
}

fn make(shared: &GpuShared, label: &str, bytes: u64, usage: wgpu::BufferUsages) -> Result<wgpu::Buffer, Error> {
    guarded(shared, &format!("allocate the buffer `{label}` of {bytes} bytes"), |device| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            // Nothing can be bound that is empty.
            size: bytes.max(16).next_multiple_of(16),
            usage,
            mapped_at_creation: false,
        })
    })
}

/// Writes bytes, a piece at a time, so that little waits in memory of the host.
///
/// # Errors
/// If the device refuses.
pub fn upload(shared: &GpuShared, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) -> Result<(), Error> {
    guarded(shared, "take data", |_| {
        for (i, piece) in bytes.chunks(PIECE).enumerate() {
            shared.queue.write_buffer(buffer, offset + (i * PIECE) as u64, piece);
            if piece.len() == PIECE {
                shared.queue.submit([]);
            }
        }
    })
}

/// A storage buffer with these numbers.
///
/// # Errors
/// As [`storage`].
pub fn filled<T: bytemuck::Pod>(shared: &GpuShared, label: &str, values: &[T]) -> Result<wgpu::Buffer, Error> {
    let buffer = storage(shared, label, size_of_val(values) as u64)?;
    upload(shared, &buffer, 0, bytemuck::cast_slice(values))?;
    Ok(buffer)
}

/// A storage buffer that grows with what is written.
#[derive(Debug)]
pub struct GrowingBuffer {
    label: &'static str,
    /// What is bound.
    pub buffer: wgpu::Buffer,
}

impl GrowingBuffer {
    /// Of so many bytes at first.
    ///
    /// # Errors
    /// As [`storage`].
    pub fn new(shared: &GpuShared, label: &'static str, bytes: u64) -> Result<Self, Error> {
        Ok(Self { label, buffer: storage(shared, label, bytes.min(shared.max_binding))? })
    }

    /// Makes room for so many bytes, at least twice of what there was; says whether the buffer is another one now.
    ///
    /// # Errors
    /// As [`storage`].
    pub fn reserve(&mut self, shared: &GpuShared, bytes: u64) -> Result<bool, Error> {
        if bytes <= self.buffer.size() {
            return Ok(false);
        }
        let doubled = (2 * self.buffer.size()).min(shared.max_binding);
        self.buffer = storage(shared, self.label, bytes.max(doubled))?;
        Ok(true)
    }
}
