//! Which backend scores, by name.

#[cfg(feature = "gpu")]
use super::commands::note;
use crate::backend::{Backend, Cpu};
use crate::error::Error;
use std::sync::Arc;

/// The backends that `--backend` takes.
pub const NAMES: [&str; 3] = ["auto", "cpu", "gpu"];

/// Opens `cpu`, `gpu` (whatever adapter there is) or `auto` (a real GPU where there is one, else the CPU).
///
/// # Errors
/// [`Error::Device`] if `gpu` is asked for and there is none.
pub fn open(name: &str) -> Result<Arc<dyn Backend>, Error> {
    match name {
        "gpu" => gpu(),
        "auto" => Ok(automatic().unwrap_or_else(|| Arc::new(Cpu::default()))),
        _ => Ok(Arc::new(Cpu::default())),
    }
}

#[cfg(feature = "gpu")]
fn with_fallback(gpu: crate::backend::gpu::Gpu) -> Arc<dyn Backend> {
    use crate::backend::{Batched, Fallback};
    let told = |error: &Error| {
        let problem = match error {
            Error::Device { problem, .. } => problem.clone(),
            other => other.to_string(),
        };
        note(&format!("warning: {problem}; the CPU carries on, with the same answers"));
    };
    Arc::new(Fallback::new(Arc::new(Batched::new(Arc::new(gpu))), told))
}

#[cfg(feature = "gpu")]
fn gpu() -> Result<Arc<dyn Backend>, Error> {
    use crate::backend::device::Device;
    use crate::backend::gpu::{Choice, Gpu};
    let gpu = Gpu::open(Choice::Any)?;
    note(&format!("backend: {}", gpu.description()));
    Ok(with_fallback(gpu))
}

#[cfg(feature = "gpu")]
fn automatic() -> Option<Arc<dyn Backend>> {
    use crate::backend::gpu::{Choice, Gpu};
    Gpu::open(Choice::Auto).ok().map(with_fallback)
}

#[cfg(not(feature = "gpu"))]
fn gpu() -> Result<Arc<dyn Backend>, Error> {
    Err(Error::Device {
        problem: "this program was built without the feature `gpu`".to_owned(),
        hint: "use `--backend cpu`: the answers are the same".to_owned(),
    })
}

#[cfg(not(feature = "gpu"))]
fn automatic() -> Option<Arc<dyn Backend>> {
    None
}
