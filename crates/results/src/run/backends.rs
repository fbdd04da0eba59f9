//! Chooses which backend scores, by name or by what a sweep costs on each.
//!
//! `note` takes warnings, and what was chosen unless `quiet` is true.

#[cfg(feature = "gpu")]
use super::drivers::quietly;
#[cfg(feature = "gpu")]
use privateer_backend::BackendError;
#[cfg(feature = "gpu")]
use privateer_backend::cost::{DeviceRates, LEAST_GAIN, Prediction, UNBOUNDED};
use privateer_backend::device::Precision;
use privateer_backend::{Backend, Cpu};
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::engine::Shard;
#[cfg(feature = "gpu")]
use privateer_engine::engine::{Preparation, scoring_error, workloads};
use privateer_engine::env::DataFolder;
use privateer_engine::spec::Sweep;
use std::sync::Arc;

/// The backends that `--backend` takes.
pub const BACKEND_NAMES: [&str; 3] = ["auto", "cpu", "gpu"];

/// A backend, and what is to be said of its figures.
pub struct OpenedBackend {
    /// The backend.
    pub backend: Arc<dyn Backend>,
    /// A driver that computes on the processor: for correctness, never for speed.
    pub software: bool,
    /// Its name for tables.
    pub device: String,
    /// Why it was chosen, where it was chosen for the user.
    pub reason: Option<String>,
    /// The device, to measure it.
    #[cfg(feature = "gpu")]
    pub gpu: Option<privateer_gpu::Gpu>,
}

/// Returns the processor as a backend that scores every point in every round.
///
/// # Errors
/// [`Error::Input`] where a GPU is asked for.
pub fn dense_backend(name: &str) -> Result<OpenedBackend, Error> {
    if name == "gpu" {
        let diagnostic = Diagnostic::new("`--dense` means nothing to a GPU");
        return diagnostic.hint("a device scores every point anyway").refuse();
    }
    Ok(OpenedBackend { backend: Arc::new(Cpu::dense()), ..cpu() })
}

/// Opens `cpu`, `gpu` (whatever adapter there is) or `auto` (a real GPU where there is one, else the CPU), and says what it
/// took unless that is the CPU.
///
/// # Errors
/// [`Error::Device`] if `gpu` is requested and no GPU is present, or the GPU lacks the floating-point type.
pub fn open_backend(name: &str, precision: Option<Precision>, quiet: bool, note: fn(&str)) -> Result<OpenedBackend, Error> {
    match name {
        "gpu" => gpu_backend(precision, quiet, false, note),
        "auto" => Ok(automatic(quiet, note).unwrap_or_else(cpu)),
        _ => Ok(cpu()),
    }
}

/// Opens a backend for a sweep: as [`open_backend`], but `auto` takes a hardware GPU only where it is predicted to pay.
///
/// # Errors
/// As [`open_backend`], and the first error of the preparation of a cell.
pub fn open_backend_for(
    name: &str,
    sweep: &Sweep,
    data: &DataFolder,
    threads: Option<usize>,
    quiet: bool,
    note: fn(&str),
) -> Result<OpenedBackend, Error> {
    if name != "auto" {
        return open_backend(name, None, quiet, note);
    }
    let choice = automatic_for(sweep, data, threads, note)?;
    if let (Some(reason), false) = (&choice.reason, quiet) {
        note(reason);
    }
    Ok(choice)
}

/// Sets which adapter this process takes where a GPU scores: that of this name or number, or the one of a shard's turn.
///
/// # Errors
/// [`Error::Device`] where no adapter that suits is the named one.
#[cfg(feature = "gpu")]
pub fn prefer_adapter(adapter: Option<&str>, shard: Option<Shard>) -> Result<(), Error> {
    use privateer_gpu::{PreferredAdapter, adapters, prefer};
    let Some(name) = adapter else {
        if let Some(shard) = shard {
            prefer(PreferredAdapter::Share(shard.index));
        }
        return Ok(());
    };
    prefer(PreferredAdapter::Named(name.to_owned()));
    let found = quietly(adapters);
    if found.iter().any(|adapter| adapter.taken_by_gpu) {
        return Ok(());
    }
    let found = found.iter().map(|adapter| adapter.name.clone()).collect();
    Err(scoring_error(BackendError::NoAdapter { any: true, named: Some(name.to_owned()), found }))
}

/// Refuses the name of an adapter: there is none.
#[cfg(not(feature = "gpu"))]
pub fn prefer_adapter(adapter: Option<&str>, _shard: Option<Shard>) -> Result<(), Error> {
    if adapter.is_some() { gpu_backend(None, true, false, |_| ()).map(drop) } else { Ok(()) }
}

/// Adds to a device's error how to do without the device, unless it has another hint; to that of a folder in use, how to wait.
pub fn with_hint(mut error: Error) -> Error {
    if let Error::Device { hint, .. } = &mut error {
        hint.get_or_insert_with(|| "use `--backend cpu`: the answers are the same".to_owned());
    }
    if let Error::Untrusted { hint, .. } = &mut error {
        hint.get_or_insert_with(|| "use `--backend cpu`: the answers are the same; check the graphics driver".to_owned());
    }
    if let Error::InUse { hint, .. } = &mut error {
        hint.push_str("; `--wait SECONDS` waits");
    }
    error
}

fn cpu() -> OpenedBackend {
    OpenedBackend {
        backend: Arc::new(Cpu::default()),
        software: false,
        device: "cpu".to_owned(),
        reason: None,
        #[cfg(feature = "gpu")]
        gpu: None,
    }
}

#[cfg(feature = "gpu")]
fn with_fallback(gpu: privateer_gpu::Gpu, precision: Option<Precision>, note: fn(&str)) -> OpenedBackend {
    use privateer_backend::{Batched, Fallback};
    let told = move |error: &BackendError| note(&format!("warning: {error}; the CPU carries on, with the same answers"));
    let batched = Batched::new(Arc::new(gpu.clone())).with_precision(precision);
    OpenedBackend {
        backend: Arc::new(Fallback::new(Arc::new(batched), told)),
        software: gpu.facts().kind == "software",
        device: gpu.facts().name.clone(),
        reason: None,
        gpu: Some(gpu),
    }
}

/// Opens the best adapter of any kind.
/// * `time_passes` — whether its passes are timed by its own clock
#[cfg(feature = "gpu")]
pub fn gpu_backend(precision: Option<Precision>, quiet: bool, time_passes: bool, note: fn(&str)) -> Result<OpenedBackend, Error> {
    use privateer_backend::device::Device;
    use privateer_gpu::{AdapterChoice, Gpu, GpuOptions};
    let options = GpuOptions { time_passes, ..GpuOptions::default() };
    let gpu = quietly(|| Gpu::with_options(AdapterChoice::Any, options)).map_err(scoring_error)?;
    if let Some(precision) = precision.filter(|&precision| !gpu.computes_in(precision)) {
        return Err(Error::Device {
            problem: format!("{} does not compute in {precision:?}", gpu.facts().name),
            hint: Some("leave `--precision` away".to_owned()),
        });
    }
    if !quiet {
        note(&format!("gpu: {}", gpu.description()));
    }
    Ok(with_fallback(gpu, precision, note))
}

#[cfg(feature = "gpu")]
fn automatic(quiet: bool, note: fn(&str)) -> Option<OpenedBackend> {
    use privateer_backend::device::Device;
    let gpu = hardware(note)?;
    if !quiet {
        note(&format!("gpu: {}", gpu.description()));
    }
    Some(with_fallback(gpu, None, note))
}

/// Opens the hardware adapter, if there is one.
#[cfg(feature = "gpu")]
fn hardware(note: fn(&str)) -> Option<privateer_gpu::Gpu> {
    quietly(privateer_gpu::Gpu::automatic).unwrap_or_else(|error| {
        note(&format!("warning: {error}; the CPU scores, with the same answers"));
        None
    })
}

/// Chooses for a sweep; the reason is absent where there was no choice.
#[cfg(feature = "gpu")]
fn automatic_for(sweep: &Sweep, data: &DataFolder, threads: Option<usize>, note: fn(&str)) -> Result<OpenedBackend, Error> {
    use privateer_gpu::adapters;
    if !quietly(adapters).iter().any(|adapter| adapter.taken_by_auto) {
        return Ok(cpu());
    }
    let (backend, threads) = (Cpu::default(), threads.unwrap_or_else(cores));
    let because = |reason: String, opened: OpenedBackend| Ok(OpenedBackend { reason: Some(reason), ..opened });
    let workloads = workloads(sweep, &Preparation::new(sweep, data, &backend))?;
    let least = Prediction::of(&workloads, threads, &UNBOUNDED);
    if !least.pays() {
        return because(format!("cpu: no GPU would be {LEAST_GAIN} times faster here: at best {least}"), cpu());
    }
    let Some(gpu) = hardware(note) else { return Ok(cpu()) };
    let name = gpu.facts().name.clone();
    match device_rates(&gpu).map(|rates| Prediction::of(&workloads, threads, &rates)) {
        Err(error) => because(format!("cpu: {name} could not be measured: {error}"), cpu()),
        Ok(prediction) if prediction.pays() => {
            because(format!("gpu: {name}, predicted: {prediction}"), with_fallback(gpu, None, note))
        }
        Ok(prediction) => because(format!("cpu: {name} would not be {LEAST_GAIN} times faster: {prediction}"), cpu()),
    }
}

/// Returns the measured rates of a device.
#[cfg(feature = "gpu")]
pub fn device_rates(gpu: &privateer_gpu::Gpu) -> Result<DeviceRates, BackendError> {
    Ok(gpu.ceilings()?.rates)
}

/// Returns the number of threads that a run has by default.
#[cfg(feature = "gpu")]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(not(feature = "gpu"))]
fn automatic_for(_sweep: &Sweep, _data: &DataFolder, _threads: Option<usize>, _note: fn(&str)) -> Result<OpenedBackend, Error> {
    Ok(cpu())
}

/// Says that there is no backend for it.
#[cfg(not(feature = "gpu"))]
pub fn gpu_backend(
    _precision: Option<Precision>,
    _quiet: bool,
    _time_passes: bool,
    _note: fn(&str),
) -> Result<OpenedBackend, Error> {
    Err(Error::Device {
        problem: "this program was built without the feature `gpu`: it has no GPU backend".to_owned(),
        hint: None,
    })
}

#[cfg(not(feature = "gpu"))]
fn automatic(_quiet: bool, _note: fn(&str)) -> Option<OpenedBackend> {
    None
}
