//! One trial of a posterior on a screen, and covariances to play on.

use crate::support::prepared;
use privateer::engine::decide;
use privateer::env::DataFolder;
use privateer_backend::{Band, Counters, Screen};
use privateer_config::error::Error;
use privateer_gp::TableGram;
use privateer_gp::posterior::Posterior;
use privateer_gp::score::{Candidates, FeatureTable, GramSource, TrialScore};
use std::sync::Arc;

/// Screens a round and decides what to play.
pub fn choose(screen: &mut dyn Screen, posterior: &mut impl Posterior, beta: f64) -> usize {
    let mut answer = [Candidates::default()];
    screen.round(&[TrialScore::new(0, posterior.change(), beta, &*posterior)], &mut answer).expect("screened");
    let point = decide(&answer[0], &*posterior, beta, &mut Vec::new()).expect("finite");
    posterior.screened();
    point
}

/// Fails unless the proved band leads to the choices of exact scores; what it counted, and whether stale bounds lead to others.
pub fn compared(name: &str, choices: impl Fn(Band) -> (Vec<usize>, Counters)) -> (Counters, bool) {
    let ((pruned, counters), (exact, _)) = (choices(Band::Proved), choices(Band::Infinite));
    assert_eq!(pruned, exact, "{name}");
    assert_eq!(counters.violations, 0, "{name}: {counters:?}");
    (counters, choices(Band::Stale).0 != exact)
}

/// Covariance by point, as a table.
pub fn table(n: usize, entry: impl Fn(usize, usize) -> f64) -> Arc<dyn GramSource> {
    Arc::new(TableGram::new(n, (0..n * n).map(|e| entry(e / n, e % n)).collect()))
}

/// Features that carry all of the prior, row by row.
pub fn exact_features(n_features: usize, values: Vec<f64>) -> Arc<FeatureTable> {
    let n_points = values.len() / n_features;
    Arc::new(FeatureTable { n_points, n_features, values, residual: vec![0.0; n_points], kernel_error: 0.0, form: None })
}

/// Why the first cell of a spec is refused.
pub fn refusal(text: &str) -> Error {
    prepared(text, &DataFolder::default(), |sweep, preparation| preparation.cell(&sweep.cells[0]).err()).expect("refused")
}
