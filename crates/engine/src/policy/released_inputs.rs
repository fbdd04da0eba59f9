//! Builds the covariance over the rows of the inputs that a curator releases.

use privateer_config::error::{Diagnostic, Error};
use privateer_config::params::Args;
use privateer_gp::kernel::Kernel;
use privateer_gp::{KernelGram, Points};
use privateer_privacy::Released;
use privateer_privacy::curator::ReleasedInputs;
use std::sync::Arc;

/// States how a modeler treats the noise on released inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputNoiseModel {
    /// The covariance of the function's values given noisy inputs, with a term of each row's own.
    Modelled,
    /// The same covariance without the rows' own term: overconfident, for comparison.
    WithoutRowTerm,
    /// The function's kernel between released inputs, treated as exact.
    Ignored,
}

impl InputNoiseModel {
    pub fn parse(args: &Args<'_>) -> Self {
        let doc = "what the kernel makes of noise that a curator put on the inputs";
        let options = [("modelled", Self::Modelled), ("without-row-term", Self::WithoutRowTerm), ("ignored", Self::Ignored)];
        args.choice("input_noise", doc, &options, "modelled")
    }

    /// Returns the covariance over the rows, evaluated on demand without a matrix over all pairs.
    pub fn covariance(self, released_inputs: &Released<ReleasedInputs>, kernel: &Arc<dyn Kernel>) -> Result<KernelGram, Error> {
        let released_inputs = released_inputs.value();
        let points = Points::shared(released_inputs.dimension, Arc::clone(&released_inputs.values));
        if let Some(expected) = kernel.dimension()
            && (!released_inputs.aligned || expected != released_inputs.dimension)
        {
            return Diagnostic::new("a projection mixes the coordinates, and the kernel has a length-scale for each of them")
                .hint("divide the inputs by their length-scales and give the kernel one `lengthscale`, or keep all columns")
                .refuse();
        }
        if self == Self::Ignored {
            return Ok(KernelGram::new(Arc::clone(kernel), points));
        }
        let Some(gram) = KernelGram::of_noisy_rows(kernel, points, released_inputs.noise_variance) else {
            return Diagnostic::new("the covariance given noisy inputs is known for `squared-exponential` kernels alone")
                .hint("use that kernel, or `input_noise = \"ignored\"`")
                .refuse();
        };
        Ok(if self == Self::Modelled { gram } else { gram.with_row_term(0.0) })
    }
}
