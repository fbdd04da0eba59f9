//! Lists the feature maps that a spec can name, and reads them.

use super::FeaturesPlan;
use privateer_config::params::{Args, List, Named};
use privateer_gp::features::{exact, nystrom, quadrature_fourier, random_fourier};
use std::sync::Arc;

pub static FEATURES: List<Arc<dyn FeaturesPlan>> = &[
    Named::new("exact", "pivoted Cholesky of the Gram matrix, to a tolerance", "", |args| Arc::new(exact::parse(args))),
    Named::new("nystrom", "Nystrom features over a fixed dictionary of points", "Zhou2021", |args| {
        Arc::new(nystrom::parse(args))
    }),
    Named::new("quadrature-fourier", "cosines and sines at the nodes of a rule over the spectral density", "Dubey2021", |args| {
        Arc::new(quadrature_fourier::parse(args))
    }),
    Named::new("random-fourier", "cosines and sines at random frequencies", "Rahimi2007", |args| {
        Arc::new(random_fourier::parse(args))
    }),
];

/// Reads the key `features`; `None` if absent or wrong (an error is then recorded).
pub fn parse_features(args: &Args<'_>) -> Option<Arc<dyn FeaturesPlan>> {
    let doc = "feature map; without one the posterior is exact, over the points visited";
    args.item(FEATURES, args.variant("features", doc, &args.items(FEATURES).names(), None))
}

/// Reads the key `features` for a policy that supports only one map, `kind`, which has its defaults without the key.
pub(super) fn parse_one_map(args: &Args<'_>, kind: &'static str) -> Option<Arc<dyn FeaturesPlan>> {
    args.item(FEATURES, args.variant("features", "the feature map, for its keys", &[kind], Some(kind)))
}
