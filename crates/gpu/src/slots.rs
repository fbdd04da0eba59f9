//! Implements the slots of the device; a round is one submission.

use super::buffers::{GpuNumber, GrowingBuffer, Piece, UploadBuffer, storage, upload};
use super::clock::{PASSES, PassClock, add_times};
use super::device::{Dispatch, GpuShared, run};
use super::layout;
use super::pipeline::{Pass, Pipeline};
#[cfg(test)]
use super::readback::read_all;
use super::readback::{Pending, Staging, guarded};
use super::tables::{GpuTables, TableSource};
use super::workgroup::Workgroup;
use privateer_backend::BackendError;
use privateer_backend::device::{
    ANSWER_WORDS, Answers, DeviceColumns, DeviceSlots, MAXIMA, Numbers, PLANES, Packed, Parcel, Precision, SlotShape, TILE,
    TOGETHER, Work,
};
use privateer_gp::score::GramSource;
use std::sync::{Arc, PoisonError};

/// Places among [`PASSES`]; the last is the selection.
const FACTOR: usize = 0;
const PROJECT: usize = 1;
const UPDATE: usize = 2;
const LIST: usize = 3;

/// Initial size of growing buffers, in bytes.
const FIRST_BYTES: u64 = 1 << 16;

/// Slots in one floating-point type.
pub struct GpuSlots<R> {
    shared: Arc<GpuShared>,
    shape: SlotShape,
    sources: Vec<TableSource>,
    /// Pipelines of a round's passes, in the order of [`PASSES`].
    passes: Vec<Pipeline>,
    workgroup: Workgroup,
    buffers: GpuSlotBuffers,
    /// Bind groups of each pass, one per chunk that it reads; recreated when a buffer is replaced.
    bound: Option<Vec<Vec<wgpu::BindGroup>>>,
    uploads: UploadBuffer,
    staging: Staging,
    /// Time stamps of passes, on request.
    clock: Option<PassClock>,
    packed: Packed<R>,
    sent: u64,
    /// Works and numbers in the layout of the shaders.
    words: Vec<u32>,
    reals: Vec<R>,
    in_flight: Option<InFlight>,
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

struct InFlight {
    pending: Pending,
    submission: wgpu::SubmissionIndex,
    n_works: usize,
    /// Passes with time stamps.
    timed: Vec<usize>,
}

impl<R: GpuNumber> GpuSlots<R> {
    pub fn new(tables: &GpuTables<R>, n_slots: usize) -> Result<Self, BackendError> {
        let (shared, extent) = (&tables.shared, tables.shape.extent);
        if n_slots == 0 || shared.max_groups < n_slots {
            return Err(BackendError::unsuitable(format!(
                "{n_slots} slots are none, or more than {} runs at once",
                shared.facts.name
            )));
        }
        let (factor, project) = match tables.shape.columns {
            DeviceColumns::Features(_) => ("from_table", "shared_columns"),
            DeviceColumns::Gram => ("from_table", "gather"),
            DeviceColumns::Kernel { .. } => ("from_kernel", "evaluate"),
        };
        let entries = [factor, project, "update", "list", "choose"];
        let pass = |(shader, entry)| shared.pipeline(Pass::new(shader, entry, R::PRECISION));
        let passes = PASSES.into_iter().zip(entries).map(pass).collect::<Result<_, _>>()?;
        let room = |label, each: usize| storage(shared, label, (n_slots * each) as u64);
        let size = size_of::<R>();
        let buffers = GpuSlotBuffers {
            works: room("works", size_of::<Work>())?,
            numbers: room("numbers", size_of::<Numbers<R>>())?,
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
            shape: SlotShape { n_slots, ..tables.shape.clone() },
            sources: tables.sources.clone(),
            passes,
            workgroup: shared.workgroup(R::PRECISION)?,
            buffers,
            bound: None,
            uploads: UploadBuffer::new(shared, FIRST_BYTES)?,
            staging: Staging::new(shared, answer_bytes + PassClock::BYTES)?,
            clock: PassClock::new(shared)?,
            packed: Packed::default(),
            sent: 0,
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
        packed.works.iter().for_each(|work| self.words.extend_from_slice(&work.values()));
        self.reals.clear();
        packed.numbers.iter().for_each(|numbers| self.reals.extend_from_slice(&numbers.values()));
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

    fn bind(&self) -> Result<Vec<Vec<wgpu::BindGroup>>, BackendError> {
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
        let groups = |(pass, pipeline): (usize, &Pipeline)| {
            // Passes after the projection read no columns.
            let sources = if pass <= PROJECT { &self.sources[..] } else { &self.sources[..1] };
            sources.iter().map(|source| bind(pipeline, source)).collect()
        };
        self.passes.iter().enumerate().map(groups).collect()
    }

    /// Returns the passes of the packed round, in order, each with its place among [`PASSES`].
    fn dispatches<'a>(&'a self, bound: &'a [Vec<wgpu::BindGroup>]) -> Vec<(usize, Dispatch<'a>)> {
        let packed = &self.packed;
        let n_projected = packed.projected.len();
        let rows = match self.shape.columns {
            DeviceColumns::Features(_) => n_projected.div_ceil(TOGETHER),
            DeviceColumns::Gram | DeviceColumns::Kernel { .. } => n_projected,
        };
        let subset = packed.works.iter().filter(|work| work.listed == 1).map(|work| work.n_scored as usize).max().unwrap_or(0);
        let mut all = Vec::new();
        for (pass, (pipeline, groups)) in self.passes.iter().zip(bound).enumerate() {
            for (source, group) in self.sources.iter().zip(groups) {
                let grid = match pass {
                    FACTOR => [source.chunk.len / self.workgroup.block(), packed.factored.len()],
                    PROJECT => [source.chunk.len / self.workgroup.threads() as usize, rows],
                    UPDATE => [self.shape.extent.n_tiles(), packed.works.len()],
                    LIST => [subset.div_ceil(TILE), packed.listed.len()],
                    _ => [packed.works.len(), 1],
                };
                all.push((pass, (pipeline, group, grid.map(|n| n as u32))));
            }
        }
        all
    }

    /// Returns all planes, for tests.
    #[cfg(test)]
    pub(super) fn planes(&self) -> Vec<R> {
        read_all(&self.shared, &self.buffers.planes)
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
        self.sent += self.packed.gather(parcels.iter_mut().filter_map(R::packed))?;
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

    fn receive(&mut self) -> Result<Answers, BackendError> {
        let InFlight { pending, submission, n_works, timed } =
            self.in_flight.take().ok_or_else(|| BackendError::lost("no round is in flight"))?;
        pending.wait(&self.shared, submission, |bytes| {
            let (words, maxima) = bytes.split_at((n_works * ANSWER_WORDS * 4).min(bytes.len()));
            let (maxima, stamps) = maxima.split_at((n_works * MAXIMA * size_of::<R>()).min(maxima.len()));
            if !timed.is_empty() {
                let mut times = self.shared.pass_times.lock().unwrap_or_else(PoisonError::into_inner);
                add_times(&mut times, &timed, stamps, self.shared.queue.get_timestamp_period());
            }
            let maxima = maxima.chunks_exact(size_of::<R>()).map(|value| bytemuck::pod_read_unaligned::<R>(value).wide());
            Answers { words: bytemuck::pod_collect_to_vec(words), maxima: maxima.collect() }
        })
    }

    fn sent(&self) -> u64 {
        self.sent
    }

    fn set_points(&mut self, slot: usize, gram: &dyn GramSource) -> Result<f64, BackendError> {
        let own = self.shape.own_points::<R>(slot, gram)?;
        if self.shape.kernels.is_empty() {
            let room = |label, values: &[R]| storage(&self.shared, label, (self.shape.n_slots * size_of_val(values)) as u64);
            self.sources[0].columns = room("coordinates", &own.coords)?;
            self.buffers.base = room("base", &own.base)?;
            self.bound = None;
        }
        self.shape.take(slot, &own)?;
        for (buffer, values) in [(&self.sources[0].columns, &own.coords), (&self.buffers.base, &own.base)] {
            let bytes: &[u8] = bytemuck::cast_slice(values);
            upload(&self.shared, buffer, (slot * bytes.len()) as u64, bytes)?;
        }
        Ok(own.error)
    }
}
