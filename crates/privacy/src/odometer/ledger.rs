//! What a deployment states about its records: per record and in total.

use super::change::RecordChange;
use super::filter::{FilterCost, FilterKind, PrivacyBudget};
use super::meter::Odometer;
use super::spend::{Spend, SpentRecords};
use crate::quote::short;
use crate::{Adversary, Delta};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Delta at which concentrated and Gaussian sums are read where nothing states one.
const SHOWN_DELTA: f64 = 1e-6;
/// Records that a page lists one by one.
const MOST_LISTED: usize = 20;

/// The statement of a deployment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeploymentLedger {
    /// How losses were added up.
    pub filter: FilterKind,
    /// The theorem behind it.
    pub theorem: String,
    /// The budget of each record, where one was stated before the first release.
    pub budget: Option<PrivacyBudget>,
    /// Records of the table; `None` where they are not known.
    pub rows: Option<u64>,
    /// Delta at which epsilons are read; 0 where all losses are pure.
    pub delta: f64,
    /// What was spent, for each change of a record that a release was made for.
    pub changes: Vec<ChangeLedger>,
    /// The statement over all releases; `None` where their changes do not cover each other.
    pub total: Option<ChangeLedger>,
    /// Every loss with its count, for another accountant.
    pub spends: Vec<Spend>,
    /// What else a reader must know.
    pub notes: Vec<String>,
}

/// What releases that cover one change of a record have spent together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeLedger {
    /// The change.
    pub change: RecordChange,
    /// The change in words.
    pub neighbours: String,
    /// The weakest adversary among the releases: the sum holds against that one alone.
    pub against: Adversary,
    /// Releases about every record.
    pub of_all: u64,
    /// Releases about single records.
    pub of_one: u64,
    /// The record that spent most; every other one spent at most as much.
    pub largest: RecordSpend,
    /// Records that were read one by one.
    pub records: Vec<RecordSpend>,
}

/// What one record has spent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RecordSpend {
    /// Its row, 0-based.
    pub record: u64,
    /// Releases that read it.
    pub releases: u64,
    /// Sum of the filter.
    pub amount: f64,
    /// Privacy loss.
    pub epsilon: f64,
    /// Failure probability.
    pub delta: f64,
}

impl Odometer {
    /// The failure probability at which sums are read: that of the budget, else the largest of the releases.
    #[must_use]
    pub fn delta(&self) -> Option<Delta> {
        let stated = self.spends().iter().map(|spend| spend.delta).fold(0.0, f64::max);
        let known = self.budget().and_then(|budget| budget.delta);
        known.or_else(|| [stated, SHOWN_DELTA].into_iter().find_map(|delta| Delta::try_from(delta).ok()))
    }

    /// The statement of this account.
    #[must_use]
    pub fn ledger(&self) -> DeploymentLedger {
        let changes: Vec<ChangeLedger> = self.changes().iter().map(|change| self.of_change(change)).collect();
        // A total is of the change that every release covers.
        let total = self
            .changes()
            .iter()
            .find(|change| self.spends().iter().all(|spend| spend.change.covers(change)))
            .map(|change| self.of_change(change));
        let mut notes = Vec::new();
        if total.is_none() && 1 < changes.len() {
            notes.push(
                "the releases are for changes of a record that do not cover each other: they are listed apart, and no total is stated"
                    .to_owned(),
            );
        }
        let pure = self.filter() == FilterKind::Sum && self.spends().iter().all(|spend| spend.delta == 0.0);
        // Sums of pure losses hold at any time; the others where the number of releases does not depend on them (docs/proofs/odometer.md).
        if !pure && !changes.is_empty() {
            notes.push(match self.budget() {
                None => "without a budget stated beforehand the figures hold for a number of releases that was fixed in advance; \
                         state `--budget` for one that may depend on the releases"
                    .to_owned(),
                Some(budget) => format!(
                    "the guarantee is the budget, {budget}{}; the figures below it hold for a number of releases that was fixed in advance",
                    if 1 < changes.len() { ", for each kind of change apart: a record that changes in all of them loses their sum" } else { "" }
                ),
            });
        }
        notes.push("one who owns several records spends the sum of theirs".to_owned());
        DeploymentLedger {
            filter: self.filter(),
            theorem: self.filter().theorem().to_owned(),
            budget: self.budget(),
            rows: self.rows(),
            delta: if pure { 0.0 } else { self.delta().map_or(0.0, Delta::get) },
            changes,
            total,
            spends: self.spends().to_vec(),
            notes,
        }
    }

    fn of_change(&self, change: &RecordChange) -> ChangeLedger {
        let covering = || self.spends().iter().filter(|spend| spend.change.covers(change));
        let cost = |spend: &Spend| spend.cost(self.filter()).unwrap_or(FilterCost::UNBOUNDED);
        let (mut base, mut of_all, mut of_one) = (FilterCost::default(), 0u64, 0u64);
        let mut single: BTreeMap<u64, (u64, FilterCost)> = BTreeMap::new();
        for spend in covering() {
            match spend.records {
                SpentRecords::All => {
                    base = base.and(cost(spend));
                    of_all = of_all.saturating_add(spend.count);
                }
                SpentRecords::One { row } => {
                    let entry = single.entry(row).or_default();
                    *entry = (entry.0.saturating_add(spend.count), entry.1.and(cost(spend)));
                    of_one = of_one.saturating_add(spend.count);
                }
            }
        }
        let spent = |record, releases, cost: FilterCost| {
            let (epsilon, delta) = self.filter().read(cost, self.delta());
            RecordSpend { record, releases, amount: cost.amount, epsilon, delta }
        };
        let records: Vec<RecordSpend> =
            single.iter().map(|(row, (count, cost))| spent(*row, count.saturating_add(of_all), base.and(*cost))).collect();
        let mut largest = spent(0, of_all, base);
        for record in &records {
            if largest.amount < record.amount || largest.releases == of_all && largest.amount <= record.amount {
                largest = *record;
            }
        }
        // A record of the largest sum need not have the largest delta (filter `sum`): the statement is about every record.
        for record in &records {
            largest.epsilon = largest.epsilon.max(record.epsilon);
            largest.delta = largest.delta.max(record.delta);
        }
        let against = covering().map(|spend| spend.adversary).reduce(Adversary::weaker).unwrap_or(Adversary::Observer);
        ChangeLedger { change: change.clone(), neighbours: change.to_string(), against, of_all, of_one, largest, records }
    }
}

/// Epsilon and delta in words.
fn loss_words(spend: &RecordSpend) -> String {
    match (spend.epsilon, spend.delta) {
        (epsilon, 0.0) => format!("epsilon = {}, pure", short(epsilon)),
        (epsilon, delta) => format!("(epsilon, delta) = ({}, {})", short(epsilon), short(delta)),
    }
}

fn counted(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

impl ChangeLedger {
    /// The statement in lines of `name  text`.
    fn lines(&self, line: &mut impl FnMut(&str, &str)) {
        line("for", &self.neighbours);
        line("against", &self.against.to_string());
        let all =
            if self.of_all == 0 { String::new() } else { format!("{} about every record; ", counted(self.of_all, "release")) };
        line(
            "releases",
            &format!("{all}{} about {}", counted(self.of_one, "release"), counted(self.records.len() as u64, "record")),
        );
        let most = &self.largest;
        let of_one =
            |record: &RecordSpend| record.record == most.record && most.delta <= record.delta && most.epsilon <= record.epsilon;
        let about = if self.records.is_empty() || !self.records.iter().any(of_one) {
            "every record".to_owned()
        } else {
            format!("record {}, {}", most.record, counted(most.releases, "release"))
        };
        line("most spent", &format!("{} ({about})", loss_words(most)));
        let mut listed: Vec<&RecordSpend> = self.records.iter().collect();
        listed.sort_by(|a, b| b.amount.total_cmp(&a.amount).then(a.record.cmp(&b.record)));
        for spend in listed.iter().take(MOST_LISTED) {
            line("", &format!("record {:>6}  {:>4} x  {}", spend.record, spend.releases, loss_words(spend)));
        }
        if let Some(more) = listed.len().checked_sub(MOST_LISTED).filter(|more| 0 < *more) {
            line("", &format!("and {} whose sums are at most as large", counted(more as u64, "record")));
        }
    }
}

impl DeploymentLedger {
    /// What a record has spent at most, in one clause.
    #[must_use]
    pub fn short_words(&self) -> String {
        match (&self.total, self.changes.as_slice()) {
            (Some(total), _) if total.records.is_empty() => format!("every record has spent {}", loss_words(&total.largest)),
            (Some(total), _) => format!("record {} has spent most: {}", total.largest.record, loss_words(&total.largest)),
            (None, []) => "nothing is spent".to_owned(),
            (None, _) => "the releases protect different changes of a record, and have no total".to_owned(),
        }
    }

    /// The statement as a page of text, two columns.
    #[must_use]
    pub fn page(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "  {name:15}{value}");
        };
        line("filter", &format!("{}: {}", self.filter, self.theorem));
        line(
            "budget",
            &self.budget.map_or("none here: nothing in this file stops the releases".to_owned(), |budget| {
                let apart = if 1 < self.changes.len() { ", for each of the changes below apart" } else { "" };
                format!("{budget} of each record{apart}")
            }),
        );
        if self.changes.is_empty() {
            line("spent", "nothing");
        }
        match &self.total {
            Some(total) => {
                line("total", "over all releases:");
                total.lines(&mut line);
                for part in self.changes.iter().filter(|part| part.change != total.change) {
                    line("of these", "releases that also hold for a larger change:");
                    part.lines(&mut line);
                }
            }
            None if self.changes.is_empty() => {}
            None => {
                line("total", "not stated");
                self.changes.iter().for_each(|part| part.lines(&mut line));
            }
        }
        for note in &self.notes {
            line("note", note);
        }
        text
    }
}
