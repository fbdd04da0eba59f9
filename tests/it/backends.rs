//! The backends that tests compare: the reference device for the shaders, and a graphics adapter where there is one.

use privateer_backend::device::Precision;
use privateer_backend::reference::ReferenceDevice;
use privateer_backend::{Backend, Batched};
use std::sync::Arc;

pub type NamedBackend = (String, Box<dyn Backend>);

/// Both types of a device, and what it chooses itself.
const PRECISIONS: [Option<Precision>; 3] = [Some(Precision::F32), Some(Precision::F64), None];

fn named(device: &str, precision: Option<Precision>, batched: Batched) -> NamedBackend {
    (format!("{device} {precision:?}"), Box::new(batched.with_precision(precision)))
}

pub fn reference_backends() -> Vec<NamedBackend> {
    let of = |precision| named("reference", precision, Batched::new(Arc::new(ReferenceDevice::default())));
    PRECISIONS.map(of).into()
}

/// The graphics adapter in each type that it computes in; none, in words, where there is no adapter and none is required.
///
/// What a device chooses itself is one of them: the reference devices show the choice, and software adapters are slow.
#[cfg(feature = "gpu")]
pub fn gpu_backends() -> Vec<NamedBackend> {
    use privateer_backend::device::Device;
    let Some(gpu) = gpu() else { return Vec::new() };
    let usable = [Precision::F32, Precision::F64].into_iter().filter(|&precision| gpu.computes_in(precision));
    usable.map(|precision| named("gpu", Some(precision), Batched::new(Arc::new(gpu.clone())))).collect()
}

/// The graphics adapter in the types that it chooses.
#[cfg(feature = "gpu")]
pub fn choosing_gpu() -> Option<NamedBackend> {
    Some(named("gpu", None, Batched::new(Arc::new(gpu()?.clone()))))
}

#[cfg(feature = "gpu")]
fn gpu() -> Option<&'static privateer_gpu::Gpu> {
    use std::sync::OnceLock;
    static GPU: OnceLock<Option<privateer_gpu::Gpu>> = OnceLock::new();
    GPU.get_or_init(|| open_gpu(privateer_gpu::GpuOptions::default())).as_ref()
}

/// A device of its own; none, in words, where there is no adapter and none is required.
#[cfg(feature = "gpu")]
pub fn open_gpu(options: privateer_gpu::GpuOptions) -> Option<privateer_gpu::Gpu> {
    use privateer_gpu::{AdapterChoice, Gpu};
    match Gpu::with_options(AdapterChoice::Any, options) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            assert!(std::env::var("PRIVATEER_GPU").as_deref() != Ok("required"), "{error}");
            println!("skipped: no adapter");
            None
        }
    }
}

/// Without the feature `gpu` there is nothing to compare.
#[cfg(not(feature = "gpu"))]
pub fn gpu_backends() -> Vec<NamedBackend> {
    println!("skipped: built without `gpu`");
    Vec::new()
}

#[cfg(not(feature = "gpu"))]
pub fn choosing_gpu() -> Option<NamedBackend> {
    gpu_backends().pop()
}
