//! The words of the record: cells, parts, rows.

use privateer_config::params::Scalar;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Version of the layout of parts and of released parameters. A reader refuses what is newer than itself.
pub const SCHEMA_VERSION: u32 = 1;

/// Version of the layout of a results folder and its manifest; 2 added digests. A reader refuses every other one.
pub const FOLDER_VERSION: u32 = 2;

/// What a part measures: the columns after `point`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measures {
    /// `regret`, `cumulative_regret`, `simple_regret`, `recommended_regret`.
    #[default]
    Regret,
    /// `regret`, `cumulative_regret`, `best_arm_share`: contextual runs.
    Contextual,
    /// `taken`, `value`, `standard_error`: replays of a log.
    Replay,
    /// `risk`, `suboptimality`: online convex runs.
    Risk,
}

impl Measures {
    /// Names of the columns, in order.
    #[must_use]
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Regret => &["regret", "cumulative_regret", "simple_regret", "recommended_regret"],
            Self::Contextual => &["regret", "cumulative_regret", "best_arm_share"],
            Self::Replay => &["taken", "value", "standard_error"],
            Self::Risk => &["risk", "suboptimality"],
        }
    }
}

/// One cell of a sweep: one sweep point and one policy or learner.
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
    pub resolved: serde_json::Value,
    /// What was protected, how strongly, by which calibration.
    pub ledger: serde_json::Value,
    /// Numbers and words about the problem itself.
    pub facts: serde_json::Value,
    /// What its parts measure.
    #[serde(default)]
    pub measures: Measures,
}

/// One part: a block of trials of one cell. Ordered by cell, then by block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId {
    /// The cell.
    pub cell: u32,
    /// The block of trials within it, from 0.
    pub block: u32,
}

impl PartId {
    /// `c0003-b0001.parquet`
    #[must_use]
    pub fn file_name(self) -> String {
        format!("c{:04}-b{:04}.parquet", self.cell, self.block)
    }

    /// The part's name in the list of digests: `cells/c0003-b0001.parquet`.
    #[must_use]
    pub fn listed_name(self) -> String {
        format!("cells/{}", self.file_name())
    }

    /// Where this part lies in an output folder.
    #[must_use]
    pub fn path(self, out: &Path) -> PathBuf {
        out.join("cells").join(self.file_name())
    }

    /// The part a file name stands for; `None` for any other name.
    #[must_use]
    pub fn from_file_name(name: &str) -> Option<Self> {
        let (cell, block) = name.strip_suffix(".parquet")?.strip_prefix('c')?.split_once("-b")?;
        let id = Self { cell: cell.parse().ok()?, block: block.parse().ok()? };
        (id.file_name() == name).then_some(id)
    }
}

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cell {} block {}", self.cell, self.block)
    }
}

/// Rows of one part, as columns of equal length, ordered by trial and then by round (rounds count from 1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartRows {
    /// The trial, numbered over the whole cell.
    pub trial: Vec<u32>,
    /// The round, from 1; recorded rounds may have gaps, the last round is always there.
    pub round: Vec<u32>,
    /// The point played, where the domain has numbered points.
    pub point: Vec<Option<i64>>,
    /// Regret of this round.
    pub regret: Vec<f64>,
    /// Sum of regret up to this round, unrecorded rounds included.
    pub cumulative_regret: Vec<f64>,
    /// Least regret of any point played so far.
    pub simple_regret: Vec<f64>,
    /// Regret of the point that the policy would recommend now.
    pub recommended_regret: Vec<f64>,
    /// Share of the rounds so far in which the best arm was played; of contextual runs alone.
    pub best_share: Vec<f64>,
    /// Rows of the log that the policy has learned from; of replays, which have no regrets.
    pub taken: Vec<f64>,
    /// Estimate of the policy's mean reward so far; NaN before any row matched.
    pub value: Vec<f64>,
    /// Its standard error.
    pub standard_error: Vec<f64>,
    /// Risk of the learner's answer; of online convex runs, which have no regrets.
    pub risk: Vec<f64>,
    /// Share of the starting point's excess risk that is left.
    pub suboptimality: Vec<f64>,
}

impl PartRows {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.trial.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.trial.is_empty()
    }

    /// The measured columns, in the order of [`Measures::columns`].
    #[must_use]
    pub fn measured(&self, measures: Measures) -> Vec<&Vec<f64>> {
        match measures {
            Measures::Regret => vec![&self.regret, &self.cumulative_regret, &self.simple_regret, &self.recommended_regret],
            Measures::Contextual => vec![&self.regret, &self.cumulative_regret, &self.best_share],
            Measures::Replay => vec![&self.taken, &self.value, &self.standard_error],
            Measures::Risk => vec![&self.risk, &self.suboptimality],
        }
    }

    /// The same, to fill them.
    pub fn measured_mut(&mut self, measures: Measures) -> Vec<&mut Vec<f64>> {
        match measures {
            Measures::Regret => {
                vec![&mut self.regret, &mut self.cumulative_regret, &mut self.simple_regret, &mut self.recommended_regret]
            }
            Measures::Contextual => vec![&mut self.regret, &mut self.cumulative_regret, &mut self.best_share],
            Measures::Replay => vec![&mut self.taken, &mut self.value, &mut self.standard_error],
            Measures::Risk => vec![&mut self.risk, &mut self.suboptimality],
        }
    }

    /// Whether all columns of a part with these measures are equally long.
    #[must_use]
    pub fn is_rectangular(&self, measures: Measures) -> bool {
        let n_rows = self.len();
        self.measured(measures).iter().all(|column| column.len() == n_rows)
            && self.round.len() == n_rows
            && self.point.len() == n_rows
    }
}

/// What a part says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartHeader {
    /// Layout version.
    pub schema_version: u32,
    /// Hash of the resolved spec.
    pub spec_hash: String,
    /// The cell.
    pub cell: u32,
    /// The block of trials.
    pub block: u32,
}

/// Gives each swept key one type over all cells: whole numbers become numbers where any cell has a number with a point,
/// and everything becomes text where kinds are mixed otherwise.
pub fn unify_swept(cells: &mut [CellInfo]) {
    let n_keys = cells.iter().map(|cell| cell.swept.len()).max().unwrap_or(0);
    for key_idx in 0..n_keys {
        let values = || cells.iter().filter_map(|cell| cell.swept.get(key_idx)).map(|(_, value)| value);
        let numeric = values().all(|value| value.as_f64().is_some());
        let any_float = values().any(|value| matches!(value, Scalar::Float(_)));
        let one_kind = {
            let mut kinds: Vec<_> = values().map(std::mem::discriminant).collect();
            kinds.dedup();
            kinds.len() <= 1
        };
        if one_kind {
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A cell with one swept key, for the tests of this room and of the report.
    pub(crate) fn cell(cell: u32, policy: &str, epsilon: f64) -> CellInfo {
        CellInfo {
            cell,
            label: format!("{policy} · privacy.epsilon = {epsilon}"),
            policy: policy.to_owned(),
            environment: "rkhs".to_owned(),
            swept: vec![("privacy.epsilon".to_owned(), Scalar::Float(epsilon))],
            resolved: serde_json::json!({"policy": policy}),
            ledger: serde_json::json!({"mechanism": "laplace", "epsilon": epsilon, "guarantee": "holds"}),
            facts: serde_json::json!({"points": 100}),
            measures: Measures::Regret,
        }
    }

    #[test]
    fn file_names_go_there_and_back() {
        let id = PartId { cell: 3, block: 12345 };
        assert_eq!(id.file_name(), "c0003-b12345.parquet");
        assert_eq!(PartId::from_file_name(&id.file_name()), Some(id));
        for foreign in ["c3-b1.parquet", "c0003-b0001.parquet.7.tmp", "x", "c-b.parquet", "c+003-b0001.parquet"] {
            assert_eq!(PartId::from_file_name(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn swept_keys_get_one_type() {
        let mut cells = vec![cell(0, "a", 0.5), cell(1, "a", 0.5), cell(2, "a", 0.5)];
        cells[1].swept[0].1 = Scalar::Integer(2);
        unify_swept(&mut cells);
        assert_eq!(cells[1].swept[0].1, Scalar::Float(2.0));
        cells[2].swept[0].1 = Scalar::Text("none".to_owned());
        unify_swept(&mut cells);
        assert_eq!(cells[0].swept[0].1, Scalar::Text("0.5".to_owned()));
    }
}
