//! Generates synthetic users as a substitute for a file.
//!
//! The users have the columns that a spec names. In nine of ten cases, the right arm follows from the first feature.

use super::table_features::FeaturePlan;
use crate::env::csv_table::{CellKind, Cells};
use privateer_numerics::rng::Stream;

const LEVELS: [&str; 4] = ["a", "b", "c", "d"];

/// Generates features by kind (numbers within their ranges) and the right arm of each user.
pub(super) fn users(features: &FeaturePlan, n_rows: usize, n_arms: usize, stream: &mut Stream) -> (Vec<Cells>, Vec<usize>) {
    let (columns, mut ranges) = (features.columns(), features.ranges.iter().copied());
    // Position of each user within the range of the first column, from 0 to 1.
    let mut first: Option<Vec<f64>> = None;
    let mut cells = Vec::with_capacity(columns.len());
    for (_, kind) in &columns {
        let places: Vec<f64> = (0..n_rows).map(|_| stream.uniform()).collect();
        cells.push(match kind {
            CellKind::Text => Cells::Texts(places.iter().map(|place| LEVELS[(place * 4.0) as usize].to_owned()).collect()),
            CellKind::Number | CellKind::NumberOrMissing | CellKind::NumberOrDropped => {
                let (low, high) = ranges.next().unwrap_or((-1.0, 1.0));
                Cells::Numbers(places.iter().map(|place| low + place * (high - low)).collect())
            }
        });
        first.get_or_insert(places);
    }
    let first = first.unwrap_or_else(|| vec![0.0; n_rows]);
    let right = first
        .into_iter()
        .map(|place| {
            let random = stream.index(n_arms);
            if stream.bernoulli(0.1) { random } else { (place * n_arms as f64) as usize }
        })
        .collect();
    (cells, right)
}
