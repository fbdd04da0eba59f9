//! The backends that tests compare: twins of the shaders, and a graphics adapter where there is one.

use privateer::backend::device::Precision;
use privateer::backend::twin::Twin;
use privateer::backend::{Backend, Batched};
use std::sync::Arc;

/// A backend and its name.
pub type Road = (String, Box<dyn Backend>);

/// Both types of a device, and what it chooses itself.
const PRECISIONS: [Option<Precision>; 3] = [Some(Precision::F32), Some(Precision::F64), None];

/// The shaders' twins.
pub fn twin_roads() -> Vec<Road> {
    let of = |precision| -> Road {
        (format!("twin {precision:?}"), Box::new(Batched::new(Arc::new(Twin::default())).with_precision(precision)))
    };
    PRECISIONS.map(of).into()
}

/// The graphics adapter; none, in words, where there is no adapter and none is required.
#[cfg(feature = "gpu")]
pub fn gpu_roads() -> Vec<Road> {
    use privateer::backend::device::Device;
    use privateer::backend::gpu::{Choice, Gpu};
    use std::sync::OnceLock;
    static GPU: OnceLock<Option<Gpu>> = OnceLock::new();
    let gpu = GPU.get_or_init(|| match Gpu::open(Choice::Any) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            assert!(std::env::var("PRIVATEER_GPU").as_deref() != Ok("required"), "{error}");
            println!("skipped: no adapter");
            None
        }
    });
    let Some(gpu) = gpu else { return Vec::new() };
    let usable = PRECISIONS.into_iter().filter(|p| p.is_none_or(|precision| gpu.computes_in(precision)));
    let of = |precision| -> Road {
        (format!("gpu {precision:?}"), Box::new(Batched::new(Arc::new(gpu.clone())).with_precision(precision)))
    };
    usable.map(of).collect()
}

/// Without the feature `gpu` there is nothing to compare.
#[cfg(not(feature = "gpu"))]
pub fn gpu_roads() -> Vec<Road> {
    println!("skipped: built without `gpu`");
    Vec::new()
}
