//! Lists the feature maps that a spec can name, and reads them.

use super::{FeaturesPlan, features};
use privateer_config::params::{Args, List, Named};
use std::sync::Arc;

/// The registered feature maps.
pub static FEATURES: List<Arc<dyn FeaturesPlan>> = &[
    Named { name: "exact", summary: "pivoted Cholesky of the Gram matrix, to a tolerance", paper: "", build: features::exact },
    Named {
        name: "nystrom",
        summary: "Nystrom features over a fixed dictionary of points",
        paper: "Zhou2021",
        build: features::nystrom,
    },
    Named {
        name: "quadrature-fourier",
        summary: "cosines and sines at the nodes of a rule over the spectral density",
        paper: "Dubey2021",
        build: features::quadrature_fourier,
    },
    Named {
        name: "random-fourier",
        summary: "cosines and sines at random frequencies",
        paper: "Rahimi2007",
        build: features::random_fourier,
    },
];

/// Reads a feature map under `key`; `None` if absent or wrong (an error is then recorded).
pub fn parse_features(args: &Args<'_>, key: &'static str) -> Option<Arc<dyn FeaturesPlan>> {
    let doc = "feature map; without one the posterior is exact, over the points visited";
    let items = args.items(FEATURES);
    let variant = args.variant(key, doc, &items.names(), None)?;
    let features = items.read(&variant.kind, &variant.args)?;
    args.absorb(&variant.args);
    Some(features)
}
