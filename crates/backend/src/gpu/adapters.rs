//! Lists the adapters and selects one.

use super::workgroup::{self, Workgroup, WorkgroupLimits};
use crate::BackendError;
use crate::device::Precision;

/// Which adapters may be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterChoice {
    /// Hardware only: a software adapter is slower than the CPU backend.
    Auto,
    /// The best adapter of any kind.
    Any,
}

/// Properties of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterFacts {
    /// Name of the adapter.
    pub name: String,
    /// "discrete", "integrated", "virtual", "other" or "software".
    pub kind: &'static str,
    /// Name and version of the driver.
    pub driver: String,
    /// Graphics interface that gives access to it.
    pub interface: String,
    /// Largest binding, in bytes.
    pub max_binding: u64,
    /// Largest buffer, in bytes.
    pub max_buffer: u64,
    /// Largest number of threads of a workgroup.
    pub workgroup_threads: u32,
    /// Largest shared memory of a workgroup, in bytes.
    pub workgroup_bytes: u32,
    /// Largest number of storage buffers of a pass.
    pub storage_buffers: u32,
    /// Whether it reports support for f64.
    pub f64: bool,
    /// Smallest and largest number of threads of a subgroup; `None` without subgroups in shaders.
    pub subgroups: Option<(u32, u32)>,
    /// Threads of its workgroups, in f32 and in f64.
    pub workgroups: [Option<u32>; 2],
    /// What the adapter lacks, if anything.
    pub lacks: Option<String>,
    /// Whether `auto` selects it.
    pub taken_by_auto: bool,
    /// Whether `gpu` selects it.
    pub taken_by_gpu: bool,
}

/// Storage buffers that the shaders require.
const STORAGE_BUFFERS: u32 = 8;

/// Returns all adapters, in the order of preference.
#[must_use]
pub fn adapters() -> Vec<AdapterFacts> {
    found().into_iter().map(|(_, facts)| facts).collect()
}

/// Returns the adapter to use.
///
/// # Errors
/// [`BackendError::NoAdapter`] if none is suitable.
pub fn choose(choice: AdapterChoice) -> Result<(wgpu::Adapter, AdapterFacts), BackendError> {
    let mut found = found();
    let taken = |facts: &AdapterFacts| if choice == AdapterChoice::Auto { facts.taken_by_auto } else { facts.taken_by_gpu };
    if let Some(at) = found.iter().position(|(_, facts)| taken(facts)) {
        return Ok(found.swap_remove(at));
    }
    let listed = found
        .iter()
        .map(|(_, facts)| {
            let lacks = facts.lacks.as_ref().map_or_else(String::new, |lacks| format!(": {lacks}"));
            format!("{} ({}{lacks})", facts.name, facts.kind)
        })
        .collect();
    Err(BackendError::NoAdapter { any: choice == AdapterChoice::Any, found: listed })
}

fn found() -> Vec<(wgpu::Adapter, AdapterFacts)> {
    // An instance without any interface would panic: the feature of this platform's may not be compiled.
    let interfaces = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let interfaces = interfaces & wgpu::Instance::enabled_backend_features();
    if interfaces.is_empty() {
        return Vec::new();
    }
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = interfaces;
    descriptor.flags = wgpu::InstanceFlags::empty();
    let adapters = {
        let _quiet = QuietDrivers::start();
        let instance = wgpu::Instance::new(descriptor);
        pollster::block_on(instance.enumerate_adapters(interfaces))
    };
    let mut found: Vec<_> = adapters
        .into_iter()
        .map(|adapter| {
            let facts = facts(&adapter);
            (adapter, facts)
        })
        .collect();
    // The sort is stable: equal adapters stay in the order of the system.
    found.sort_by_key(|(_, facts)| rank(facts.kind));
    if let Some((_, first)) = found.iter_mut().find(|(_, facts)| facts.lacks.is_none()) {
        first.taken_by_gpu = true;
        first.taken_by_auto = first.kind != "software";
    }
    found
}

/// Suppresses the output of drivers to standard error while they start.
///
/// Some report missing desktops there, which no user asked for.
struct QuietDrivers {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    saved: Option<std::os::fd::OwnedFd>,
    /// One thread at a time: a second one would save the redirected stream and restore that.
    _one: std::sync::MutexGuard<'static, ()>,
}

static REDIRECTING: std::sync::Mutex<()> = std::sync::Mutex::new(());

impl QuietDrivers {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn start() -> Self {
        let redirect = || {
            let nowhere = std::fs::File::options().write(true).open("/dev/null").ok()?;
            let saved = std::os::fd::AsFd::as_fd(&std::io::stderr()).try_clone_to_owned().ok()?;
            rustix::stdio::dup2_stderr(&nowhere).ok()?;
            Some(saved)
        };
        let one = REDIRECTING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Self { saved: redirect(), _one: one }
    }

    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    fn start() -> Self {
        Self { _one: REDIRECTING.lock().unwrap_or_else(std::sync::PoisonError::into_inner) }
    }
}

impl Drop for QuietDrivers {
    fn drop(&mut self) {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        if let Some(saved) = &self.saved {
            let _ = rustix::stdio::dup2_stderr(saved);
        }
    }
}

fn rank(kind: &str) -> usize {
    ["discrete", "integrated", "virtual", "other", "software"].iter().position(|known| *known == kind).unwrap_or(usize::MAX)
}

fn facts(adapter: &wgpu::Adapter) -> AdapterFacts {
    let (info, limits) = (adapter.get_info(), adapter.limits());
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => "discrete",
        wgpu::DeviceType::IntegratedGpu => "integrated",
        wgpu::DeviceType::VirtualGpu => "virtual",
        wgpu::DeviceType::Cpu => "software",
        wgpu::DeviceType::Other => "other",
    };
    let (has, least) = (WorkgroupLimits::of(&limits), workgroup::least());
    let subgroups = adapter.features().contains(wgpu::Features::SUBGROUP);
    let needs = [
        ("threads in a workgroup", has.threads, least.threads),
        ("shared bytes in a workgroup", has.bytes, least.bytes),
        ("storage buffers in a pass", limits.max_storage_buffers_per_shader_stage, STORAGE_BUFFERS),
    ];
    let lacks = needs
        .into_iter()
        .find(|&(_, has, needed)| has < needed)
        .map(|(what, has, needed)| format!("{has} {what}, {needed} are needed"));
    AdapterFacts {
        name: info.name,
        kind,
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        interface: info.backend.to_string(),
        max_binding: limits.max_storage_buffer_binding_size,
        max_buffer: limits.max_buffer_size,
        workgroup_threads: limits.max_compute_invocations_per_workgroup,
        workgroup_bytes: limits.max_compute_workgroup_storage_size,
        storage_buffers: limits.max_storage_buffers_per_shader_stage,
        f64: adapter.features().contains(wgpu::Features::SHADER_F64),
        subgroups: subgroups.then_some((info.subgroup_min_size, info.subgroup_max_size)),
        workgroups: [Precision::F32, Precision::F64].map(|precision| Workgroup::suited(has, precision).map(Workgroup::threads)),
        lacks,
        taken_by_auto: false,
        taken_by_gpu: false,
    }
}
