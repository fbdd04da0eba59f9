//! Describes the cells of a run: what each is, protects and measures.

use super::{CellLedger, CellWarning, Measures};
use crate::spec::{Resolved, Role};
use privateer_config::facts::Facts;
use privateer_config::params::Scalar;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Holds one cell of a sweep: one sweep point and one policy or learner.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct CellInfo {
    /// Place in the canonical order of the sweep, from 0.
    pub cell: u32,
    /// For users: `tgp-ucb · privacy.epsilon = 0.5`.
    pub label: String,
    /// The policy's label.
    pub policy: String,
    /// The environment's label.
    pub environment: String,
    /// Full dotted key and value of everything swept; the same keys in the same order in every cell, one type per key
    /// (see [`unify_swept`]).
    pub swept: Vec<(String, Scalar)>,
    /// All parameters, defaults included.
    pub resolved: Resolved,
    /// What was protected, how strongly, by which calibration.
    pub ledger: Arc<CellLedger>,
    /// Numbers and words about the problem itself.
    pub facts: Arc<Facts>,
    /// Why it is in the sweep.
    #[serde(default)]
    pub role: Role,
    /// What its parts measure.
    #[serde(default)]
    pub measures: Measures,
    /// Settings that mislead whoever reads the results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<CellWarning>,
}

/// Gives each swept key one type over all cells: whole numbers become numbers where any cell has a number with a point,
/// and everything becomes text where kinds are mixed otherwise.
pub fn unify_swept(cells: &mut [CellInfo]) {
    let n_keys = cells.iter().map(|cell| cell.swept.len()).max().unwrap_or(0);
    for key_idx in 0..n_keys {
        let values = || cells.iter().filter_map(|cell| cell.swept.get(key_idx)).map(|(_, value)| value);
        let numeric = values().all(|value| value.as_f64().is_some());
        let any_float = values().any(|value| matches!(value, Scalar::Float(_)));
        let mut kinds = values().map(std::mem::discriminant);
        let first = kinds.next();
        if kinds.all(|kind| Some(kind) == first) {
            continue;
        }
        for (_, value) in cells.iter_mut().filter_map(|cell| cell.swept.get_mut(key_idx)) {
            let unified = match value.as_f64() {
                Some(x) if numeric && any_float => Scalar::Float(x),
                _ => Scalar::Text(value.to_string()),
            };
            *value = unified;
        }
    }
}
