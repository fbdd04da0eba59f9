//! The account of what every record has spent.

use super::change::RecordChange;
use super::filter::{BadBudget, FilterCost, FilterKind, PrivacyBudget};
use super::spend::{Spend, SpentRecords};
use crate::quote::short;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What every record of a table has spent, under one filter and perhaps a budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Odometer {
    filter: FilterKind,
    budget: Option<PrivacyBudget>,
    /// Records of the table, where they are known; public.
    rows: Option<u64>,
    /// How often each session has spent, so that a copy of one is noticed.
    sessions: BTreeMap<String, SessionMark>,
    spends: Vec<Spend>,
}

/// Where a session stands in an odometer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionMark {
    /// Spends so far.
    pub counter: u64,
    /// Random name of the last one: tells a command that was killed from a copy.
    pub ticket: String,
}

/// Why a spend is refused. Nothing is released then.
#[derive(Debug, Clone, PartialEq)]
pub enum SpendRefusal {
    /// The record would exceed its budget.
    Exceeded {
        /// The record.
        record: u64,
        /// What it has spent, in words.
        spent: String,
        /// What it would have spent, in words.
        next: String,
        /// The budget.
        budget: PrivacyBudget,
        /// For which change of a record.
        change: RecordChange,
    },
    /// The budget has a release about the same columns whose losses cannot be added to this one.
    Incomparable {
        /// Columns of this release.
        columns: String,
        /// Columns of the earlier one.
        earlier: String,
    },
    /// The filter has no bound for the release.
    NoBound {
        /// The filter.
        filter: FilterKind,
        /// Name of the mechanism.
        mechanism: String,
    },
    /// The table has fewer records.
    NoRecord {
        /// The record.
        record: u64,
        /// Records of the table.
        rows: u64,
    },
}

/// Whether a budget cannot hold both spends, because one change of a record may move the inputs of both, and their losses do not add:
/// inputs in other columns or units, or values of a column that is also an input.
fn are_incomparable(a: &Spend, b: &Spend) -> bool {
    let is_input = |inputs: &Spend, values: &Spend| {
        matches!((&inputs.change, &values.change), (RecordChange::InputsWithin { .. }, RecordChange::Values))
            && inputs.column.split(',').any(|column| column == values.column)
    };
    a.change.is_in_other_units(&b.change) || is_input(a, b) || is_input(b, a)
}

impl Odometer {
    /// An account without spends.
    ///
    /// # Errors
    /// A budget without delta for a filter that needs one.
    pub fn new(filter: FilterKind, budget: Option<PrivacyBudget>, rows: Option<u64>) -> Result<Self, BadBudget> {
        budget.map(|budget| filter.limit(budget)).transpose()?;
        Ok(Self { filter, budget, rows, sessions: BTreeMap::new(), spends: Vec::new() })
    }

    /// The filter.
    #[must_use]
    pub fn filter(&self) -> FilterKind {
        self.filter
    }

    /// The budget of each record.
    #[must_use]
    pub fn budget(&self) -> Option<PrivacyBudget> {
        self.budget
    }

    /// Records of the table; `None` where they are not known.
    #[must_use]
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// What was spent so far, alike releases together.
    #[must_use]
    pub fn spends(&self) -> &[Spend] {
        &self.spends
    }

    /// The sessions that joined.
    #[must_use]
    pub fn sessions(&self) -> Vec<String> {
        self.sessions.keys().cloned().collect()
    }

    /// Where a session stands; `None` if it never joined.
    #[must_use]
    pub fn mark(&self, session: &str) -> Option<&SessionMark> {
        self.sessions.get(session)
    }

    /// Takes up a session that has spent nothing.
    pub fn join(&mut self, session: &str) {
        self.sessions.entry(session.to_owned()).or_default();
    }

    /// What a record has spent on releases that cover a change, as the filter sums it.
    #[must_use]
    pub fn spent(&self, record: u64, change: &RecordChange) -> FilterCost {
        let costs = self.spends.iter().filter(|spend| spend.records.hold(record) && spend.change.covers(change));
        // A file that was forged may hold what no filter bounds.
        costs.map(|spend| spend.cost(self.filter).unwrap_or(FilterCost::UNBOUNDED)).fold(FilterCost::default(), FilterCost::and)
    }

    /// Whether a spend keeps the budget of every record that it reads.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, spend: &Spend) -> Result<(), SpendRefusal> {
        if spend.cost(self.filter).is_none() {
            return Err(SpendRefusal::NoBound { filter: self.filter, mechanism: spend.mechanism.clone() });
        }
        if let SpentRecords::One { row } = spend.records
            && let Some(rows) = self.rows.filter(|rows| *rows <= row)
        {
            return Err(SpendRefusal::NoRecord { record: row, rows });
        }
        let Some((budget, limit)) = self.budget.and_then(|budget| Some((budget, self.filter.limit(budget).ok()?))) else {
            return Ok(());
        };
        if let Some(earlier) = self.spends.iter().find(|earlier| are_incomparable(earlier, spend)) {
            return Err(SpendRefusal::Incomparable { columns: spend.column.clone(), earlier: earlier.column.clone() });
        }
        let mut after = self.clone();
        after.add(spend);
        // The spend counts for every change that it covers.
        let changes = after.changes();
        for change in changes.into_iter().filter(|change| spend.change.covers(change)) {
            for record in after.records_of(spend.records) {
                let next = after.spent(record, &change);
                if !next.keeps(limit) {
                    return Err(SpendRefusal::Exceeded {
                        record,
                        spent: self.words(self.spent(record, &change)),
                        next: self.words(next),
                        budget,
                        change,
                    });
                }
            }
        }
        Ok(())
    }

    /// Records a spend, of which nothing may have been released yet.
    ///
    /// # Errors
    /// Those of [`Odometer::check`]; the account is then as it was.
    pub fn spend(&mut self, spend: &Spend) -> Result<(), SpendRefusal> {
        self.check(spend)?;
        self.add(spend);
        Ok(())
    }

    /// Records a spend of a session that joined, with a random name for this spend.
    ///
    /// # Errors
    /// Those of [`Odometer::check`]; the account is then as it was.
    pub fn spend_once(&mut self, spend: &Spend, ticket: &str) -> Result<(), SpendRefusal> {
        self.spend(spend)?;
        let mark = self.sessions.entry(spend.session.clone()).or_default();
        mark.counter = mark.counter.saturating_add(1);
        ticket.clone_into(&mut mark.ticket);
        Ok(())
    }

    /// Adds what was spent already, whatever the budget.
    pub fn add(&mut self, spend: &Spend) {
        match self.spends.iter_mut().find(|known| known.is_alike(spend)) {
            Some(known) => known.count = known.count.saturating_add(spend.count),
            None => self.spends.push(spend.clone()),
        }
    }

    /// The changes of a record that releases were made for, each once.
    #[must_use]
    pub fn changes(&self) -> Vec<RecordChange> {
        let mut changes: Vec<RecordChange> = Vec::new();
        for spend in &self.spends {
            if !changes.contains(&spend.change) {
                changes.push(spend.change.clone());
            }
        }
        changes
    }

    /// Records that can have spent different amounts: those that were read one by one, and one more for all others.
    pub(super) fn records_of(&self, records: SpentRecords) -> Vec<u64> {
        match records {
            SpentRecords::One { row } => vec![row],
            SpentRecords::All => {
                let named = self.named();
                let other = (0..self.rows.unwrap_or(u64::MAX)).find(|row| !named.contains_key(row));
                named.into_keys().chain(other).collect()
            }
        }
    }

    /// Records that were read one by one, with the number of these releases.
    pub(super) fn named(&self) -> BTreeMap<u64, u64> {
        let mut named = BTreeMap::new();
        for spend in &self.spends {
            if let SpentRecords::One { row } = spend.records {
                let count: &mut u64 = named.entry(row).or_default();
                *count = count.saturating_add(spend.count);
            }
        }
        named
    }

    /// A cost in words, at the delta of the budget.
    #[must_use]
    pub fn words(&self, cost: FilterCost) -> String {
        match self.filter.read(cost, self.delta()) {
            (epsilon, 0.0) => format!("epsilon = {}", short(epsilon)),
            (epsilon, delta) => format!("(epsilon, delta) = ({}, {})", short(epsilon), short(delta)),
        }
    }
}

impl fmt::Display for SpendRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exceeded { record, spent, next, budget, change } => write!(
                f,
                "record {record} has spent {spent} of its budget ({budget}), and one more release would make it {next}, for {change}"
            ),
            Self::NoBound { filter, mechanism } => {
                write!(f, "filter `{filter}` has no bound for mechanism `{mechanism}`")
            }
            Self::Incomparable { columns, earlier } => write!(
                f,
                "this release is about inputs `{columns}`, an earlier one is about `{earlier}`, and one change of a record may move both: \
                 their losses do not add under one budget"
            ),
            Self::NoRecord { record, rows } => write!(f, "there is no record {record} among {rows}, which are counted from 0"),
        }
    }
}

impl std::error::Error for SpendRefusal {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::Loss;
    use crate::{Adversary, Growth};

    fn spend(change: RecordChange, column: &str, row: u64, loss: Loss, (epsilon, delta): (f64, f64)) -> Spend {
        Spend {
            session: "s".to_owned(),
            mechanism: "m".to_owned(),
            column: column.to_owned(),
            records: SpentRecords::One { row },
            change,
            adversary: Adversary::Observer,
            loss,
            epsilon,
            delta,
            growth: Growth::SeparateReleases,
            count: 1,
        }
    }

    /// Other scales, and an answer in a column that is also an input, move with the inputs of the first release.
    #[test]
    fn a_budget_refuses_losses_that_do_not_add() {
        let within = |space: &str| RecordChange::InputsWithin { radius: 0.5, space: space.to_owned() };
        let laplace = |change, column| spend(change, column, 0, Loss::Laplace { epsilon: 1.0 }, (1.0, 0.0));
        let mut odometer = Odometer::new(FilterKind::Sum, Some("epsilon=4".parse().expect("a budget")), None).expect("a filter");
        odometer.spend(&laplace(within("a"), "age,dose")).expect("the first");
        odometer.spend(&laplace(within("a"), "age,dose")).expect("the same inputs");
        odometer.spend(&laplace(RecordChange::Values, "outcome")).expect("another column");
        for (change, column) in [(within("b"), "age,dose"), (RecordChange::Values, "dose")] {
            let refused = odometer.check(&laplace(change, column));
            assert!(matches!(refused, Err(SpendRefusal::Incomparable { .. })), "{refused:?}");
        }
    }

    /// The record of the largest epsilon need not have the largest delta: both are stated.
    #[test]
    fn the_largest_spend_is_of_every_record() {
        let mut odometer = Odometer::new(FilterKind::Sum, None, None).expect("a filter");
        odometer.add(&spend(RecordChange::Values, "y", 0, Loss::Laplace { epsilon: 2.0 }, (2.0, 0.0)));
        let mu = crate::gdp_mu(1.9.try_into().expect("epsilon"), 9e-5.try_into().expect("delta"));
        odometer.add(&spend(RecordChange::Values, "y", 1, Loss::Gaussian { mu }, (1.9, 9e-5)));
        let largest = odometer.ledger().total.expect("one change").largest;
        assert!(2.0 <= largest.epsilon && 9e-5 <= largest.delta, "{largest:?}");
    }
}
