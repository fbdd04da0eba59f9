//! Lists the feature maps that a spec can name, and reads them.

use super::{FeaturesPlan, features};
use privateer_config::params::{Args, List, Named};
use std::sync::Arc;

pub static FEATURES: List<Arc<dyn FeaturesPlan>> = &[
    Named { name: "exact", summary: "pivoted Cholesky of the Gram matrix, to a tolerance", paper: "", build: features::exact },
    Named::new("nystrom", "Nystrom features over a fixed dictionary of points", "Zhou2021", features::nystrom),
    Named::new(
        "quadrature-fourier",
        "cosines and sines at the nodes of a rule over the spectral density",
        "Dubey2021",
        features::quadrature_fourier,
    ),
    Named::new("random-fourier", "cosines and sines at random frequencies", "Rahimi2007", features::random_fourier),
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
