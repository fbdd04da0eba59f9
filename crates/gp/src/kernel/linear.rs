//! The linear kernel.

use super::Kernel;
use crate::Points;
use crate::score::{KernelFamily, KernelForm};
use privateer_config::params::Args;
use std::sync::Arc;

/// The kernel `k(a, b) = scale · a·b + bias`, which has no spectral density.
///
/// It describes linear functions with independent weights of variance `scale` and an offset of variance `bias`.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearKernel {
    scale: f64,
    bias: f64,
}

impl LinearKernel {
    /// Creates the kernel, with `scale` > 0 and `bias` >= 0.
    pub fn new(scale: f64, bias: f64) -> Self {
        Self { scale, bias }
    }
}

/// Reads `scale` and `bias`.
pub fn parse(args: &Args<'_>) -> Arc<dyn Kernel> {
    let scale = args.number("scale", "prior variance of each weight").above(0.0).or(1.0);
    let bias = args.number("bias", "prior variance of the offset").at_least(0.0).or(0.0);
    args.finish();
    Arc::new(LinearKernel::new(scale, bias))
}

impl Kernel for LinearKernel {
    fn value(&self, a: &[f64], b: &[f64]) -> f64 {
        self.scale * a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() + self.bias
    }

    fn form(&self, points: &Points) -> Option<KernelForm> {
        Some(KernelForm {
            family: KernelFamily::Linear,
            scale: self.scale,
            offset: self.bias,
            row_term: 0.0,
            dimension: points.dimension(),
            points: points.coordinates().as_slice().into(),
        })
    }
}
