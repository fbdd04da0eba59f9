//! Implements the slots of the device; a round is one submission.

use super::buffers::{GpuNumber, GrowingBuffer, Piece, UploadBuffer, storage, upload};
use super::clock::{PassClock, times};
use super::device::{Dispatch, GpuShared, run};
use super::layout::{self, N_NUMBERS, WORK_BYTES, number_values, work_words};
use super::pipeline::{Pass, Pipeline};
#[cfg(test)]
use super::readback::read_all;
use super::readback::{Pending, Staging, guarded};
use super::tables::{GpuTables, TableSource};
use super::workgroup::Workgroup;
use crate::BackendError;
use crate::device::answer::{ANSWER_WORDS, MAXIMA};
use crate::device::pack::{Gathered, SlotShape, TOGETHER};
use crate::device::tables::{Base, DeviceColumns, KernelNumbers, PLANES, TILE, coordinates, kernel_error, no_form};
use crate::device::{Answers, DeviceSlots, Parcel, Precision};
use privateer_gp::score::GramSource;
use std::sync::{Arc, PoisonError};

/// Initial size of growing buffers, in bytes.
const FIRST_BYTES: u64 = 1 << 16;

/// Slots in one floating-point type.
pub struct GpuSlots<R> {
    shared: Arc<GpuShared>,
    shape: SlotShape,
    sources: Vec<TableSource>,
    passes: Passes,
    workgroup: Workgroup,
    buffers: GpuSlotBuffers,
    /// Bind groups; recreated when a buffer is replaced.
    bound: Option<BoundBuffers>,
    uploads: UploadBuffer,
    staging: Staging,
    /// Time stamps of passes, on request.
    clock: Option<PassClock>,
    packed: Gathered<R>,
    /// Works and numbers in the layout of the shaders.
    words: Vec<u32>,
    reals: Vec<R>,
    in_flight: Option<InFlight>,
}

/// Pipelines of a round's passes.
struct Passes {
    factor: Pipeline,
    project: Pipeline,
    update: Pipeline,
    list: Pipeline,
    select: Pipeline,
}

struct GpuSlotBuffers {
    works: wgpu::Buffer,
    numbers: wgpu::Buffer,
    indices: GrowingBuffer,
    coefficients: GrowingBuffer,
    base: wgpu::Buffer,
    planes: wgpu::Buffer,
    partials: wgpu::Buffer,
    counts: wgpu::Buffer,
    answers: wgpu::Buffer,
    maxima: wgpu::Buffer,
}

struct BoundBuffers {
    /// One per chunk.
    factor: Vec<wgpu::BindGroup>,
    project: Vec<wgpu::BindGroup>,
    update: wgpu::BindGroup,
    list: wgpu::BindGroup,
    select: wgpu::BindGroup,
}

struct InFlight {
    pending: Pending,
    submission: wgpu::SubmissionIndex,
    n_works: usize,
    /// Passes with time stamps.
    timed: Vec<usize>,
}

impl<R: GpuNumber> GpuSlots<R> {
    /// Allocates the slots.
    pub fn new(tables: &GpuTables<R>, n_slots: usize) -> Result<Self, BackendError> {
        let (shared, extent) = (&tables.shared, tables.extent);
        if n_slots == 0 || shared.max_groups < n_slots {
            return Err(BackendError::unsuitable(format!(
                "{n_slots} slots are none, or more than {} runs at once",
                shared.facts.name
            )));
        }
        let pass = |shader, entry| shared.pipeline(Pass::new(shader, entry, R::PRECISION));
        let (factor, project) = match tables.columns {
            DeviceColumns::Features(_) => ("from_table", "shared_columns"),
            DeviceColumns::Gram => ("from_table", "gather"),
            DeviceColumns::Kernel { .. } => ("from_kernel", "evaluate"),
        };
        let passes = Passes {
            factor: pass("factor", factor)?,
            project: pass("project", project)?,
            update: pass("update", "update")?,
            list: pass("list", "list")?,
            select: pass("select", "choose")?,
        };
        let room = |label, each: usize| storage(shared, label, (n_slots * each) as u64);
        let size = size_of::<R>();
        let buffers = GpuSlotBuffers {
            works: room("works", WORK_BYTES)?,
            numbers: room("numbers", N_NUMBERS * size)?,
            indices: GrowingBuffer::new(shared, "indices", FIRST_BYTES)?,
            coefficients: GrowingBuffer::new(shared, "coefficients", FIRST_BYTES)?,
            base: tables.base.clone(),
            planes: room("planes", PLANES * extent.stride * size)?,
            partials: room("partials", MAXIMA * extent.n_tiles() * size)?,
            counts: room("counts", extent.n_tiles() * 4)?,
            answers: room("answers", ANSWER_WORDS * 4)?,
            maxima: room("maxima", MAXIMA * size)?,
        };
        let answer_bytes = (n_slots * (ANSWER_WORDS * 4 + MAXIMA * size)) as u64;
        Ok(Self {
            shared: Arc::clone(shared),
            shape: SlotShape {
                n_slots,
                extent,
                columns: tables.columns,
                kernels: Arc::new(tables.kernels.clone()),
                coords_stride: 0,
            },
            sources: tables.sources.clone(),
            passes,
            workgroup: shared.workgroup(R::PRECISION)?,
            buffers,
            bound: None,
            uploads: UploadBuffer::new(shared, FIRST_BYTES)?,
            staging: Staging::new(shared, answer_bytes + PassClock::BYTES)?,
            clock: PassClock::new(shared)?,
            packed: Gathered::default(),
            words: Vec::new(),
            reals: Vec::new(),
            in_flight: None,
        })
    }

    /// Replaces buffers that are too small for the packed round.
    fn reserve(&mut self) -> Result<(), BackendError> {
        let (shared, packed, buffers) = (&self.shared, &self.packed, &mut self.buffers);
        let grown = [
            buffers.indices.reserve(shared, size_of_val(packed.indices.as_slice()) as u64)?,
            buffers.coefficients.reserve(shared, size_of_val(packed.coefficients.as_slice()) as u64)?,
        ];
        if grown.contains(&true) {
            self.bound = None;
        }
        Ok(())
    }

    /// Writes the packed round to the buffer for uploads, from which the submission copies it.
    fn upload(&mut self) -> Result<(), BackendError> {
        let (packed, buffers, stride) = (&self.packed, &self.buffers, self.shape.extent.stride);
        self.words.clear();
        packed.works.iter().for_each(|work| self.words.extend_from_slice(&work_words(work)));
        self.reals.clear();
        packed.numbers.iter().for_each(|numbers| self.reals.extend_from_slice(&number_values(numbers)));
        let mut pieces: Vec<Piece<'_>> = vec![
            (bytemuck::cast_slice(&self.words), &buffers.works, 0),
            (bytemuck::cast_slice(&self.reals), &buffers.numbers, 0),
            (bytemuck::cast_slice(&packed.indices), &buffers.indices.buffer, 0),
            (bytemuck::cast_slice(&packed.coefficients), &buffers.coefficients.buffer, 0),
        ];
        for sent in &packed.uploads {
            // Mean and variance are adjacent, after p.
            let at = (sent.slot * PLANES + 1) * stride * size_of::<R>();
            pieces.push((bytemuck::cast_slice(&sent.values), &buffers.planes, at as u64));
        }
        self.uploads.write(&self.shared, &pieces)
    }

    fn bind(&self) -> Result<BoundBuffers, BackendError> {
        let buffers = &self.buffers;
        let bind = |pipeline: &Pipeline, source: &TableSource| {
            pipeline.bind(
                &self.shared,
                &[
                    (layout::SHAPE, &source.shape),
                    (layout::WORKS, &buffers.works),
                    (layout::NUMBERS, &buffers.numbers),
                    (layout::INDICES, &buffers.indices.buffer),
                    (layout::COEFFICIENTS, &buffers.coefficients.buffer),
                    (layout::SOURCE, &source.columns),
                    (layout::BASE, &buffers.base),
                    (layout::PLANES, &buffers.planes),
                    (layout::PARTIALS, &buffers.partials),
                    (layout::COUNTS, &buffers.counts),
                    (layout::ANSWERS, &buffers.answers),
                    (layout::MAXIMA, &buffers.maxima),
                ],
            )
        };
        let each = |pipeline: &Pipeline| {
            self.sources.iter().map(|source| bind(pipeline, source)).collect::<Result<Vec<_>, BackendError>>()
        };
        Ok(BoundBuffers {
            factor: each(&self.passes.factor)?,
            project: each(&self.passes.project)?,
            update: bind(&self.passes.update, &self.sources[0])?,
            list: bind(&self.passes.list, &self.sources[0])?,
            select: bind(&self.passes.select, &self.sources[0])?,
        })
    }

    /// Returns the passes of the packed round, in order, each with its place among [`super::clock::PASSES`].
    fn dispatches<'a>(&'a self, bound: &'a BoundBuffers) -> Vec<(usize, Dispatch<'a>)> {
        let (packed, passes) = (&self.packed, &self.passes);
        let rows = match self.shape.columns {
            DeviceColumns::Features(_) => packed.n_projected.div_ceil(TOGETHER),
            DeviceColumns::Gram | DeviceColumns::Kernel { .. } => packed.n_projected,
        };
        let subset_tiles = packed
            .works
            .iter()
            .filter(|work| work.listed == 1)
            .map(|work| work.n_scored as usize)
            .max()
            .unwrap_or(0)
            .div_ceil(TILE);
        let grid = |x: usize, y: usize| [x as u32, y as u32];
        let mut all: Vec<(usize, Dispatch<'a>)> = Vec::new();
        for (source, group) in self.sources.iter().zip(&bound.factor) {
            all.push((0, (&passes.factor, group, grid(source.chunk.len / self.workgroup.block(), packed.n_factored))));
        }
        for (source, group) in self.sources.iter().zip(&bound.project) {
            all.push((1, (&passes.project, group, grid(source.chunk.len / self.workgroup.threads() as usize, rows))));
        }
        all.push((2, (&passes.update, &bound.update, grid(self.shape.extent.n_tiles(), packed.works.len()))));
        all.push((3, (&passes.list, &bound.list, grid(subset_tiles, packed.n_listed))));
        all.push((4, (&passes.select, &bound.select, grid(packed.works.len(), 1))));
        all
    }

    /// Returns all planes, for tests.
    #[cfg(test)]
    pub(super) fn planes(&self) -> Vec<R> {
        bytemuck::pod_collect_to_vec(&read_all(&self.shared, &self.buffers.planes).expect("planes"))
    }
}

impl<R: GpuNumber> DeviceSlots for GpuSlots<R> {
    fn shape(&self) -> SlotShape {
        self.shape.clone()
    }

    fn precision(&self) -> Precision {
        R::PRECISION
    }

    fn send(&mut self, parcels: &mut [Parcel]) -> Result<(), BackendError> {
        if let Some(unread) = self.in_flight.take() {
            unread.pending.wait(&self.shared, unread.submission, |_| ())?;
        }
        self.packed.gather(parcels.iter_mut().filter_map(R::packed))?;
        self.reserve()?;
        self.upload()?;
        if self.bound.is_none() {
            self.bound = Some(self.bind()?);
        }
        let Some(bound) = &self.bound else { return Err(BackendError::lost("no buffers are bound")) };
        let n_works = self.packed.works.len();
        let dispatches = self.dispatches(bound);
        let (answer_bytes, maxima_bytes) = ((ANSWER_WORDS * 4) as u64, (MAXIMA * size_of::<R>()) as u64);
        let (mapping, pending, timed, submission) = guarded(&self.shared, "take a round", |device| {
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("round") });
            let mapping = self.uploads.schedule(&mut encoder);
            let n = n_works as u64;
            let mut parts = vec![(&self.buffers.answers, 0, n * answer_bytes), (&self.buffers.maxima, 0, n * maxima_bytes)];
            let timed = match &self.clock {
                None => {
                    run(&mut encoder, dispatches.iter().map(|(_, dispatch)| dispatch));
                    Vec::new()
                }
                Some(clock) => {
                    let timed = clock.run(&mut encoder, &dispatches);
                    parts.push(clock.part(&timed));
                    timed
                }
            };
            let pending = self.staging.schedule(&mut encoder, &parts);
            (mapping, pending, timed, self.shared.queue.submit([encoder.finish()]))
        })?;
        self.uploads.mapping = Some(mapping);
        self.in_flight = Some(InFlight { pending, submission, n_works, timed });
        Ok(())
    }

    fn receive(&mut self, mut used: Answers) -> Result<Answers, BackendError> {
        let InFlight { pending, submission, n_works, timed } =
            self.in_flight.take().ok_or_else(|| BackendError::lost("no round is in flight"))?;
        pending.wait(&self.shared, submission, |bytes| {
            let (words, maxima) = bytes.split_at((n_works * ANSWER_WORDS * 4).min(bytes.len()));
            let (maxima, stamps) = maxima.split_at((n_works * MAXIMA * size_of::<R>()).min(maxima.len()));
            if !timed.is_empty() {
                let spent = times(&timed, stamps, self.shared.queue.get_timestamp_period());
                let mut all = self.shared.pass_times.lock().unwrap_or_else(PoisonError::into_inner);
                all.iter_mut().zip(spent).for_each(|(all, spent)| *all += spent);
            }
            let (words, _) = words.as_chunks::<4>();
            used.words.clear();
            used.words.extend(words.iter().map(|word| u32::from_ne_bytes(*word)));
            let maxima = maxima.chunks_exact(size_of::<R>()).map(|value| bytemuck::pod_read_unaligned::<R>(value).wide());
            used.maxima.clear();
            used.maxima.extend(maxima);
            used
        })
    }

    fn sent(&self) -> u64 {
        self.packed.sent
    }

    fn set_points(&mut self, slot: usize, gram: &dyn GramSource) -> Result<f64, BackendError> {
        if self.shape.columns != (DeviceColumns::Kernel { own: true }) || self.shape.n_slots <= slot {
            return Err(BackendError::unsuitable("these slots take no points of their own"));
        }
        let form = gram.form().filter(|_| gram.n_points() == self.shape.extent.n_points).ok_or_else(no_form)?;
        let coords = coordinates::<R>(&form, self.shape.extent);
        let base = Base::of_gram(gram).rounded::<R>(self.shape.extent);
        let kernel = KernelNumbers::of(&form);
        let bytes = |values: &[R]| size_of_val(values) as u64;
        if self.shape.kernels.is_empty() {
            let all = self.shape.n_slots as u64;
            self.sources[0].columns = storage(&self.shared, "coordinates", all * bytes(&coords.values))?;
            self.buffers.base = storage(&self.shared, "base", all * bytes(&base))?;
            self.bound = None;
            self.shape.coords_stride = coords.values.len();
            self.shape.kernels =
                Arc::new(vec![KernelNumbers { dimension: kernel.dimension, ..KernelNumbers::NONE }; self.shape.n_slots]);
        }
        if coords.values.len() != self.shape.coords_stride {
            return Err(BackendError::unsuitable("the points of two slots differ in their number of coordinates"));
        }
        Arc::make_mut(&mut self.shape.kernels)[slot] = kernel;
        let place = slot as u64;
        upload(&self.shared, &self.sources[0].columns, place * bytes(&coords.values), bytemuck::cast_slice(&coords.values))?;
        upload(&self.shared, &self.buffers.base, place * bytes(&base), bytemuck::cast_slice(&base))?;
        Ok(kernel_error(&form, &coords, R::PRECISION))
    }
}
