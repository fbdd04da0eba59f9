//! What one release takes from the records that it reads.

use super::change::RecordChange;
use super::filter::{FilterCost, FilterKind};
use crate::accounting::Loss;
use crate::{Adversary, Delta, Growth, Ledger, Unit, gdp_epsilon};
use serde::{Deserialize, Serialize};

/// Releases of one kind about the same records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    /// The session, release state or curated file that spent.
    pub session: String,
    /// Name of the mechanism.
    pub mechanism: String,
    /// What was released: the column of a value, or the columns of the inputs.
    pub column: String,
    /// Which records were read.
    pub records: SpentRecords,
    /// Which change of a record the loss is proved for.
    pub change: RecordChange,
    /// Against whom.
    pub adversary: Adversary,
    /// Loss of one release.
    pub loss: Loss,
    /// Epsilon that one release states.
    pub epsilon: f64,
    /// Delta that one release states.
    pub delta: f64,
    /// What several of these releases cost together.
    pub growth: Growth,
    /// How many there were.
    pub count: u64,
}

/// Which records a release reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SpentRecords {
    /// One record.
    One {
        /// Its row, 0-based.
        row: u64,
    },
    /// Every record, once each.
    All,
}

impl SpentRecords {
    /// Whether a record is among these.
    #[must_use]
    pub fn hold(self, record: u64) -> bool {
        match self {
            Self::One { row } => row == record,
            Self::All => true,
        }
    }
}

impl Spend {
    /// One answer of a session about one row; `None` where the ledger states no loss that can be added up.
    #[must_use]
    pub fn of_answer(ledger: &Ledger, session: &str, column: &str, row: u64) -> Option<Self> {
        let change = match ledger.threat_model.unit {
            Unit::Reward | Unit::Number { .. } => RecordChange::Values,
            Unit::DecisionSetAndReward | Unit::Interaction => RecordChange::Record,
            _ => return None,
        };
        Some(Self {
            session: session.to_owned(),
            mechanism: ledger.mechanism.clone(),
            column: column.to_owned(),
            records: SpentRecords::One { row },
            change,
            adversary: ledger.threat_model.adversary,
            loss: Loss::of(&ledger.event),
            epsilon: ledger.epsilon?,
            delta: ledger.delta,
            growth: ledger.threat_model.participations.growth,
            count: 1,
        })
    }

    /// Whether both can be kept as one with their counts added.
    #[must_use]
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        self == &Self { count: self.count, ..other.clone() }
    }

    /// What these releases cost under a filter; `None` where it has no bound for them.
    #[must_use]
    pub fn cost(&self, filter: FilterKind) -> Option<FilterCost> {
        let one = (self.epsilon, self.delta);
        match self.growth {
            _ if self.count == 1 => filter.cost(&self.loss, one),
            Growth::SeparateReleases => filter.cost(&self.loss, one).map(|cost| cost.times(self.count)),
            Growth::OneStream => {
                let group = self.loss.of_group(self.count);
                // The claim of a group: k times a pure epsilon, or the epsilon of k times mu at the delta of one.
                let claim = match (group, group.pure(), Delta::try_from(self.delta)) {
                    (_, Some(_), _) => (self.epsilon * self.count as f64, self.delta),
                    (Loss::Gaussian { mu }, None, Ok(delta)) => (gdp_epsilon(mu, delta), self.delta),
                    _ => (f64::INFINITY, self.delta),
                };
                filter.cost(&group, claim)
            }
            Growth::Unpriced => None,
        }
    }
}
