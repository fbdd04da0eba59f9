//! Creates, fills and grows buffers.

use super::device::GpuShared;
use super::readback::{Mapping, buffer, guarded, map_on_submit, mapped};
use privateer_backend::BackendError;
use privateer_backend::device::Real;
use std::ops::Range;

/// A type whose numbers are sent to the device unchanged.
pub trait GpuNumber: Real + bytemuck::Pod {}

impl GpuNumber for f32 {}
impl GpuNumber for f64 {}

/// Bytes in transfer to the device at one time.
const PIECE: usize = 32 << 20;

/// Creates a storage buffer of zeros.
pub fn storage(shared: &GpuShared, label: &str, bytes: u64) -> Result<wgpu::Buffer, BackendError> {
    if shared.max_binding < bytes {
        return Err(BackendError::TooLarge {
            buffer: label.to_owned(),
            needs_bytes: bytes,
            limit_bytes: shared.max_binding,
            device: shared.facts.name.clone(),
        });
    }
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    buffer(shared, &format!("allocate the buffer `{label}` of {bytes} bytes"), label, bytes, usage)
}

pub fn uniform(shared: &GpuShared, words: &[u32]) -> Result<wgpu::Buffer, BackendError> {
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    let bytes = size_of_val(words) as u64;
    let buffer = buffer(shared, &format!("allocate the buffer `shape` of {bytes} bytes"), "shape", bytes, usage)?;
    upload(shared, &buffer, 0, bytemuck::cast_slice(words))?;
    Ok(buffer)
}

/// Writes bytes in pieces, so that little data waits in host memory.
pub fn upload(shared: &GpuShared, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) -> Result<(), BackendError> {
    guarded(shared, "take data", |_| {
        for (i, piece) in bytes.chunks(PIECE).enumerate() {
            shared.queue.write_buffer(buffer, offset + (i * PIECE) as u64, piece);
            if piece.len() == PIECE {
                shared.queue.submit([]);
            }
        }
    })
}

pub fn filled<T: bytemuck::Pod>(shared: &GpuShared, label: &str, values: &[T]) -> Result<wgpu::Buffer, BackendError> {
    let buffer = storage(shared, label, size_of_val(values) as u64)?;
    upload(shared, &buffer, 0, bytemuck::cast_slice(values))?;
    Ok(buffer)
}

/// Returns how many rows of numbers are sent at one time.
pub fn rows_of_a_piece<T>(row: usize) -> usize {
    PIECE / (row * size_of::<T>()).max(1)
}

/// Writes some rows of columns that are `stride` long; `values` are those of each column, which are `rows` long.
pub fn upload_rows<T: bytemuck::Pod>(
    shared: &GpuShared,
    buffer: &wgpu::Buffer,
    stride: usize,
    rows: Range<usize>,
    values: &[T],
) -> Result<(), BackendError> {
    // Whole columns follow each other.
    let together = if rows.len() == stride { values.len() } else { rows.len() };
    guarded(shared, "take data", |_| {
        for (column, values) in values.chunks(together).enumerate() {
            let offset = (column * stride + rows.start) * size_of::<T>();
            shared.queue.write_buffer(buffer, offset as u64, bytemuck::cast_slice(values));
        }
        shared.queue.submit([]);
    })
}

/// A storage buffer that grows on demand.
#[derive(Debug)]
pub struct GrowingBuffer {
    label: &'static str,
    pub buffer: wgpu::Buffer,
}

impl GrowingBuffer {
    pub fn new(shared: &GpuShared, label: &'static str, bytes: u64) -> Result<Self, BackendError> {
        Ok(Self { label, buffer: storage(shared, label, bytes.min(shared.max_binding))? })
    }

    /// Grows to at least `bytes`, at least twofold; returns whether the buffer is replaced.
    pub fn reserve(&mut self, shared: &GpuShared, bytes: u64) -> Result<bool, BackendError> {
        if bytes <= self.buffer.size() {
            return Ok(false);
        }
        let doubled = (2 * self.buffer.size()).min(shared.max_binding);
        self.buffer = storage(shared, self.label, bytes.max(doubled))?;
        Ok(true)
    }
}

/// Bytes to copy to a buffer, from this offset on.
pub type Piece<'a> = (&'a [u8], &'a wgpu::Buffer, u64);

/// The buffer through which a round's data reach the device, mapped again by each submission for the next.
#[derive(Debug)]
pub struct UploadBuffer {
    buffer: wgpu::Buffer,
    /// Report of the mapping by the last submission; `None` while it is mapped.
    pub mapping: Option<Mapping>,
    /// Copies of the next submission: source offset, target, target offset, bytes.
    copies: Vec<(u64, wgpu::Buffer, u64, u64)>,
}

impl UploadBuffer {
    pub fn new(shared: &GpuShared, bytes: u64) -> Result<Self, BackendError> {
        Ok(Self { buffer: mapped_buffer(shared, bytes)?, mapping: None, copies: Vec::new() })
    }

    /// Writes pieces, whose sizes are multiples of four bytes, for the next submission.
    pub fn write(&mut self, shared: &GpuShared, pieces: &[Piece<'_>]) -> Result<(), BackendError> {
        if let Some(mapping) = self.mapping.take() {
            mapped(shared, &mapping, "give a buffer back")?;
        }
        let total: u64 = pieces.iter().map(|(bytes, _, _)| bytes.len() as u64).sum();
        if self.buffer.size() < total {
            self.buffer = mapped_buffer(shared, total.max(2 * self.buffer.size()))?;
        }
        self.copies.clear();
        if total == 0 {
            return Ok(());
        }
        let mut view = self
            .buffer
            .get_mapped_range_mut(0..total)
            .map_err(|problem| BackendError::lost(format!("{} takes no data: {problem}", shared.facts.name)))?;
        let mut at = 0;
        for (bytes, target, offset) in pieces.iter().filter(|(bytes, _, _)| !bytes.is_empty()) {
            view.slice(at..at + bytes.len()).copy_from_slice(bytes);
            self.copies.push((at as u64, (*target).clone(), *offset, bytes.len() as u64));
            at += bytes.len();
        }
        Ok(())
    }

    /// Adds the copies to an encoder, and the mapping for the round after; its report goes to [`UploadBuffer::mapping`].
    pub fn schedule(&self, encoder: &mut wgpu::CommandEncoder) -> Mapping {
        self.buffer.unmap();
        for (from, target, offset, bytes) in &self.copies {
            encoder.copy_buffer_to_buffer(&self.buffer, *from, target, *offset, Some(*bytes));
        }
        map_on_submit(encoder, &self.buffer, wgpu::MapMode::Write, self.buffer.size())
    }
}

fn mapped_buffer(shared: &GpuShared, bytes: u64) -> Result<wgpu::Buffer, BackendError> {
    let usage = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC;
    buffer(shared, &format!("allocate a buffer of {bytes} bytes for uploads"), "uploads", bytes, usage)
}
