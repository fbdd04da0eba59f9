//! Lists the adapters and selects one.

use super::workgroup::{self, Workgroup, WorkgroupLimits};
use privateer_backend::BackendError;
use privateer_backend::device::Precision;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Which adapters may be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterChoice {
    /// Hardware only: a software adapter is slower than the CPU backend.
    Auto,
    /// The best adapter of any kind.
    Any,
}

/// Which of several adapters is taken, where not the first that suits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreferredAdapter {
    /// The adapter of this number in the list, or the first whose name contains the text, in any case.
    Named(String),
    /// Shares of one sweep on a machine with several equal cards take one each, in turn.
    Share(u64),
}

static PREFERRED: Mutex<Option<PreferredAdapter>> = Mutex::new(None);

/// The variable that names an adapter for every program with this graphics library.
pub const ADAPTER_VARIABLE: &str = "WGPU_ADAPTER_NAME";

/// Sets which adapter this process takes; called before adapters are first listed.
pub fn prefer(preferred: PreferredAdapter) {
    *PREFERRED.lock().unwrap_or_else(PoisonError::into_inner) = Some(preferred);
}

/// Returns the preference of this process: as set, else the variable's.
fn preferred() -> Option<PreferredAdapter> {
    let set = PREFERRED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let named = || std::env::var(ADAPTER_VARIABLE).ok().filter(|name| !name.is_empty()).map(PreferredAdapter::Named);
    match set {
        Some(PreferredAdapter::Named(_)) => set,
        _ => named().or(set),
    }
}

/// Marks the adapter that is taken; none, where a name is stated and no adapter that suits has it.
fn mark(found: &mut [AdapterFacts], preferred: Option<&PreferredAdapter>) {
    let suits = |facts: &AdapterFacts| facts.lacks.is_none();
    let first = found.iter().position(suits);
    let taken = match preferred {
        None => first,
        Some(PreferredAdapter::Named(text)) => {
            let name = text.trim().to_lowercase();
            let holds = |facts: &AdapterFacts| !name.is_empty() && facts.name.to_lowercase().contains(&name);
            let found_at = match name.parse::<usize>() {
                Ok(number) => Some(number).filter(|&at| at < found.len()),
                Err(_) => found.iter().position(|facts| suits(facts) && holds(facts)),
            };
            found_at.filter(|&at| suits(&found[at]))
        }
        Some(PreferredAdapter::Share(number)) => first.and_then(|first| {
            let equal: Vec<usize> = (first..found.len())
                .filter(|&at| suits(&found[at]) && (&found[at].name, found[at].kind) == (&found[first].name, found[first].kind))
                .collect();
            equal.get(usize::try_from(number % equal.len().max(1) as u64).ok()?).copied()
        }),
    };
    if let Some(at) = taken {
        found[at].taken_by_gpu = true;
        found[at].taken_by_auto = found[at].kind != "software";
    }
}

/// Properties of an adapter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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

/// The process that searched first; 0 before.
static SEARCHED_BY: AtomicU32 = AtomicU32::new(0);

/// Whether this process was forked from one that has used graphics drivers, whose threads and locks do not survive that.
fn is_forked() -> bool {
    let own = std::process::id();
    match SEARCHED_BY.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => false,
        Err(first) => first != own,
    }
}

/// Returns all adapters, in the order of preference; drivers are asked once in a process, and never in a fork of one that asked.
pub fn adapters() -> Vec<AdapterFacts> {
    static FACTS: Mutex<Option<Vec<AdapterFacts>>> = Mutex::new(None);
    // Before the lock: a thread of the process that was forked may have held it.
    if is_forked() {
        return Vec::new();
    }
    let mut facts = FACTS.lock().unwrap_or_else(PoisonError::into_inner);
    facts.get_or_insert_with(|| found().into_iter().map(|(facts, _)| facts).collect()).clone()
}

/// Returns the adapter to use.
///
/// # Errors
/// [`BackendError::NoAdapter`] if none is suitable, [`BackendError::Unsuitable`] in a fork of a process that has used drivers.
pub fn choose(choice: AdapterChoice) -> Result<(AdapterFacts, wgpu::Adapter), BackendError> {
    if is_forked() {
        let problem =
            "this process was forked from one that has used graphics drivers, which do not survive that; start it by `spawn`";
        return Err(BackendError::unsuitable(problem));
    }
    let mut found = found();
    let taken = |facts: &AdapterFacts| if choice == AdapterChoice::Auto { facts.taken_by_auto } else { facts.taken_by_gpu };
    if let Some(at) = found.iter().position(|(facts, _)| taken(facts)) {
        return Ok(found.swap_remove(at));
    }
    let listed = found
        .iter()
        .map(|(facts, _)| {
            let lacks = facts.lacks.as_ref().map_or_else(String::new, |lacks| format!(": {lacks}"));
            format!("{} ({}{lacks})", facts.name, facts.kind)
        })
        .collect();
    let named = match preferred() {
        Some(PreferredAdapter::Named(name)) => Some(name),
        _ => None,
    };
    Err(BackendError::NoAdapter { any: choice == AdapterChoice::Any, named, found: listed })
}

fn found() -> Vec<(AdapterFacts, wgpu::Adapter)> {
    // An instance without any interface would panic: the feature of this platform's may not be compiled.
    let interfaces = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let interfaces = interfaces & wgpu::Instance::enabled_backend_features();
    if interfaces.is_empty() {
        return Vec::new();
    }
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = interfaces;
    descriptor.flags = wgpu::InstanceFlags::empty();
    let adapters = pollster::block_on(wgpu::Instance::new(descriptor).enumerate_adapters(interfaces));
    let mut found: Vec<_> = adapters.into_iter().map(|adapter| (facts(&adapter), adapter)).collect();
    // The sort is stable: equal adapters stay in the order of the system.
    found.sort_by_key(|(facts, _)| rank(facts.kind));
    let (mut facts, adapters): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    mark(&mut facts, preferred().as_ref());
    facts.into_iter().zip(adapters).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, kind: &'static str, lacks: Option<&str>) -> AdapterFacts {
        let lacks = lacks.map(str::to_owned);
        AdapterFacts { name: name.to_owned(), kind, f64: true, lacks, ..AdapterFacts::default() }
    }

    #[test]
    fn the_named_adapter_is_taken_and_shares_take_one_each() {
        let named = |text: &str| Some(PreferredAdapter::Named(text.to_owned()));
        let all = [
            adapter("old", "discrete", Some("threads")),
            adapter("H100", "discrete", None),
            adapter("H100", "discrete", None),
            adapter("Arc", "integrated", None),
            adapter("llvmpipe", "software", None),
        ];
        for (preferred, taken) in [
            (None, Some(1)),
            (named("arc"), Some(3)),
            (named("LLVM"), Some(4)),
            (named("2"), Some(2)),
            (named("0"), None),
            (named("old"), None),
            (named("7"), None),
            (named("100"), None),
            (named(""), None),
            (named("A100"), None),
            (Some(PreferredAdapter::Share(0)), Some(1)),
            (Some(PreferredAdapter::Share(1)), Some(2)),
            (Some(PreferredAdapter::Share(4)), Some(1)),
        ] {
            let mut found = all.to_vec();
            mark(&mut found, preferred.as_ref());
            let at = |by: fn(&AdapterFacts) -> bool| found.iter().position(by);
            assert_eq!(at(|facts| facts.taken_by_gpu), taken, "{preferred:?}");
            assert_eq!(at(|facts| facts.taken_by_auto), taken.filter(|at| *at != 4), "{preferred:?}");
        }
        mark(&mut [], Some(&PreferredAdapter::Share(3)));
    }
}
