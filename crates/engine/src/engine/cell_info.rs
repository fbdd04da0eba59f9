//! Describes the cells of a sweep for the manifest: what each is, protects and measures.

use super::cell_warning::CellWarning;
use super::ready_cell::ReadyCell;
use super::trace::Measures;
use super::warnings::bandit_warnings;
use crate::env::Instance;
use crate::spec::{Resolved, Role, cell_label};
use privateer_config::error::Error;
use privateer_config::facts::Facts;
use privateer_config::params::Scalar;
use privateer_privacy::{Guarantee, Ledger, Protection};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Holds the ledgers of a cell: that of the inputs stands within that of the reward in `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellLedger {
    /// The ledger of one user's reward, with the first trial's constants.
    #[serde(flatten)]
    pub reward: Ledger,
    /// The ledger of one row of the inputs, where a curator releases them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Box<Ledger>>,
}

impl CellLedger {
    /// Returns the ledgers that state a protection; that of the reward alone if none does.
    pub fn stated(&self) -> impl Iterator<Item = &Ledger> {
        let reward = self.inputs.is_none() || self.reward.guarantee != Guarantee::NotPrivate;
        reward.then_some(&self.reward).into_iter().chain(self.inputs.as_deref())
    }
}

/// Holds the facts of a cell that the manifest must record.
#[derive(Debug, Clone, PartialEq)]
pub struct CellFacts {
    /// What is protected, how strongly, by which calibration.
    pub ledger: CellLedger,
    /// Facts about the problem.
    pub facts: Facts,
    /// Settings that mislead.
    pub warnings: Vec<CellWarning>,
}

impl CellFacts {
    /// Collects the ledgers and facts of a bandit cell from its first trial, whose function is `instance`.
    pub(super) fn of_bandit(cell: &ReadyCell, instance: Instance) -> Result<Self, Error> {
        let trial = cell.with(instance, 0)?;
        let mut ledger = trial.mechanism.ledger();
        let instance = &trial.instance;
        cell.environment.derived_from_rewards.state_in(&mut ledger);
        let policy = &cell.bandit.policy_plan;
        if policy.is_foreign && ledger.epsilon.is_some() {
            let received = match policy.protection {
                Protection::Rewards | Protection::Batches => "released rewards",
                Protection::Sums | Protection::LocalSums => "released sums",
                Protection::Answer => "a released choice",
            };
            ledger.notes.push(format!(
                "the policy is foreign code: it received {received} alone, so the claim is the mechanism's, by post-processing"
            ));
        }
        // The largest value of a table is no public number: the warning says what the ledger must leave out.
        let is_generated = cell.environment.fingerprint.as_deref().is_none() && cell.environment.train_readings.is_none();
        let (stated, largest) = (instance.facts().bound, instance.largest());
        if is_generated && instance.stated_range().is_some() && stated < largest {
            ledger.notes.push(format!(
                "the stated bound {stated} is below the first trial's largest |f|, {largest}: rewards are cut off"
            ));
        }
        if ledger.epsilon.is_some() && instance.stated_range().is_none() {
            ledger.notes.push(
                "B is taken from each trial's own function and treated as public; numbers here are the first trial's".to_owned(),
            );
        }
        let mut facts = cell.environment.facts.clone();
        if let (Some([low, high]), true) = (ledger.clip, facts.get("table").is_some())
            && let Some(share) = instance.share_outside(low, high)
        {
            facts.push("share of the points whose mean reward the clip cuts off", share);
        }
        facts.extend(cell.maker.facts(&trial.setting));
        if let (Some(curator), Some(inputs)) = (&cell.curator, cell.inputs()) {
            let preparation = curator.preparation(&inputs);
            facts.extend(preparation.map(|inputs| ("scale of the inputs before the curator's mechanism", inputs.scale.into())));
            facts.extend(preparation.map(|inputs| ("rows moved to the curator's bound", inputs.moved.into())));
        }
        let mut inputs = cell
            .curator
            .as_ref()
            .zip(cell.environment.points.as_ref())
            .map(|(c, points)| c.ledger(points.n_points(), points.dimension()));
        if let Some(inputs) = &mut inputs {
            cell.environment.derived_from_inputs.state_in(inputs);
        }
        let warnings = bandit_warnings(cell, &trial, &ledger, inputs.as_ref());
        Ok(Self { ledger: CellLedger { reward: ledger, inputs: inputs.map(Box::new) }, facts, warnings })
    }
}

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
