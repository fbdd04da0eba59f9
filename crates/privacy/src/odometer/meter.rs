//! The account of what every record has spent.

use super::change::{BudgetChange, InputSpace, RecordChange, is_same_column};
use super::filter::{BadBudget, FilterCost, FilterKind, PrivacyBudget};
use super::release_loss::{InputsLoss, ReleaseLoss};
use super::spend::{Spend, SpentRecords};
use crate::Delta;
use crate::planted::{self, PlantedFault};
use crate::quote::short;
use std::collections::BTreeMap;
use std::fmt;

/// What every record of a table has spent, under one filter and perhaps a budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Odometer {
    filter: FilterKind,
    budget: Option<PrivacyBudget>,
    /// The change of a record that the budget is stated for; needed where inputs, values or whole records are released together.
    change: Option<BudgetChange>,
    /// Records of the table, where they are known; public.
    rows: Option<u64>,
    /// The kinds of releases, each as one release about every record.
    kinds: Vec<Spend>,
    /// How many releases of each kind are about every record.
    all: Tally,
    /// How many are about each single record.
    single: BTreeMap<u64, Tally>,
    /// Delta at which sums are read where there is no budget.
    read_at: Option<Delta>,
}

/// Numbers of releases, by kind, in ascending order of the kinds.
pub(super) type Tally = Vec<(usize, u64)>;

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
        let (kinds, all, single) = (Vec::new(), Tally::new(), BTreeMap::new());
        Ok(Self { filter, budget, change: None, rows, kinds, all, single, read_at: None })
    }

    /// The same account with the change of a record that its budget is stated for.
    #[must_use]
    pub fn protecting(self, change: Option<BudgetChange>) -> Self {
        Self { change, ..self }
    }

    /// The same account, whose sums are read at this delta, that of its budget if absent.
    #[must_use]
    pub fn read_at(self, delta: Option<Delta>) -> Self {
        Self { read_at: delta, ..self }
    }

    /// Delta at which sums are read, where one is stated: by whoever reads, or else by the budget.
    pub fn stated_delta(&self) -> Option<Delta> {
        self.read_at.or(self.budget.and_then(|budget| budget.delta))
    }

    /// The change of a record that the budget is stated for.
    pub fn change(&self) -> Option<BudgetChange> {
        self.change
    }

    /// The filter.
    pub fn filter(&self) -> FilterKind {
        self.filter
    }

    /// The budget of each record.
    pub fn budget(&self) -> Option<PrivacyBudget> {
        self.budget
    }

    /// Records of the table; `None` where they are not known.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// What was spent so far, alike releases together: those about every record first.
    pub fn spends(&self) -> Vec<Spend> {
        let of = |tally: &Tally, records: SpentRecords| -> Vec<Spend> {
            tally.iter().map(|&(kind, count)| Spend { records, count, ..self.kinds[kind].clone() }).collect()
        };
        let single = self.single.iter().flat_map(|(&row, tally)| of(tally, SpentRecords::One { row }));
        of(&self.all, SpentRecords::All).into_iter().chain(single).collect()
    }

    /// The kinds of releases so far, each as one release about every record.
    pub fn kinds(&self) -> &[Spend] {
        &self.kinds
    }

    /// Numbers of releases about every record, and about each single one, by kind.
    pub(super) fn tallies(&self) -> (&Tally, &BTreeMap<u64, Tally>) {
        (&self.all, &self.single)
    }

    /// What a record has spent on releases whose law depends on what a change changes, as the filter sums it.
    pub fn spent(&self, record: u64, change: &RecordChange) -> FilterCost {
        let own = self.single.get(&record).map(Tally::as_slice).unwrap_or_default();
        self.all.iter().chain(own).map(|part| self.cost(*part, change)).fold(FilterCost::default(), FilterCost::and)
    }

    /// What a record has spent for the change that counts most of those that its budget holds for; without one, for the largest change.
    pub fn counted(&self, record: u64) -> FilterCost {
        let held = if self.budget.is_some() { self.held().unwrap_or_default() } else { Vec::new() };
        let changes = if held.is_empty() { self.changes().into_iter().take(1).collect() } else { held };
        changes.iter().map(|change| self.spent(record, change)).fold(FilterCost::default(), |most, cost| FilterCost {
            amount: most.amount.max(cost.amount),
            delta: most.delta.max(cost.delta),
        })
    }

    /// The cost of releases of a kind that is in the account: a file may hold one that no filter bounds.
    pub(super) fn cost(&self, (kind, count): (usize, u64), change: &RecordChange) -> FilterCost {
        self.kinds[kind].cost_of(count, self.filter, change).unwrap_or(FilterCost::UNBOUNDED)
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
        for earlier in &self.kinds {
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
        let reads_records = self.kinds.iter().any(|spend| matches!(spend.loss, ReleaseLoss::Record { .. }));
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

    fn inputs(&self) -> impl Iterator<Item = &InputsLoss> {
        self.kinds.iter().filter_map(|spend| match &spend.loss {
            ReleaseLoss::Inputs(inputs) => Some(inputs),
            _ => None,
        })
    }

    /// The change of all values that are released one by one; `None` without one.
    fn values(&self) -> Option<RecordChange> {
        let mut columns: Vec<String> = Vec::new();
        for spend in &self.kinds {
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

    /// Adds what was spent already, whatever the budget.
    pub fn add(&mut self, spend: &Spend) {
        let kind = self.kinds.iter().position(|known| known.is_alike(spend));
        let kind = kind.unwrap_or_else(|| self.add_kind_of(spend));
        self.add_kind(kind, spend.records, spend.count);
    }

    /// Adds releases of a kind that is in the account, whatever the budget.
    pub fn add_kind(&mut self, kind: usize, records: SpentRecords, count: u64) {
        let tally = match records {
            SpentRecords::All => &mut self.all,
            SpentRecords::One { row } => self.single.entry(row).or_default(),
        };
        match tally.binary_search_by_key(&kind, |part| part.0) {
            Ok(_) if planted::is(PlantedFault::DroppedSpend) => {}
            Ok(at) => tally[at].1 = tally[at].1.saturating_add(count),
            Err(at) => tally.insert(at, (kind, count)),
        }
    }

    /// Adds a kind of which nothing was released so far; returns its number.
    pub fn add_kind_of(&mut self, spend: &Spend) -> usize {
        self.kinds.push(Spend { records: SpentRecords::All, count: 1, ..spend.clone() });
        self.kinds.len() - 1
    }

    /// The changes of a record for which a loss is stated, the largest first: whole records, inputs moved by each radius that is named,
    /// values. Where values alone were read, whole records are not spoken of, since the account knows nothing of the inputs.
    pub fn changes(&self) -> Vec<RecordChange> {
        let reads_records = self.kinds.iter().any(|spend| matches!(spend.loss, ReleaseLoss::Record { .. }));
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
                let is_smaller = self.kinds.iter().any(|spend| spend.loss.at(&change) != spend.loss.at(&RecordChange::Record));
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
                let other = (0..self.rows.unwrap_or(u64::MAX)).find(|row| !self.single.contains_key(row));
                self.single.keys().copied().chain(other).collect()
            }
        }
    }

    /// A cost in words, at the delta of the budget.
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
