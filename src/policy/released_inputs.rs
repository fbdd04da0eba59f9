//! How a modeler reads the images that a curator gives out: its covariance by row index.

use crate::error::{Diagnostic, Error};
use crate::gp::kernel::Kernel;
use crate::gp::{KernelGram, Points};
use crate::params::Args;
use crate::privacy::Released;
use crate::privacy::curator::Images;
use std::sync::Arc;

/// What a modeler makes of noise on the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputNoiseModel {
    /// The covariance of the function's values given noisy images, and a term of each row's own.
    Modelled,
    /// That covariance without the rows' own term: overconfident, for comparison.
    WithoutRowTerm,
    /// The function's kernel between images, as if they were the inputs.
    Ignored,
}

impl InputNoiseModel {
    /// Reads the key `input_noise`.
    pub fn parse(args: &Args<'_>) -> Self {
        let doc = "what the kernel makes of noise that a curator put on the inputs";
        match args.word("input_noise", doc, &["modelled", "without-row-term", "ignored"], Some("modelled")) {
            "without-row-term" => Self::WithoutRowTerm,
            "ignored" => Self::Ignored,
            _ => Self::Modelled,
        }
    }

    /// The covariance over the rows. Evaluated on demand: no matrix over all pairs is made.
    ///
    /// # Errors
    /// If the images are turned and the kernel has a length-scale for each coordinate, or has no formula for noisy inputs.
    pub fn covariance(self, images: &Released<Images>, kernel: &Arc<dyn Kernel>) -> Result<KernelGram, Error> {
        let images = images.value();
        let points = Points::shared(images.dimension, Arc::clone(&images.values));
        if let Some(expected) = kernel.dimension()
            && (!images.aligned || expected != images.dimension)
        {
            return Err(Error::input(
                Diagnostic::new("a projection mixes the coordinates, and the kernel has a length-scale for each of them")
                    .hint("divide the inputs by their length-scales and give the kernel one `lengthscale`, or keep all columns"),
            ));
        }
        if self == Self::Ignored {
            return Ok(KernelGram::new(Arc::clone(kernel), points));
        }
        let Some(gram) = KernelGram::of_noisy_rows(kernel, points, images.noise_variance) else {
            return Err(Error::input(
                Diagnostic::new("the covariance given noisy inputs is known for `squared-exponential` kernels alone")
                    .hint("use that kernel, or `input_noise = \"ignored\"`"),
            ));
        };
        Ok(if self == Self::Modelled { gram } else { gram.with_row_term(0.0) })
    }
}
