//! Opens, tests and shares the device.

use super::adapters::{AdapterChoice, AdapterFacts, adapters, choose};
use super::clock::PassTimes;
use super::lanes::GpuRounds;
use super::pipeline::{Pass, Pipeline};
use super::readback::Health;
use super::tables::GpuTables;
use super::workgroup::{Workgroup, WorkgroupLimits};
use privateer_backend::BackendError;
use privateer_backend::device::{Device, DeviceRounds, LoopDomain, Precision, Tables};
use privateer_backend::precision::F64Rate;
use privateer_gp::score::Basis;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Settings for tests and measurements; none changes an answer, except a replacement that plants a fault.
#[derive(Debug, Clone, Default)]
pub struct GpuOptions {
    /// Largest binding in bytes, at most the adapter's limit.
    pub max_binding: Option<u64>,
    /// Threads per workgroup, at most the adapter's limit.
    pub max_threads: Option<u32>,
    /// Shared memory per workgroup in bytes, at most the adapter's limit.
    pub max_shared: Option<u32>,
    /// Computes in f32 alone, even where f64 is available.
    pub without_f64: bool,
    /// Reduces in shared memory, even where subgroups are available.
    pub without_subgroups: bool,
    /// Times the passes of rounds, where the adapter can: [`Gpu::pass_times`].
    pub time_passes: bool,
    /// Text replacements in shaders.
    pub replacements: Vec<Replacement>,
}

/// A replacement of a piece of a shader's text.
#[derive(Debug, Clone, Copy)]
pub struct Replacement {
    /// Name of the shader.
    pub shader: &'static str,
    /// The text to replace; it must occur.
    pub from: &'static str,
    /// The replacement.
    pub to: &'static str,
}

/// An open GPU.
#[derive(Clone)]
pub struct Gpu {
    shared: Arc<GpuShared>,
}

/// State that all objects on a device share.
pub struct GpuShared {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub facts: AdapterFacts,
    /// Whether it computes in f64, as tested.
    pub has_f64: bool,
    /// Rate in f64, once it is measured.
    pub f64_rate: OnceLock<F64Rate>,
    /// Whether reductions use subgroups.
    pub subgroups: bool,
    pub limits: WorkgroupLimits,
    pub max_binding: u64,
    /// Largest number of workgroups in a dimension.
    pub max_groups: usize,
    /// Errors that occurred outside of calls.
    pub health: Arc<Health>,
    pub times_passes: bool,
    /// Time of all passes since it was last asked for.
    pub pass_times: Mutex<PassTimes>,
    /// Planted faults.
    pub replacements: Vec<Replacement>,
    pipelines: Mutex<BTreeMap<Pass, Pipeline>>,
}

impl Gpu {
    /// Opens the most suitable adapter.
    ///
    /// # Errors
    /// if none is suitable or the best cannot be opened.
    pub fn open(choice: AdapterChoice) -> Result<Self, BackendError> {
        Self::with_options(choice, GpuOptions::default())
    }

    /// Opens the most suitable hardware adapter; `None` if no hardware adapter is present, which is not an error.
    ///
    /// # Errors
    /// if there is an adapter that cannot be opened.
    pub fn automatic() -> Result<Option<Self>, BackendError> {
        if !adapters().iter().any(|adapter| adapter.taken_by_auto) {
            return Ok(None);
        }
        choose(AdapterChoice::Auto).ok().map(|found| Self::opened(found, GpuOptions::default())).transpose()
    }

    /// Opens an adapter like [`Gpu::open`], with settings for tests.
    pub fn with_options(choice: AdapterChoice, options: GpuOptions) -> Result<Self, BackendError> {
        Self::opened(choose(choice)?, options)
    }

    fn opened((facts, adapter): (AdapterFacts, wgpu::Adapter), options: GpuOptions) -> Result<Self, BackendError> {
        let limits = tightened(adapter.limits(), &options);
        let workgroups = WorkgroupLimits::of(&limits);
        let wants_f64 = facts.f64 && !options.without_f64 && Workgroup::suited(workgroups, Precision::F64).is_some();
        let subgroups = facts.subgroups.is_some() && !options.without_subgroups;
        let mut features = wgpu::Features::empty();
        features.set(wgpu::Features::SHADER_F64, wants_f64);
        features.set(wgpu::Features::SUBGROUP, subgroups);
        let times_passes = options.time_passes && adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        features.set(wgpu::Features::TIMESTAMP_QUERY, times_passes);
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("privateer"),
            required_features: features,
            required_limits: limits.clone(),
            experimental_features: wgpu::ExperimentalFeatures::disabled(),
            memory_hints: wgpu::MemoryHints::Performance,
            trace: wgpu::Trace::Off,
        }))
        .map_err(|problem| BackendError::lost(format!("{} cannot be opened: {problem}", facts.name)))?;
        let health = Arc::new(Health::default());
        let (on_loss, on_error) = (Arc::clone(&health), Arc::clone(&health));
        let name = facts.name.clone();
        device.set_device_lost_callback(move |reason, message| on_loss.note(format!("{name} was lost ({reason:?}): {message}")));
        let name = facts.name.clone();
        device.on_uncaptured_error(Arc::new(move |problem: wgpu::Error| on_error.note(format!("{name} failed: {problem}"))));
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let mut shared = GpuShared {
            device,
            queue,
            facts,
            has_f64: wants_f64,
            f64_rate: OnceLock::new(),
            subgroups,
            limits: workgroups,
            // Sizes of buffers are multiples of 16.
            max_binding: options.max_binding.unwrap_or(u64::MAX).min(most) / 16 * 16,
            max_groups: limits.max_compute_workgroups_per_dimension as usize,
            health,
            times_passes,
            pass_times: Mutex::default(),
            replacements: options.replacements,
            pipelines: Mutex::default(),
        };
        if !shared.computes_in::<f32>()? {
            return Err(BackendError::unsuitable(format!(
                "{} does not round in f32 as error bounds assume; use `--backend cpu`",
                shared.facts.name
            )));
        }
        shared.has_f64 = wants_f64 && shared.computes_in::<f64>().unwrap_or(false);
        if subgroups && !shared.reduces_as_it_should().unwrap_or(false) {
            shared.subgroups = false;
            shared.pipelines = Mutex::default();
        }
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the properties of the adapter.
    pub fn facts(&self) -> &AdapterFacts {
        &self.shared.facts
    }

    /// Returns the time of all passes since the last call, if they are timed.
    pub fn pass_times(&self) -> Option<PassTimes> {
        let mut times = self.shared.pass_times.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.times_passes.then(|| std::mem::take(&mut *times))
    }

    /// Releases the device: all later work on it fails, like on a lost device.
    pub fn destroy(&self) {
        self.shared.device.destroy();
    }

    pub(super) fn shared(&self) -> &Arc<GpuShared> {
        &self.shared
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("facts", &self.shared.facts).field("has_f64", &self.shared.has_f64).finish()
    }
}

impl Device for Gpu {
    fn name(&self) -> &'static str {
        "gpu"
    }

    fn description(&self) -> String {
        let facts = &self.shared.facts;
        let types = if self.shared.has_f64 { "f32 and f64" } else { "f32" };
        format!("{} ({}, {}, {}, {types})", facts.name, facts.kind, facts.interface, facts.driver)
    }

    fn computes_in(&self, precision: Precision) -> bool {
        self.shared.has_f64 || precision == Precision::F32
    }

    fn f64_rate(&self) -> F64Rate {
        self.shared.f64_rate()
    }

    fn tables(&self, basis: &Basis, precision: Precision) -> Result<Box<dyn Tables>, BackendError> {
        if !self.computes_in(precision) {
            return Err(BackendError::unsuitable(format!("{} does not compute in f64", self.shared.facts.name)));
        }
        Ok(match precision {
            Precision::F32 => Box::new(GpuTables::<f32>::new(&self.shared, basis)?),
            Precision::F64 => Box::new(GpuTables::<f64>::new(&self.shared, basis)?),
        })
    }

    fn rounds(&self, domain: Arc<LoopDomain>) -> Result<Option<Box<dyn DeviceRounds>>, BackendError> {
        let fits = || self.shared.workgroup(Precision::F64).is_ok_and(|size| size.holds_lanes(self.shared.limits));
        if !self.shared.has_f64 || !fits() {
            return Ok(None);
        }
        Ok(Some(Box::new(GpuRounds::new(&self.shared, domain)?)))
    }
}

/// Returns the adapter's limits, reduced by the options.
fn tightened(mut limits: wgpu::Limits, options: &GpuOptions) -> wgpu::Limits {
    let threads = options.max_threads.unwrap_or(u32::MAX);
    for limit in [&mut limits.max_compute_invocations_per_workgroup, &mut limits.max_compute_workgroup_size_x] {
        *limit = threads.min(*limit);
    }
    let shared = &mut limits.max_compute_workgroup_storage_size;
    *shared = options.max_shared.unwrap_or(u32::MAX).min(*shared);
    limits
}

impl GpuShared {
    /// Returns the size of all workgroups of a type.
    pub fn workgroup(&self, precision: Precision) -> Result<Workgroup, BackendError> {
        Workgroup::suited(self.limits, precision)
            .ok_or_else(|| BackendError::unsuitable(format!("the workgroups of {} are too small", self.facts.name)))
    }

    /// Returns a pipeline, compiled at first use.
    pub fn pipeline(&self, pass: Pass) -> Result<Pipeline, BackendError> {
        if let Some(pipeline) = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner).get(&pass) {
            return Ok(pipeline.clone());
        }
        let pipeline = Pipeline::new(self, pass)?;
        self.pipelines.lock().unwrap_or_else(PoisonError::into_inner).insert(pass, pipeline.clone());
        Ok(pipeline)
    }
}

/// One dispatch: pipeline, buffers, workgroups.
pub type Dispatch<'a> = (&'a Pipeline, &'a wgpu::BindGroup, [u32; 2]);

/// Adds one compute pass with these dispatches, in order; skips those with an empty grid.
pub fn run<'a>(encoder: &mut wgpu::CommandEncoder, dispatches: impl IntoIterator<Item = &'a Dispatch<'a>>) {
    run_timed(encoder, dispatches, None);
}

/// Adds a compute pass as [`run`], between two time stamps.
pub fn run_timed<'a>(
    encoder: &mut wgpu::CommandEncoder,
    dispatches: impl IntoIterator<Item = &'a Dispatch<'a>>,
    timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
) {
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
    for (pipeline, group, [x, y]) in dispatches {
        if *x != 0 && *y != 0 {
            pass.set_pipeline(&pipeline.pipeline);
            pass.set_bind_group(0, *group, &[]);
            pass.dispatch_workgroups(*x, *y, 1);
        }
    }
}
