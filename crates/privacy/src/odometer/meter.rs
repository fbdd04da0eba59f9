//! The account of what every record has spent.

use super::change::{BudgetChange, InputSpace, RecordChange, is_same_column};
use super::filter::{BadBudget, FilterCost, FilterKind, PrivacyBudget};
use super::release_loss::{InputsLoss, ReleaseLoss};
use super::spend::{Spend, SpentRecords};
use crate::Delta;
use crate::planted::{self, PlantedFault};
use crate::quote::short;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What every record of a table has spent, under one filter and perhaps a budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Odometer {
    filter: FilterKind,
    budget: Option<PrivacyBudget>,
    /// The change of a record that the budget is stated for; needed where inputs, values or whole records are released together.
    change: Option<BudgetChange>,
    /// Records of the table, where they are known; public.
    rows: Option<u64>,
    /// How often each session has spent, so that a copy of one is noticed.
    sessions: BTreeMap<String, SessionMark>,
    spends: Vec<Spend>,
    /// Delta at which sums are read where there is no budget.
    #[serde(skip)]
    read_at: Option<Delta>,
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
    /// The budget is for moves of inputs in other units than those of this release.
    OtherUnits {
        /// Inputs of this release, with their scales.
        inputs: String,
        /// Inputs of the earlier one.
        earlier: String,
    },
    /// A column is released as an input and as a value.
    InputAndValue {
        /// The column.
        column: String,
    },
    /// Inputs, values or whole records are released under one budget that names no change.
    NoChange {
        /// The change that this release names.
        change: RecordChange,
        /// The change that an earlier one names.
        earlier: RecordChange,
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

impl Odometer {
    /// An account without spends.
    ///
    /// # Errors
    /// A budget without delta for a filter that needs one.
    pub fn new(filter: FilterKind, budget: Option<PrivacyBudget>, rows: Option<u64>) -> Result<Self, BadBudget> {
        budget.map(|budget| filter.limit(budget)).transpose()?;
        Ok(Self { filter, budget, change: None, rows, sessions: BTreeMap::new(), spends: Vec::new(), read_at: None })
    }

    /// The same account with the change of a record that its budget is stated for.
    #[must_use]
    pub fn protecting(self, change: Option<BudgetChange>) -> Self {
        Self { change, ..self }
    }

    /// The same account, whose sums are read at this delta where it has no budget.
    #[must_use]
    pub fn read_at(self, delta: Option<Delta>) -> Self {
        Self { read_at: delta, ..self }
    }

    /// Delta at which sums are read, where one is stated: that of the budget, or else of whoever reads.
    #[must_use]
    pub fn stated_delta(&self) -> Option<Delta> {
        self.budget.and_then(|budget| budget.delta).or(self.read_at)
    }

    /// The change of a record that the budget is stated for.
    #[must_use]
    pub fn change(&self) -> Option<BudgetChange> {
        self.change
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

    /// What a record has spent on releases whose law depends on what a change changes, as the filter sums it.
    #[must_use]
    pub fn spent(&self, record: u64, change: &RecordChange) -> FilterCost {
        let costs = self.spends.iter().filter(|spend| spend.records.hold(record));
        costs.map(|spend| self.cost(spend, change)).fold(FilterCost::default(), FilterCost::and)
    }

    /// What a record has spent for the change that counts most of those that its budget holds for; without one, for the largest change.
    #[must_use]
    pub fn counted(&self, record: u64) -> FilterCost {
        let held = if self.budget.is_some() { self.held().unwrap_or_default() } else { Vec::new() };
        let changes = if held.is_empty() { self.changes().into_iter().take(1).collect() } else { held };
        changes.iter().map(|change| self.spent(record, change)).fold(FilterCost::default(), |most, cost| FilterCost {
            amount: most.amount.max(cost.amount),
            delta: most.delta.max(cost.delta),
        })
    }

    /// The cost of a spend that is in the account: a file may hold one that no filter bounds.
    pub(super) fn cost(&self, spend: &Spend, change: &RecordChange) -> FilterCost {
        spend.cost(self.filter, change).unwrap_or(FilterCost::UNBOUNDED)
    }

    /// Whether a spend keeps the budget of every record that it reads.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, spend: &Spend) -> Result<(), SpendRefusal> {
        if spend.cost(self.filter, &spend.loss.named()).is_none() {
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
        let mut after = self.clone();
        after.add(spend);
        after.refuse_unlike(spend)?;
        let known = self.held().unwrap_or_default();
        for change in after.held()? {
            // A change that this release names first counts what every record has spent before.
            let records = if known.contains(&change) { spend.records } else { SpentRecords::All };
            for record in after.records_of(records) {
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

    /// Fails where a budget cannot tell what it protects: a column that is an input and a value, or several kinds of changes of which
    /// none is named.
    fn refuse_unlike(&self, spend: &Spend) -> Result<(), SpendRefusal> {
        for earlier in &self.spends {
            let pair = [(&spend.loss, &earlier.loss), (&earlier.loss, &spend.loss)];
            for (inputs, value) in pair {
                if let (ReleaseLoss::Inputs(inputs), ReleaseLoss::Value { column, .. }) = (inputs, value)
                    && inputs.space.scale(column).is_some()
                {
                    return Err(SpendRefusal::InputAndValue { column: column.clone() });
                }
            }
            if self.change.is_none() && std::mem::discriminant(&earlier.loss) != std::mem::discriminant(&spend.loss) {
                return Err(SpendRefusal::NoChange { change: spend.loss.named(), earlier: earlier.loss.named() });
            }
        }
        Ok(())
    }

    /// The changes that the budget holds for: the one that it names, and the largest that a spend names.
    ///
    /// # Errors
    /// Inputs in several units, which a budget refuses.
    pub fn held(&self) -> Result<Vec<RecordChange>, SpendRefusal> {
        let reads_records = self.spends.iter().any(|spend| matches!(spend.loss, ReleaseLoss::Record { .. }));
        // Every other change is one of a whole record.
        if reads_records || self.change == Some(BudgetChange::Record) {
            return Ok(vec![RecordChange::Record]);
        }
        let mut held = Vec::new();
        let mut inputs = self.inputs();
        if let Some(first) = inputs.next() {
            let mut radius = first.radius.max(self.stated_radius().unwrap_or(0.0));
            for other in inputs {
                if !other.space.is_same(&first.space) {
                    let (inputs, earlier) = (other.space.to_string(), first.space.to_string());
                    return Err(SpendRefusal::OtherUnits { inputs, earlier });
                }
                radius = radius.max(other.radius);
            }
            held.push(RecordChange::InputsWithin { radius, space: first.space.clone() });
        }
        held.extend(self.values());
        Ok(held)
    }

    /// The radius for which the budget is stated, if it is one for inputs.
    fn stated_radius(&self) -> Option<f64> {
        match self.change {
            Some(BudgetChange::Inputs { radius }) => Some(radius),
            _ => None,
        }
    }

    /// The releases of inputs.
    fn inputs(&self) -> impl Iterator<Item = &InputsLoss> {
        self.spends.iter().filter_map(|spend| match &spend.loss {
            ReleaseLoss::Inputs(inputs) => Some(inputs),
            _ => None,
        })
    }

    /// The change of all values that are released one by one; `None` without one.
    fn values(&self) -> Option<RecordChange> {
        let mut columns: Vec<String> = Vec::new();
        for spend in &self.spends {
            if let ReleaseLoss::Value { column, .. } = &spend.loss
                && !columns.iter().any(|known| is_same_column(known, column))
            {
                columns.push(column.clone());
            }
        }
        (!columns.is_empty()).then_some(RecordChange::Values { columns })
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
            Some(_) if planted::is(PlantedFault::DroppedSpend) => {}
            Some(known) => known.count = known.count.saturating_add(spend.count),
            None => self.spends.push(spend.clone()),
        }
    }

    /// The changes of a record for which a loss is stated, the largest first: whole records, inputs moved by each radius that is named,
    /// values. Where values alone were read, whole records are not spoken of, since the account knows nothing of the inputs.
    #[must_use]
    pub fn changes(&self) -> Vec<RecordChange> {
        let reads_records = self.spends.iter().any(|spend| matches!(spend.loss, ReleaseLoss::Record { .. }));
        let mut changes = Vec::new();
        if reads_records || self.inputs().next().is_some() {
            changes.push(RecordChange::Record);
        }
        // A release that reads whole records says nothing of smaller changes, and inputs in several units have no common distance.
        if !reads_records {
            let mut moves: Vec<(f64, &InputSpace)> = Vec::new();
            for inputs in self.inputs() {
                if self.inputs().all(|other| other.space.is_same(&inputs.space) || !other.space.overlaps(&inputs.space)) {
                    moves.extend(
                        [Some(inputs.radius), self.stated_radius()].into_iter().flatten().map(|radius| (radius, &inputs.space)),
                    );
                }
            }
            moves.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (radius, space) in moves {
                let change = RecordChange::InputsWithin { radius, space: space.clone() };
                let is_new = |known: &RecordChange| match known {
                    RecordChange::InputsWithin { radius: known, space: other } => *known != radius || !other.is_same(space),
                    _ => true,
                };
                // A move that reaches every row is a change of the whole record.
                let is_smaller = self.spends.iter().any(|spend| spend.loss.at(&change) != spend.loss.at(&RecordChange::Record));
                if is_smaller && changes.iter().all(is_new) {
                    changes.push(change);
                }
            }
            changes.extend(self.values());
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
            Self::OtherUnits { inputs, earlier } => write!(
                f,
                "releases under this budget are about the inputs {earlier} and {inputs}: no distance measures a move of both"
            ),
            Self::InputAndValue { column } => {
                write!(f, "column `{column}` is released as an input and as a value, and a budget counts a column once")
            }
            Self::NoChange { change, earlier } => write!(
                f,
                "this release is for {change}, and an earlier one for {earlier}: the budget does not say which change it holds for"
            ),
            Self::NoRecord { record, rows } => write!(f, "there is no record {record} among {rows}, which are counted from 0"),
        }
    }
}

impl std::error::Error for SpendRefusal {}
