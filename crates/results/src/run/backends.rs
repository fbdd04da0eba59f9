//! Chooses which backend scores, by name or by what was measured of a sweep's cells on each.
//!
//! `note` takes warnings, and what was chosen unless `quiet` is true.

#[cfg(feature = "gpu")]
use super::drivers::quietly;
#[cfg(feature = "gpu")]
use privateer_backend::BackendError;
use privateer_backend::device::Precision;
use privateer_backend::{Backend, Cpu};
use privateer_config::error::{Diagnostic, Error};
use privateer_engine::engine::Shard;
#[cfg(feature = "gpu")]
use privateer_engine::engine::scoring_error;
use privateer_engine::env::DataFolder;
use privateer_engine::spec::Sweep;
use std::sync::Arc;
#[cfg(all(feature = "gpu", feature = "report"))]
use {
    super::measured::{AutoChoice, RatesFile, choose, unmeasured},
    privateer_engine::engine::{Preparation, workloads},
    privateer_engine::spec::Task,
};

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
pub fn dense_backend(name: &str) -> Result<OpenedBackend, Error> {
    if name == "gpu" {
        let diagnostic = Diagnostic::new("`--dense` means nothing to a GPU");
        return diagnostic.hint("a device scores every point anyway").refuse();
    }
    Ok(OpenedBackend { backend: Arc::new(Cpu::dense()), ..cpu_backend() })
}

/// Opens a backend for a sweep: `cpu`, `gpu` (whatever adapter there is), or `auto`, which takes a hardware GPU only where it was
/// measured to be faster for the sweep's cells.
///
/// * `(part, threads)` — which part of the sweep is to be played, above 0 and at most 1, and on how many threads
pub fn open_backend(
    name: &str,
    sweep: &Sweep,
    data: &DataFolder,
    (part, threads): (f64, Option<usize>),
    quiet: bool,
    note: fn(&str),
) -> Result<OpenedBackend, Error> {
    match name {
        "gpu" => gpu_backend(None, quiet, false, note),
        "auto" => {
            let choice = automatic(sweep, data, (part, threads), note)?;
            if let (Some(reason), false) = (&choice.reason, quiet) {
                note(reason);
            }
            Ok(choice)
        }
        _ => Ok(cpu_backend()),
    }
}

/// Sets which adapter this process takes where a GPU scores: that of this name or number, or the one of a shard's turn.
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

/// Returns the processor.
pub fn cpu_backend() -> OpenedBackend {
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

/// Chooses for a sweep; the reason is absent where there was no choice.
#[cfg(all(feature = "gpu", feature = "report"))]
fn automatic(sweep: &Sweep, data: &DataFolder, of: (f64, Option<usize>), note: fn(&str)) -> Result<OpenedBackend, Error> {
    let adapter = quietly(privateer_gpu::adapters).into_iter().find(|adapter| adapter.taken_by_auto);
    let scores = sweep.cells.iter().any(|cell| matches!(cell.task, Task::Bandit(_)));
    let Some(adapter) = adapter.filter(|_| scores) else { return Ok(cpu_backend()) };
    let open = || {
        quietly(privateer_gpu::Gpu::automatic).unwrap_or_else(|error| {
            note(&format!("warning: {error}; the CPU scores, with the same answers"));
            None
        })
    };
    chosen(sweep, data, of, &adapter, &RatesFile::read(&note), note, open)
}

/// Chooses between the CPU and an adapter, which `open` opens.
#[cfg(all(feature = "gpu", feature = "report"))]
fn chosen(
    sweep: &Sweep,
    data: &DataFolder,
    (part, threads): (f64, Option<usize>),
    adapter: &privateer_gpu::AdapterFacts,
    file: &RatesFile,
    note: fn(&str),
    open: impl FnOnce() -> Option<privateer_gpu::Gpu>,
) -> Result<OpenedBackend, Error> {
    let (backend, rates) = (Cpu::default(), file.of(adapter));
    // Without rates nothing needs to be prepared: any workload is one that is not measured.
    let prepare = || workloads(sweep, &Preparation::new(sweep, data, &backend));
    let choice = match rates {
        Some(_) => choose(&prepare()?, (part, super::started_threads(threads)), adapter, rates),
        None => AutoChoice { is_device: false, reason: unmeasured(adapter, "this spec"), seconds: Vec::new() },
    };
    if !choice.is_device {
        return Ok(OpenedBackend { reason: Some(choice.reason), ..cpu_backend() });
    }
    // Without a reason where the card cannot be opened, which `open` says.
    let because = |gpu| OpenedBackend { reason: Some(choice.reason), ..with_fallback(gpu, None, note) };
    Ok(open().map_or_else(cpu_backend, because))
}

#[cfg(not(all(feature = "gpu", feature = "report")))]
fn automatic(_sweep: &Sweep, _data: &DataFolder, _of: (f64, Option<usize>), _note: fn(&str)) -> Result<OpenedBackend, Error> {
    Ok(cpu_backend())
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

#[cfg(all(test, feature = "gpu", feature = "report"))]
mod tests {
    use super::super::measured::{MachineRates, PathRates, WorkRates, shape};
    use super::super::{RunOptions, run_in_memory};
    use super::*;
    use privateer_engine::engine::Stop;
    use privateer_gpu::{AdapterChoice, AdapterFacts, Gpu};

    const SPEC: &str = "rounds = 20\ntrials = 3\nreferences = false\n[environment]\nkind = \"rkhs\"\n\
        domain = { kind = \"grid\", points = 1100 }\nkernel = { kind = \"matern\", nu = 2.5, lengthscale = 0.2 }\nnoise = \"none\"\n\
        [[policy]]\nkind = \"igp-ucb\"\n";

    /// A card is taken by its rates alone, whatever adapter plays the card here, and plays the rows of the CPU.
    #[test]
    fn auto_takes_a_card_by_its_rates() {
        let Some(found) = privateer_gpu::adapters().into_iter().find(|adapter| adapter.taken_by_gpu) else {
            assert!(std::env::var("PRIVATEER_GPU").as_deref() != Ok("required"), "no adapter");
            return;
        };
        let card = AdapterFacts { kind: "discrete", taken_by_auto: true, ..found };
        let (sweep, data) = (Sweep::parse("t.toml", SPEC, &[]).expect("a spec"), DataFolder::default());
        let works = workloads(&sweep, &Preparation::new(&sweep, &data, &Cpu::default())).expect("prepared");
        let rates_of = |by: f64| {
            let path = |round_s| PathRates { once_s: 0.0, trial_s: 0.0, round_s };
            let rates = WorkRates { cpu: path(1.0), gpu: path(by), trials: 3, rounds: 20 };
            let works = works.iter().map(|work| (shape(work, 2), rates)).collect();
            let mut file = RatesFile::default();
            file.add(&card, MachineRates { open_s: 0.0, works });
            file
        };
        let rows = |backend: Arc<dyn Backend>| {
            let options = RunOptions { backend, threads: Some(2), ..RunOptions::default() };
            run_in_memory(&sweep, &options, &Stop::new(), &()).expect("a run").traces
        };
        let cases =
            [(rates_of(0.1), true, "10.00 times"), (rates_of(10.0), false, "0.10 times"), (RatesFile::default(), false, "not")];
        for (file, is_taken, said) in cases {
            let open = || Gpu::open(AdapterChoice::Any).ok();
            let opened = chosen(&sweep, &data, (1.0, Some(2)), &card, &file, |_| (), open).expect("a choice");
            let reason = opened.reason.unwrap_or_default();
            assert_eq!(opened.gpu.is_some(), is_taken, "{reason}");
            assert!(reason.contains(said) && reason.starts_with(if is_taken { "gpu: " } else { "cpu: " }), "{reason}");
            assert_eq!(rows(opened.backend), rows(Arc::new(Cpu::default())));
        }
        let gone = chosen(&sweep, &data, (1.0, Some(2)), &card, &rates_of(0.1), |_| (), || None).expect("a choice");
        assert!(gone.gpu.is_none() && gone.reason.is_none(), "a card that cannot be opened");
    }
}
