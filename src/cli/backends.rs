//! Which backend scores, by name.

#[cfg(feature = "gpu")]
use super::commands::note;
#[cfg(feature = "gpu")]
use crate::engine::scoring_error;
use privateer_backend::device::Precision;
use privateer_backend::{Backend, Cpu};
use privateer_config::error::{Diagnostic, Error};
use std::sync::Arc;

/// The backends that `--backend` takes.
pub const NAMES: [&str; 3] = ["auto", "cpu", "gpu"];

/// A backend, and what is to be said of its figures.
pub struct OpenedBackend {
    /// The backend.
    pub backend: Arc<dyn Backend>,
    /// A driver that computes on the processor: for correctness, never for speed.
    pub software: bool,
    /// Its name for tables.
    pub device: String,
    /// The device, to measure it.
    #[cfg(feature = "gpu")]
    pub gpu: Option<privateer_backend::gpu::Gpu>,
}

/// Returns the processor as a backend that scores every point in every round.
///
/// # Errors
/// [`Error::Input`] where a GPU is asked for.
pub fn dense(name: &str) -> Result<OpenedBackend, Error> {
    if name == "gpu" {
        let diagnostic = Diagnostic::new("`--dense` means nothing to a GPU");
        return Err(Error::input(diagnostic.hint("a device scores every point anyway")));
    }
    Ok(OpenedBackend { backend: Arc::new(Cpu::dense()), ..cpu() })
}

/// Opens `cpu`, `gpu` (whatever adapter there is) or `auto` (a real GPU where there is one, else the CPU), and says what it
/// took unless that is the CPU.
///
/// # Errors
/// [`Error::Device`] if `gpu` is requested and no GPU is present, or the GPU lacks the floating-point type.
pub fn open(name: &str, precision: Option<Precision>, quiet: bool) -> Result<OpenedBackend, Error> {
    match name {
        "gpu" => gpu(precision, quiet),
        "auto" => Ok(automatic(quiet).unwrap_or_else(cpu)),
        _ => Ok(cpu()),
    }
}

/// Adds to a device's error how to do without the device, unless it has another hint.
pub fn with_hint(mut error: Error) -> Error {
    if let Error::Device { hint, .. } = &mut error {
        hint.get_or_insert_with(|| "use `--backend cpu`: the answers are the same".to_owned());
    }
    if let Error::Untrusted { hint, .. } = &mut error {
        hint.get_or_insert_with(|| "use `--backend cpu`: the answers are the same; check the graphics driver".to_owned());
    }
    error
}

fn cpu() -> OpenedBackend {
    OpenedBackend {
        backend: Arc::new(Cpu::default()),
        software: false,
        device: "cpu".to_owned(),
        #[cfg(feature = "gpu")]
        gpu: None,
    }
}

#[cfg(feature = "gpu")]
fn with_fallback(gpu: privateer_backend::gpu::Gpu, precision: Option<Precision>) -> OpenedBackend {
    use privateer_backend::{BackendError, Batched, Fallback};
    let told = |error: &BackendError| note(&format!("warning: {error}; the CPU carries on, with the same answers"));
    let batched = Batched::new(Arc::new(gpu.clone())).with_precision(precision);
    OpenedBackend {
        backend: Arc::new(Fallback::new(Arc::new(batched), told)),
        software: gpu.facts().kind == "software",
        device: gpu.facts().name.clone(),
        gpu: Some(gpu),
    }
}

#[cfg(feature = "gpu")]
fn gpu(precision: Option<Precision>, quiet: bool) -> Result<OpenedBackend, Error> {
    use privateer_backend::device::Device;
    use privateer_backend::gpu::{AdapterChoice, Gpu};
    let gpu = Gpu::open(AdapterChoice::Any).map_err(scoring_error)?;
    if let Some(precision) = precision.filter(|&precision| !gpu.computes_in(precision)) {
        return Err(Error::Device {
            problem: format!("{} does not compute in {precision:?}", gpu.facts().name),
            hint: Some("leave `--precision` away".to_owned()),
        });
    }
    if !quiet {
        note(&format!("gpu: {}", gpu.description()));
    }
    Ok(with_fallback(gpu, precision))
}

#[cfg(feature = "gpu")]
fn automatic(quiet: bool) -> Option<OpenedBackend> {
    use privateer_backend::device::Device;
    use privateer_backend::gpu::Gpu;
    match Gpu::automatic() {
        Ok(gpu) => {
            let gpu = gpu?;
            if !quiet {
                note(&format!("gpu: {}", gpu.description()));
            }
            Some(with_fallback(gpu, None))
        }
        Err(error) => {
            note(&format!("warning: {error}; the CPU scores, with the same answers"));
            None
        }
    }
}

#[cfg(not(feature = "gpu"))]
fn gpu(_precision: Option<Precision>, _quiet: bool) -> Result<OpenedBackend, Error> {
    Err(Error::Device {
        problem: "this program was built without the feature `gpu`: it has no GPU backend".to_owned(),
        hint: None,
    })
}

#[cfg(not(feature = "gpu"))]
fn automatic(_quiet: bool) -> Option<OpenedBackend> {
    None
}
