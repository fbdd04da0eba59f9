//! What one release takes from the records that it reads.

use super::change::{InputSpace, RecordChange};
use super::filter::{FilterCost, FilterKind};
use super::release_loss::{InputsLoss, LossByDistance, ReleaseLoss};
use crate::accounting::{Loss, zcdp};
use crate::planted::{self, PlantedFault};
use crate::{Adversary, Delta, Growth, Ledger, Unit, gdp_epsilon};
use serde::{Deserialize, Serialize};

/// Releases of one kind about the same records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    /// The session, release state or curated file that spent.
    pub session: String,
    /// Name of the mechanism.
    pub mechanism: String,
    /// Which records were read.
    pub records: SpentRecords,
    /// Against whom.
    pub adversary: Adversary,
    /// Loss of one release at every change of a record.
    pub loss: ReleaseLoss,
    /// Epsilon that one release states for the change that it names.
    pub epsilon: f64,
    /// Delta that one release states.
    pub delta: f64,
    /// What several of these releases cost together.
    pub growth: Growth,
    /// How many there were.
    pub count: u64,
}

/// Which records a release reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    pub fn hold(self, record: u64) -> bool {
        match self {
            Self::One { row } => row == record,
            Self::All => true,
        }
    }
}

/// Facts of a release of rows with Gaussian noise, as its ledger states them.
#[derive(Debug, Clone)]
pub struct RowsFacts {
    /// Raw columns and the numbers that they are divided by.
    pub space: InputSpace,
    /// Move of a row that the release names, and public bound on the norm of a row; in units of the space.
    pub radius_and_bound: (f64, f64),
    /// Standard deviation of the noise in each released number, and step of the grid to which numbers are rounded.
    pub sigma_and_step: (f64, f64),
    /// Released numbers per row, and the most by which a public projection stretches a distance (1 without one).
    pub columns_and_stretch: (usize, f64),
    /// Epsilon and delta that are stated for the named move.
    pub claim: (f64, f64),
}

impl Spend {
    /// Returns what one answer of a session takes from one row; `None` where the ledger states no loss that can be added up.
    pub fn of_answer(ledger: &Ledger, session: &str, column: &str, row: u64) -> Option<Self> {
        let loss = Loss::of(&ledger.event);
        let value = || {
            let width = ledger.clip.map(|[lo, hi]| hi - lo).filter(|width| 0.0 < *width);
            ReleaseLoss::Value { column: column.to_owned(), loss, width }
        };
        let loss = match ledger.threat_model.unit {
            Unit::Reward => value(),
            Unit::DecisionSetAndReward | Unit::Interaction if planted::is(PlantedFault::InteractionsAsValues) => value(),
            Unit::DecisionSetAndReward | Unit::Interaction => ReleaseLoss::Record { loss },
            _ => return None,
        };
        Some(Self {
            session: session.to_owned(),
            mechanism: ledger.mechanism.clone(),
            records: SpentRecords::One { row },
            adversary: ledger.threat_model.adversary,
            loss,
            epsilon: ledger.epsilon?,
            delta: ledger.delta,
            growth: ledger.threat_model.participations.growth,
            count: 1,
        })
    }

    /// Returns what a release of rows takes from every record.
    pub fn of_rows(session: &str, mechanism: &str, facts: RowsFacts) -> Self {
        let RowsFacts { space, radius_and_bound: (radius, bound), sigma_and_step: (sigma, step), .. } = facts;
        let ((columns, stretch), (epsilon, delta)) = (facts.columns_and_stretch, facts.claim);
        // Half a step in every number of either row, and the rounding of the products before it.
        let reach = radius.min(2.0 * bound) * stretch;
        let products = f64::EPSILON * (space.columns().len() as f64 + 8.0) * columns as f64 * (bound / radius).max(1.0);
        let rounding = step * libm::sqrt(columns as f64) + 2.0 * products * reach;
        let by_distance = LossByDistance::Gaussian { sigma, stretch, rounding };
        Self {
            session: session.to_owned(),
            mechanism: mechanism.to_owned(),
            records: SpentRecords::All,
            adversary: Adversary::Observer,
            loss: ReleaseLoss::Inputs(InputsLoss { space, radius, bound, by_distance }),
            epsilon,
            delta,
            growth: Growth::SeparateReleases,
            count: 1,
        }
    }

    /// Returns the filter that adds such releases up where nobody names one.
    pub fn natural_filter(&self) -> FilterKind {
        FilterKind::natural(&self.loss.at(&self.loss.named()).unwrap_or(Loss::Unbounded))
    }

    /// Whether both are of one kind: alike but for the records and the count.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        self == &Self { count: self.count, records: self.records, ..other.clone() }
    }

    /// Returns the loss of this many such releases together for a change, as one loss and how often it occurs; `None` where they do
    /// not depend on what changes.
    pub fn losses_of(&self, count: u64, change: &RecordChange) -> Option<(Loss, u64)> {
        let loss = self.loss.at(change)?;
        Some(match self.growth {
            Growth::SeparateReleases => (loss, count),
            Growth::OneStream => (loss.of_group(count), 1),
            Growth::Unpriced if count == 1 => (loss, 1),
            Growth::Unpriced => (Loss::Unbounded, 1),
        })
    }

    /// Returns what these releases cost under a filter for a change; `None` where it has no bound for them.
    pub fn cost(&self, filter: FilterKind, change: &RecordChange) -> Option<FilterCost> {
        self.cost_of(self.count, filter, change)
    }

    /// Returns what this many such releases cost.
    pub(super) fn cost_of(&self, n_releases: u64, filter: FilterKind, change: &RecordChange) -> Option<FilterCost> {
        let Some((loss, count)) = self.losses_of(n_releases, change) else { return Some(FilterCost::default()) };
        let stated = (self.epsilon, self.delta);
        // Other filters sum losses, not claims.
        if filter != FilterKind::Sum {
            return filter.cost(&loss, stated).map(|cost| cost.times(count));
        }
        let claim = match (loss, loss.pure(), Delta::try_from(self.delta)) {
            (_, Some(epsilon), _) => (epsilon, 0.0),
            (Loss::Gaussian { mu }, None, Ok(delta)) => (gdp_epsilon(mu, delta), self.delta),
            (Loss::Zcdp { rho }, None, Ok(delta)) => (zcdp::epsilon(rho, delta), self.delta),
            _ => (f64::INFINITY, 1.0),
        };
        // What is stated holds for the named change alone, and where the loss is as small as that.
        let is_named = count == n_releases && self.loss.at(&self.loss.named()) == Some(loss);
        let holds = is_named && claim.0 <= self.epsilon * (1.0 + 1e-9);
        filter.cost(&loss, if holds { stated } else { claim }).map(|cost| cost.times(count))
    }
}
