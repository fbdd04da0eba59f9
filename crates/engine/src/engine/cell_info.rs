//! Describes the cells of a run: what each is, protects and measures.

use super::{CellLedger, CellWarning, Measures};
use crate::spec::{Resolved, Role, cell_label};
use privateer_config::facts::Facts;
use privateer_config::params::Scalar;
use serde::Serialize;
use std::sync::Arc;

/// Holds one cell of a sweep: one sweep point and one policy or learner.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellInfo {
    /// Place in the canonical order of the sweep, from 0.
    pub cell: u32,
    /// The policy's label.
    pub policy: Arc<str>,
    /// The environment's label.
    pub environment: Arc<str>,
    /// Full dotted key and value of everything swept; the same keys in the same order in every cell, one type per key
    /// (see [`unify_swept`]). The cells of a sweep point share it.
    pub swept: Arc<[(Arc<str>, Scalar)]>,
    /// All parameters, defaults included.
    pub resolved: Resolved,
    /// What was protected, how strongly, by which calibration.
    pub ledger: Arc<CellLedger>,
    /// Numbers and words about the problem itself.
    pub facts: Arc<Facts>,
    /// Why it is in the sweep.
    pub role: Role,
    /// What its parts measure.
    pub measures: Measures,
    /// Settings that mislead whoever reads the results.
    #[serde(skip_serializing_if = "is_empty")]
    pub warnings: Arc<Vec<CellWarning>>,
}

fn is_empty(warnings: &Arc<Vec<CellWarning>>) -> bool {
    warnings.is_empty()
}

impl CellInfo {
    /// Returns the cell's label, for example "tgp-ucb · privacy.epsilon = 0.5".
    pub fn label(&self) -> String {
        cell_label(&self.policy, &self.swept)
    }
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
        for cell in cells.iter_mut().filter(|cell| key_idx < cell.swept.len()) {
            let value = &mut Arc::make_mut(&mut cell.swept)[key_idx].1;
            let unified = match value.as_f64() {
                Some(x) if numeric && any_float => Scalar::Float(x),
                _ => Scalar::Text(value.to_string()),
            };
            *value = unified;
        }
    }
}
